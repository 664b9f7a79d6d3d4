"""Producing verdicts: judges on an item, a clash of responses, cases."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from metajudge.cases.case import Case
from metajudge.cases.result import CaseResult
from metajudge.cases.run import judge_case
from metajudge.clashes.record import ClashRecord
from metajudge.clashes.reviews import PANEL, open_review
from metajudge.clashes.run import clash_item
from metajudge.clashes.setup import ClashSettings
from metajudge.decision import DEFAULT_CASE_POLICY
from metajudge.judging.run import grade_item, judge_item
from metajudge.session import Respondent
from metajudge.types import Failure, Item, Judgment

from ..audit import Action
from ..deps import ChangesDep, ServiceDep
from ..errors import RESPONSES
from ..rubrics import NAME
from ..schemas import EXAMPLE_JUDGMENT

router = APIRouter(prefix="/v1", tags=["judging"], responses=RESPONSES)
MOST_RESPONSES = 50
"""Limits the calls of one request: each response may cost one call to every judge."""

EXAMPLE_CASE = {
    "id": "case-1",
    "type": "climate",
    "stages": [
        {"name": "relevance_check", "output": {"relevant": True, "reason": "The event is a drought."}},
        {"name": "risk_analysis", "output": "Yields fall by a tenth."},
    ],
}


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    panel: str | None = Field(default=None, description="Its agents are the judges; default: the first panel.")


def _few_responses(item: Item) -> Item:
    if len(item.responses) > MOST_RESPONSES:
        raise ValueError(
            f"{len(item.responses)} responses; at most {MOST_RESPONSES} are judged in one request: send fewer"
        )
    return item


JudgedItem = Annotated[Item, AfterValidator(_few_responses), Field(examples=[EXAMPLE_JUDGMENT["item"]])]


class JudgeRequest(_Asked):
    """An item to judge."""

    item: JudgedItem
    orders: Literal["both", "given"] = "both"
    grade: bool = Field(default=False, description="Grade every response alone instead of comparing two.")
    with_reference: bool = False


class GameFailure(BaseModel):
    """A game without a judgment, with the reason."""

    judge: str
    order: list[str]
    failure: Failure


class JudgeAnswer(BaseModel):
    """A judgment for every completed game, and a failure for the others."""

    judgments: list[Judgment]
    failed: list[GameFailure]
    notices: list[str] = Field(default=[], description="Settings of the panel's agents that are not used here.")


class ClashRequest(_Asked):
    """Responses to be ranked blind by every judge."""

    item: JudgedItem
    seed: int = Field(default=0, ge=0, le=2**31)
    ties: bool = False
    quorum: int | None = Field(default=None, ge=1, le=100)
    with_reference: bool = False


class CaseRequest(_Asked):
    """A case to be judged and decided."""

    case: Case = Field(examples=[EXAMPLE_CASE])
    policy: str = Field(default=DEFAULT_CASE_POLICY, pattern=NAME)


class CaseAnswer(CaseResult):
    """The decided case."""

    notices: list[str] = Field(default=[], description="Settings of the panel's agents that are not used here.")


@router.post("/judge", summary="Have judges compare or grade")
async def judge(request: Request, running: ServiceDep, body: JudgeRequest) -> JudgeAnswer:
    """Every agent of a panel judges the item: a pair in each order, as separate games."""
    judges = running.panels.respondents(body.panel)
    asked = partial(grade_item, with_reference=body.with_reference, judges=judges)
    if not body.grade:
        asked = partial(judge_item, orders=body.orders, with_reference=body.with_reference, judges=judges)
    judged = await running.admission.work(request, lambda: asked(running.engine, body.item))
    return JudgeAnswer(
        judgments=judged.judgments,
        failed=[GameFailure(judge=one.judge, order=list(one.order), failure=one.failure) for one in judged.failed],
        notices=_notices(judges),
    )


@router.post("/clash", summary="Rank responses blind")
async def clash(request: Request, running: ServiceDep, changes: ChangesDep, body: ClashRequest) -> ClashRecord:
    """Every judge ranks all responses under seeded labels; the record has ballots, tally, ties, triage and notices.

    Divided verdicts are queued for review on the clash page, each record once.
    """
    settings = ClashSettings(
        judges=running.panels.respondents(body.panel, weighted=True),
        given=True,
        seed=body.seed,
        ties=body.ties,
        quorum=body.quorum,
        with_reference=body.with_reference,
    )
    record = await running.admission.work(request, lambda: clash_item(running.engine, body.item, settings))
    review = await open_review(running.engine.store, record)
    if review is not None:
        await changes.note(Action.REVIEW_OPEN, PANEL, new=1, reviews=[review.review_id])
    return record


@router.post("/cases", summary="Judge and decide a case")
async def cases(request: Request, running: ServiceDep, changes: ChangesDep, body: CaseRequest) -> CaseAnswer:
    """Every stage is judged and decided by a policy; cases it sends to people are queued for review."""
    judges = running.panels.respondents(body.panel)
    result = await running.admission.work(
        request, lambda: judge_case(running.engine, body.case, policy=body.policy, judges=judges)
    )
    if running.engine.store is not None:
        digest = result.decision.policy_digest
        await changes.note(Action.CASE_DECIDE, result.case_id, action_taken=result.action, policy=digest)
    return CaseAnswer(**dict(result), notices=_notices(judges))


def _notices(judges: Sequence[Respondent]) -> list[str]:
    return [one.notice for one in judges if one.notice is not None]
