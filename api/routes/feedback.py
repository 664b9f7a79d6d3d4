"""The feedback loop: metrics against people's decisions, proposals, activations; drafts of how cases are judged.

Drafts are made, tried on held-out records, compared, and activated.
"""

import time
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import BaseModel, Field

from metajudge.decision import DEFAULT_CASE_POLICY
from metajudge.errors import InputError, MetajudgeError, PolicyError
from metajudge.feedback.backtest import Backtest
from metajudge.feedback.changes import Activation, Comparison, Draft, Proposal
from metajudge.feedback.drafting import DraftBook
from metajudge.feedback.metrics import without_truth
from metajudge.feedback.rejudging import estimate_rejudging, held_out_records, rejudge

from ..deps import Action, Call, StoredCall
from ..errors import answered_as
from ..panels import NAME
from ..schemas import Strict, plain_json

router = APIRouter(prefix="/v1/feedback", tags=["feedback"])
PolicyName = Annotated[str, Query(pattern=NAME, examples=["verdict"])]
CasePolicy = Annotated[str, Query(pattern=NAME, examples=[DEFAULT_CASE_POLICY])]
TOO_EARLY: dict[type[MetajudgeError], int] = {PolicyError: 404, InputError: 409}
"""What cannot be learned from what is decided so far is a conflict with the state, not a mistake of the caller."""
MOST_CALLS = 500
"""More calls than this are no work for one request."""


class ActivateRequest(Strict):
    """The reason for an activation; the person is the key's name."""

    reason: str = Field(default="", max_length=10_000, examples=["Fewer wrong approvals on 240 decided cases."])


class DraftState(BaseModel):
    """A draft, and its newest comparison with people's decisions; null before the first."""

    draft: Draft
    comparison: Comparison | None


class RejudgeRequest(Strict):
    """Who judges the held-out records anew, and what it may cost."""

    panel: str | None = Field(
        default=None, description="Its agents are the judges; default: the first panel.", examples=["careful"]
    )
    dry_run: bool = Field(default=True, description="Only say what it would take; false to ask the models.")
    budget_usd: float | None = Field(
        default=None, ge=0, description="Nothing is asked where the estimate is higher than this, or unknown."
    )


class RejudgeAnswer(BaseModel):
    """What rejudging would take, and the comparison where it was done."""

    records: int = Field(description="Held-out records with their texts.")
    left_out: dict[str, int] = Field(description="Reason -> held-out records that cannot be judged again.")
    calls: int = Field(description="At most; known replies cost nothing.")
    cost_usd: float | None = Field(description="At most; null where a price is unknown.")
    comparison: Comparison | None = None


@router.get("", summary="A policy compared with people's decisions", response_model=dict[str, Any])
async def feedback(call: StoredCall, policy: PolicyName = "verdict") -> Response:
    """Accuracy, false approvals and rejections, review efficiency, each with n and interval; patterns of disagreement.

    Keys with `review` and without `read` do not get figures based on the items' labels.
    """
    with answered_as({PolicyError: 404}):
        report = await call.running.computing.ask(lambda: loop_of(call).report(policy))
    data = report.model_dump(mode="json")
    return plain_json(data if call.sight.labels else without_truth(data))


@router.get("/proposals", summary="Proposals")
async def proposals(call: StoredCall, policy: Annotated[str | None, Query(pattern=NAME)] = None) -> list[Proposal]:
    """All proposals, oldest first, each with its backtest; including refused ones."""
    return await loop_of(call).proposals(policy)


@router.post("/proposals", summary="Look for proposals now")
async def propose(call: StoredCall, policy: PolicyName = "verdict") -> list[Proposal]:
    """Fits every applicable change of the policy and tests each; also done automatically every ten disagreements.

    409 as long as too few cases are decided to learn from.
    """
    with answered_as(TOO_EARLY):
        return await propose_now(call, policy)


@router.get("/activations", summary="Activations")
async def activations(call: StoredCall) -> list[Activation]:
    """Activated proposals with person, time, reason and backtest; oldest first."""
    return await loop_of(call).activations()


@router.post("/proposals/{proposal_id}/backtest", summary="Test a proposal again")
async def backtest(call: StoredCall, proposal_id: str) -> Backtest:
    """Compares it with the version in force on all cases decided so far."""
    return await backtest_again(call, proposal_id)


@router.post("/proposals/{proposal_id}/activate", name="activate", summary="Put a proposal in force")
async def activate_proposal(call: StoredCall, proposal_id: str, body: ActivateRequest) -> Activation:
    """Applies from now on; assessments keep the version they were decided with. The change log records it."""
    return await put_in_force(call, proposal_id, call.caller.name, body.reason)


@router.get("/drafts", summary="Drafts")
async def drafts(call: StoredCall, policy: Annotated[str | None, Query(pattern=NAME)] = None) -> list[DraftState]:
    """All drafts, oldest first, each with its newest comparison."""
    book = loop_of(call)
    return [DraftState(draft=one, comparison=await book.comparison(one.draft_id)) for one in await book.drafts(policy)]


@router.post("/drafts", summary="Draft changes that answer people's corrections")
async def draft(
    call: StoredCall,
    policy: CasePolicy = DEFAULT_CASE_POLICY,
    criterion: Annotated[str | None, Query(pattern=NAME)] = None,
) -> list[Draft]:
    """An instruction to judges for each criterion that is significantly corrected; nothing is changed.

    409 as long as no criterion is corrected often enough.
    """
    with answered_as(TOO_EARLY):
        found = await call.running.computing.ask(lambda: loop_of(call).draft(policy, criterion=criterion))
    await call.note(Action.FEEDBACK_DRAFT, policy, drafts=[one.draft_id for one in found])
    return found


@router.post("/drafts/{draft_id}/rejudge", summary="Try a draft on held-out records")
async def rejudge_draft(call: StoredCall, draft_id: str, body: RejudgeRequest) -> RejudgeAnswer:
    """A dry run unless told otherwise: says the price first."""
    running = call.running
    book, _ = await _existing_draft(call, draft_id)
    found = await book.to_try(draft_id)
    judges = running.panels.respondents(body.panel)
    records, left_out = await held_out_records(book, found, now=time.time())
    base = await book.active(found.name)
    configs = running.panels.configs
    config = configs[body.panel] if body.panel is not None else next(iter(configs.values()))
    estimate = estimate_rejudging(config, base, found, records)
    answer = RejudgeAnswer(
        records=len(records), left_out=dict(left_out), calls=estimate.calls, cost_usd=estimate.cost_usd
    )
    if body.dry_run:
        return answer
    if estimate.calls > MOST_CALLS:
        raise HTTPException(
            422, f"{estimate.calls} calls are more than {MOST_CALLS}: run `metajudge feedback rejudge` on the store"
        )
    if body.budget_usd is not None and (estimate.cost_usd is None or estimate.cost_usd > body.budget_usd):
        cost = "an unknown cost" if estimate.cost_usd is None else f"up to ${estimate.cost_usd:.4f}"
        raise HTTPException(422, f"budget_usd: rejudging takes {cost}, and the budget is ${body.budget_usd:g}")
    comparison = await running.admission.work(
        call.request, lambda: rejudge(running.engine, book, found, judges=judges, now=time.time())
    )
    await call.note(Action.FEEDBACK_REJUDGE, draft_id, policy=found.name, better=comparison.better)
    return answer.model_copy(update={"comparison": comparison})


@router.get("/drafts/{draft_id}", summary="A draft with its newest comparison")
async def one_draft(call: StoredCall, draft_id: str) -> DraftState:
    """Agreement with people before and after, on the records held out of the draft."""
    book, found = await _existing_draft(call, draft_id)
    return DraftState(draft=found, comparison=await book.comparison(draft_id))


@router.post("/drafts/{draft_id}/activate", name="activate", summary="Put a draft in force")
async def activate_draft(call: StoredCall, draft_id: str, body: ActivateRequest) -> Activation:
    """Only where its newest comparison is better. Applies from now on; the change log records it."""
    book, found = await _existing_draft(call, draft_id)
    made = await book.activate(draft_id, by=call.caller.name, reason=body.reason)
    await _note_activation(call, found.name, draft_id, made)
    return made


def loop_of(call: Call) -> DraftBook:
    """The feedback loop of the store, with its drafts."""
    return DraftBook(call.store, clock=time.time)


async def propose_now(call: Call, policy: str) -> list[Proposal]:
    """Looks for proposals, and notes them in the change log.

    Raises:
        PolicyError: the policy is unknown.
        InputError: too few cases are decided.
    """
    found = await call.running.computing.ask(lambda: loop_of(call).propose(policy))
    await call.note(Action.FEEDBACK_PROPOSE, policy, proposals=[one.proposal_id for one in found])
    return found


async def backtest_again(call: Call, proposal_id: str) -> Backtest:
    """Tests a proposal on all cases decided by now, and notes it.

    Raises:
        HTTPException: 404.
    """
    loop, proposal = await existing_proposal(call, proposal_id)
    found = await call.running.computing.ask(lambda: loop.backtest(proposal_id))
    await call.note(Action.FEEDBACK_BACKTEST, proposal_id, policy=proposal.name, better=found.better)
    return found


async def put_in_force(call: Call, proposal_id: str, by: str, reason: str) -> Activation:
    """Activates a proposal, and notes it.

    Raises:
        HTTPException: 404.
    """
    loop, proposal = await existing_proposal(call, proposal_id)
    made = await loop.activate(proposal_id, by=by, reason=reason)
    await _note_activation(call, proposal.name, proposal_id, made)
    return made


async def _note_activation(call: Call, policy: str, proposal_id: str, made: Activation) -> None:
    details = {"proposal_id": proposal_id, "digest": made.digest, "before": made.base_digest}
    await call.note(Action.FEEDBACK_ACTIVATE, policy, **details)


async def existing_proposal(call: Call, proposal_id: str) -> tuple[DraftBook, Proposal]:
    """The feedback loop of the store, and a proposal of it.

    Raises:
        HTTPException: 404.
    """
    loop = loop_of(call)
    with answered_as({InputError: 404}):
        return loop, await loop.proposal(proposal_id)


async def _existing_draft(call: Call, draft_id: str) -> tuple[DraftBook, Draft]:
    book = loop_of(call)
    with answered_as({InputError: 404}):
        return book, await book.get(draft_id)
