"""The feedback loop: metrics against people's decisions, proposals, activations."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from metajudge.errors import InputError, PolicyError
from metajudge.feedback.backtest import Backtest
from metajudge.feedback.loop import FeedbackLoop
from metajudge.feedback.metrics import without_truth
from metajudge.feedback.proposals import Activation, Proposal

from ..audit import Action
from ..deps import CallerDep, ChangesDep, ServiceDep, SightDep, StoreDep
from ..encoding import plain_json
from ..rubrics import NAME

router = APIRouter(prefix="/v1/feedback", tags=["feedback"])
PolicyName = Annotated[str, Query(pattern=NAME, examples=["verdict"])]


class ActivateRequest(BaseModel):
    """Why it is put in force; who does is the key's name."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field(default="", max_length=10_000, examples=["Fewer wrong approvals on 240 decided cases."])


@router.get("", summary="A policy against people's decisions", response_model=dict[str, Any])
async def feedback(running: ServiceDep, store: StoreDep, sight: SightDep, policy: PolicyName = "verdict") -> Response:
    """Accuracy, false approvals and rejections, review efficiency, each with n and interval; patterns.

    Keys that may review and not read do not get what is based on the items' labels.
    """
    loop = FeedbackLoop(store, clock=time.time)
    try:
        report = await running.computing.ask(lambda: loop.report(policy))
    except PolicyError as error:
        raise HTTPException(404, str(error)) from None
    return plain_json(report.to_json() if sight.labels else without_truth(report.to_json()))


@router.get("/proposals", summary="Proposals")
async def proposals(store: StoreDep, policy: Annotated[str | None, Query(pattern=NAME)] = None) -> list[Proposal]:
    """All of them, oldest first, each with its backtest; refused ones included."""
    return await FeedbackLoop(store, clock=time.time).proposals(policy)


@router.post("/proposals", summary="Look for proposals now")
async def propose(
    running: ServiceDep, store: StoreDep, changes: ChangesDep, policy: PolicyName = "verdict"
) -> list[Proposal]:
    """Fits every change that fits the policy and tests each; the loop does so itself every ten disagreements."""
    loop = FeedbackLoop(store, clock=time.time)
    found = await running.computing.ask(lambda: loop.propose(policy))
    await changes.note(Action.FEEDBACK_PROPOSE, policy, proposals=[one.proposal_id for one in found])
    return found


@router.get("/activations", summary="What was put in force")
async def activations(store: StoreDep) -> list[Activation]:
    """By whom, when, why and with which backtest; oldest first."""
    return await FeedbackLoop(store, clock=time.time).activations()


@router.post("/proposals/{proposal_id}/backtest", summary="Test a proposal anew")
async def backtest(running: ServiceDep, store: StoreDep, changes: ChangesDep, proposal_id: str) -> Backtest:
    """On all cases decided by now, against the version in force."""
    loop, proposal = await _loop(store, proposal_id)
    found = await running.computing.ask(lambda: loop.backtest(proposal_id))
    await changes.note(Action.FEEDBACK_BACKTEST, proposal_id, policy=proposal.name, better=found.better)
    return found


@router.post("/proposals/{proposal_id}/activate", summary="Put a proposal in force")
async def activate(
    store: StoreDep, changes: ChangesDep, caller: CallerDep, proposal_id: str, body: ActivateRequest
) -> Activation:
    """From now on; assessments keep the version they were decided with. The change is in the audit log."""
    loop, proposal = await _loop(store, proposal_id)
    found = await loop.activate(proposal_id, by=caller.name, reason=body.reason)
    await changes.note(
        Action.FEEDBACK_ACTIVATE, proposal.name, proposal_id=proposal_id, digest=found.digest, before=found.base_digest
    )
    return found


async def _loop(store: StoreDep, proposal_id: str) -> tuple[FeedbackLoop, Proposal]:
    loop = FeedbackLoop(store, clock=time.time)
    try:
        return loop, await loop.proposal(proposal_id)
    except InputError as error:
        raise HTTPException(404, str(error)) from None
