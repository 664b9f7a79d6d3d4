"""Rank aggregation by voting rules, and peer evaluation of given rankings; no model is asked."""

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import Field

from metajudge.peers import Ballot, Options, PeerFindings, analyse, counted_ballots
from metajudge.voting.options import Rule, TieOption, UnrankedOption
from metajudge.voting.rank import rank as count

from ..deps import ServiceDep
from ..schemas import Strict, plain_json

router = APIRouter(prefix="/v1", tags=["rankings"])
NameIn = Annotated[str, Field(min_length=1, max_length=200)]
Group = Annotated[list[NameIn], Field(min_length=1, max_length=60)]
SEARCH_S = 10.0


class RankRequest(Strict):
    """Rankings, best first, as groups of tied candidates."""

    rankings: list[Annotated[list[Group], Field(min_length=1, max_length=60)]] = Field(
        min_length=1, max_length=10_000, examples=[[[["a"], ["b", "c"]], [["b"], ["a"], ["c"]]]]
    )
    candidates: list[NameIn] | None = Field(default=None, max_length=60)
    weights: list[Annotated[float, Field(gt=0, le=1e6)]] | None = None
    rule: Rule = Rule.KEMENY
    ties: TieOption | None = None
    unranked: UnrankedOption | None = None
    prior: float | None = Field(default=None, ge=0, le=1e6)


class PeersRequest(Strict):
    """Rankings of anonymised answers, one for each question and evaluator."""

    ballots: list[Ballot] = Field(
        min_length=1, max_length=20_000, examples=[[{"question_id": "q1", "evaluator": "a", "ranking": [["a"], ["b"]]}]]
    )
    rule: str | None = Field(default=None, max_length=50)
    resamples: int = Field(default=0, ge=0, le=2000)
    seed: int = Field(default=0, ge=0, le=2**31)


@router.post("/rank", summary="Aggregate rankings by a voting rule", response_model=dict[str, Any])
async def rank(running: ServiceDep, body: RankRequest) -> Response:
    """Ties are kept: all optimal Kemeny rankings are counted, and none is chosen by candidate name."""
    given, seconds = body.model_dump(exclude={"rankings"}), SEARCH_S if body.rule is Rule.KEMENY else None
    work = running.computing.work(lambda: count(body.rankings, **given, time_limit=seconds).to_json())
    return plain_json(await work)


@router.post("/peers", summary="Peer evaluation of given rankings")
async def peers(running: ServiceDep, body: PeersRequest) -> PeerFindings:
    """Self-inclusive and self-free consensus, agreement between evaluators, cautions."""
    options = Options(**body.model_dump(exclude={"ballots"}, exclude_none=True))
    return await running.computing.work(lambda: analyse(counted_ballots(body.ballots), options))
