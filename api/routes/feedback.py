"""The feedback loop: metrics against people's decisions, proposals, activations."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from metajudge.errors import InputError, PolicyError
from metajudge.feedback.backtest import Backtest
from metajudge.feedback.loop import FeedbackLoop
from metajudge.feedback.proposals import Activation, Proposal

from ..deps import CallerDep, StoreDep, needs
from ..encoding import plain_json
from ..errors import RESPONSES
from ..keys import Scope
from ..rubrics import NAME

router = APIRouter(prefix="/v1/feedback", tags=["feedback"], responses=RESPONSES)
MAY_SEE, MAY_CHANGE = [Depends(needs(Scope.READ, Scope.REVIEW))], [Depends(needs(Scope.ADMIN))]
PolicyName = Annotated[str, Query(pattern=NAME, examples=["verdict"])]


class ActivateRequest(BaseModel):
    """Why it is put in force; who does is the key's name."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field(default="", max_length=10_000)


@router.get("", summary="A policy against people's decisions", dependencies=MAY_SEE, response_model=dict[str, Any])
async def feedback(store: StoreDep, policy: PolicyName = "verdict") -> Response:
    """Accuracy, false approvals and rejections, review efficiency, each with n and interval; patterns."""
    try:
        report = await FeedbackLoop(store, clock=time.time).report(policy)
    except PolicyError as error:
        raise HTTPException(404, str(error)) from None
    return plain_json(report.to_json())


@router.get("/proposals", summary="Proposals", dependencies=MAY_SEE)
async def proposals(store: StoreDep, policy: Annotated[str | None, Query(pattern=NAME)] = None) -> list[Proposal]:
    return await FeedbackLoop(store, clock=time.time).proposals(policy)


@router.post("/proposals", summary="Look for proposals now", dependencies=MAY_CHANGE)
async def propose(store: StoreDep, policy: PolicyName = "verdict") -> list[Proposal]:
    return await FeedbackLoop(store, clock=time.time).propose(policy)


@router.get("/activations", summary="What was put in force", dependencies=MAY_SEE)
async def activations(store: StoreDep) -> list[Activation]:
    return await FeedbackLoop(store, clock=time.time).activations()


@router.post("/proposals/{proposal_id}/backtest", summary="Test a proposal anew", dependencies=MAY_CHANGE)
async def backtest(store: StoreDep, proposal_id: str) -> Backtest:
    """On all cases decided by now, against the version in force."""
    return await (await _loop(store, proposal_id)).backtest(proposal_id)


@router.post("/proposals/{proposal_id}/activate", summary="Put a proposal in force", dependencies=MAY_CHANGE)
async def activate(store: StoreDep, caller: CallerDep, proposal_id: str, body: ActivateRequest) -> Activation:
    """From now on; assessments keep the version they were decided with. The change is in the audit log."""
    return await (await _loop(store, proposal_id)).activate(proposal_id, by=caller.name, reason=body.reason)


async def _loop(store: StoreDep, proposal_id: str) -> FeedbackLoop:
    loop = FeedbackLoop(store, clock=time.time)
    try:
        await loop.proposal(proposal_id)
    except InputError as error:
        raise HTTPException(404, str(error)) from None
    return loop
