"""The feedback loop: metrics against people's decisions, proposals, activations."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import Field

from metajudge.errors import InputError, PolicyError
from metajudge.feedback.backtest import Backtest
from metajudge.feedback.changes import Activation, Proposal
from metajudge.feedback.loop import FeedbackLoop
from metajudge.feedback.metrics import without_truth

from ..audit import Action
from ..deps import CallerDep, ChangesDep, ServiceDep, SightDep, StoreDep
from ..encoding import plain_json
from ..rubrics import NAME
from ..schemas import Strict

router = APIRouter(prefix="/v1/feedback", tags=["feedback"])
PolicyName = Annotated[str, Query(pattern=NAME, examples=["verdict"])]


class ActivateRequest(Strict):
    """The reason for an activation; the person is the key's name."""

    reason: str = Field(default="", max_length=10_000, examples=["Fewer wrong approvals on 240 decided cases."])


@router.get("", summary="A policy compared with people's decisions", response_model=dict[str, Any])
async def feedback(running: ServiceDep, store: StoreDep, sight: SightDep, policy: PolicyName = "verdict") -> Response:
    """Accuracy, false approvals and rejections, review efficiency, each with n and interval; patterns of disagreement.

    Keys with `review` and without `read` do not get figures based on the items' labels.
    """
    loop = FeedbackLoop(store, clock=time.time)
    try:
        report = await running.computing.ask(lambda: loop.report(policy))
    except PolicyError as error:
        raise HTTPException(404, str(error)) from None
    data = report.model_dump(mode="json")
    return plain_json(data if sight.labels else without_truth(data))


@router.get("/proposals", summary="Proposals")
async def proposals(store: StoreDep, policy: Annotated[str | None, Query(pattern=NAME)] = None) -> list[Proposal]:
    """All proposals, oldest first, each with its backtest; including refused ones."""
    return await FeedbackLoop(store, clock=time.time).proposals(policy)


@router.post("/proposals", summary="Look for proposals now")
async def propose(
    running: ServiceDep, store: StoreDep, changes: ChangesDep, policy: PolicyName = "verdict"
) -> list[Proposal]:
    """Fits every applicable change of the policy and tests each; also done automatically every ten disagreements.

    409 as long as too few cases are decided to learn from.
    """
    loop = FeedbackLoop(store, clock=time.time)
    with too_early():
        found = await running.computing.ask(lambda: loop.propose(policy))
    await changes.note(Action.FEEDBACK_PROPOSE, policy, proposals=[one.proposal_id for one in found])
    return found


@router.get("/activations", summary="Activations")
async def activations(store: StoreDep) -> list[Activation]:
    """Activated proposals with person, time, reason and backtest; oldest first."""
    return await FeedbackLoop(store, clock=time.time).activations()


@router.post("/proposals/{proposal_id}/backtest", summary="Test a proposal again")
async def backtest(running: ServiceDep, store: StoreDep, changes: ChangesDep, proposal_id: str) -> Backtest:
    """Compares it with the version in force on all cases decided so far."""
    loop, proposal = await existing_proposal(store, proposal_id)
    found = await running.computing.ask(lambda: loop.backtest(proposal_id))
    await changes.note(Action.FEEDBACK_BACKTEST, proposal_id, policy=proposal.name, better=found.better)
    return found


@router.post("/proposals/{proposal_id}/activate", summary="Put a proposal in force")
async def activate(
    store: StoreDep, changes: ChangesDep, caller: CallerDep, proposal_id: str, body: ActivateRequest
) -> Activation:
    """Applies from now on; assessments keep the version they were decided with. The change log records it."""
    loop, proposal = await existing_proposal(store, proposal_id)
    found = await loop.activate(proposal_id, by=caller.name, reason=body.reason)
    await changes.note(
        Action.FEEDBACK_ACTIVATE, proposal.name, proposal_id=proposal_id, digest=found.digest, before=found.base_digest
    )
    return found


@contextmanager
def too_early() -> Iterator[None]:
    """What cannot be learned from what is decided so far is a conflict with the state, not a mistake of the caller.

    Raises:
        HTTPException: 404, the policy is unknown; 409, too little is decided.
    """
    try:
        yield
    except PolicyError as error:
        raise HTTPException(404, str(error)) from None
    except InputError as error:
        raise HTTPException(409, str(error)) from None


async def existing_proposal(store: StoreDep, proposal_id: str) -> tuple[FeedbackLoop, Proposal]:
    """The feedback loop of a store, and a proposal of it.

    Raises:
        HTTPException: 404.
    """
    loop = FeedbackLoop(store, clock=time.time)
    try:
        return loop, await loop.proposal(proposal_id)
    except InputError as error:
        raise HTTPException(404, str(error)) from None
