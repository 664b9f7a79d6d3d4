"""Producing verdicts: judges on an item, a clash of responses, cases."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from metajudge.cases.case import Case
from metajudge.cases.result import CaseResult
from metajudge.clashes.record import ClashRecord
from metajudge.clashes.reviews import PANEL
from metajudge.judging.run import grade_item, judge_item
from metajudge.session import Respondent
from metajudge.types import Failure, Judgment

from ..audit import Action
from ..deps import CallerDep, ChangesDep, ServiceDep
from ..idempotency import IdempotencyKey, answered_once, fingerprint
from ..schemas import EXAMPLE_CASE, Strict
from ..tasks import CaseChoice, ClashRequest, JudgedItem

router = APIRouter(prefix="/v1", tags=["judging"])


class JudgeRequest(Strict):
    """An item to judge."""

    panel: str | None = Field(default=None, description="Its agents are the judges; default: the first panel.")
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


class CaseRequest(CaseChoice):
    """A case to be judged and decided."""

    case: Case = Field(examples=[EXAMPLE_CASE])


class CaseAnswer(CaseResult):
    """The decided case."""

    notices: list[str] = Field(default=[], description="Settings of the panel's agents that are not used here.")


@router.post("/judge", summary="Have judges compare or grade", response_model=JudgeAnswer)
async def judge(
    request: Request, running: ServiceDep, caller: CallerDep, body: JudgeRequest, key: IdempotencyKey = None
) -> Response:
    """Every agent of a panel judges the item: a pair in each order, as separate games."""
    judges = running.panels.respondents(body.panel)
    asked = partial(grade_item, with_reference=body.with_reference, judges=judges)
    if not body.grade:
        asked = partial(judge_item, orders=body.orders, with_reference=body.with_reference, judges=judges)

    async def work() -> JudgeAnswer:
        judged = await running.admission.work(request, lambda: asked(running.engine, body.item))
        return JudgeAnswer(
            judgments=judged.judgments,
            failed=[GameFailure(judge=one.judge, order=list(one.order), failure=one.failure) for one in judged.failed],
            notices=_notices(judges),
        )

    return await answered_once(running.answers, caller, key, _mark("judge", body), work)


@router.post("/clash", summary="Rank responses blind", response_model=ClashRecord)
async def clash(
    request: Request,
    running: ServiceDep,
    caller: CallerDep,
    changes: ChangesDep,
    body: ClashRequest,
    key: IdempotencyKey = None,
) -> Response:
    """Every judge ranks all responses under seeded labels; the record has ballots, tally, ties, triage and notices.

    With `candidates` their models answer the question first. Divided verdicts are queued for review, each record once.
    """
    await running.tasks.check(body)

    async def work() -> ClashRecord:
        record, review = await running.admission.work(
            request, lambda: running.tasks.clash(body.subject, body, body.criteria)
        )
        if review is not None:
            await changes.note(Action.REVIEW_OPEN, PANEL, new=1, reviews=[review.review_id])
        return record

    return await answered_once(running.answers, caller, key, _mark("clash", body), work)


@router.post("/cases", summary="Judge and decide a case", response_model=CaseAnswer)
async def cases(
    request: Request,
    running: ServiceDep,
    caller: CallerDep,
    changes: ChangesDep,
    body: CaseRequest,
    key: IdempotencyKey = None,
) -> Response:
    """Every stage is judged and decided by a policy; cases it sends to people are queued for review."""

    async def work() -> CaseAnswer:
        result, judges = await running.admission.work(request, lambda: running.tasks.case(body.case, body))
        if running.engine.store is not None:
            digest = result.decision.policy_digest
            await changes.note(Action.CASE_DECIDE, result.case_id, action_taken=result.action, policy=digest)
        return CaseAnswer(**dict(result), notices=_notices(judges))

    return await answered_once(running.answers, caller, key, _mark("cases", body), work)


def _mark(operation: str, body: BaseModel) -> str:
    return fingerprint(operation.encode(), body.model_dump_json().encode())


def _notices(judges: Sequence[Respondent]) -> list[str]:
    return [one.notice for one in judges if one.notice is not None]
