"""Producing verdicts: judges on an item, a clash of responses, cases."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from metajudge.cases.case import Case
from metajudge.cases.result import CaseResult
from metajudge.clashes.record import ClashRecord
from metajudge.judging.run import grade_item, judge_item
from metajudge.reviews.review import CLASH_PANEL
from metajudge.session import Respondent
from metajudge.types import Failure, Judgment

from ..deps import Action, CallDep
from ..idempotency import IdempotencyKey, answered_once
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
async def judge(call: CallDep, body: JudgeRequest, key: IdempotencyKey = None) -> Response:
    """Every agent of a panel judges the item: a pair in each order, as separate games."""
    running = call.running
    judges = running.panels.respondents(body.panel)
    asked = partial(grade_item, with_reference=body.with_reference, judges=judges)
    if not body.grade:
        asked = partial(judge_item, orders=body.orders, with_reference=body.with_reference, judges=judges)

    async def work() -> JudgeAnswer:
        judged = await running.admission.work(call.request, lambda: asked(running.engine, body.item))
        return JudgeAnswer(
            judgments=judged.judgments,
            failed=[GameFailure(judge=one.judge, order=list(one.order), failure=one.failure) for one in judged.failed],
            notices=_notices(judges),
        )

    return await answered_once(call, key, "judge", body, work)


@router.post("/clash", summary="Rank responses blind", response_model=ClashRecord)
async def clash(call: CallDep, body: ClashRequest, key: IdempotencyKey = None) -> Response:
    """Every judge ranks all responses under seeded labels; the record has ballots, tally, ties, triage and notices.

    With `candidates` their models answer the question first. Divided verdicts are queued for review, each record once.
    """
    running = call.running
    await running.tasks.check(body)

    async def work() -> ClashRecord:
        record, review = await running.admission.work(
            call.request, lambda: running.tasks.clash(body.subject, body, body.criteria)
        )
        if review is not None:
            await call.note(Action.REVIEW_OPEN, CLASH_PANEL, new=1, reviews=[review.review_id])
        return record

    return await answered_once(call, key, "clash", body, work)


@router.post("/cases", summary="Judge and decide a case", response_model=CaseAnswer)
async def cases(call: CallDep, body: CaseRequest, key: IdempotencyKey = None) -> Response:
    """Every stage is judged and decided by a policy; cases it sends to people are queued for review."""

    async def work() -> CaseAnswer:
        running = call.running
        result, judges = await running.admission.work(call.request, lambda: running.tasks.case(body.case, body))
        if running.engine.store is not None:
            digest = result.decision.policy_digest
            await call.note(Action.CASE_DECIDE, result.case_id, action_taken=result.action, policy=digest)
        return CaseAnswer(**dict(result), notices=_notices(judges))

    return await answered_once(call, key, "cases", body, work)


def _notices(judges: Sequence[Respondent]) -> list[str]:
    return [one.notice for one in judges if one.notice is not None]
