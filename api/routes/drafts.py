"""Drafted changes of how cases are judged: made, tried on held-out records, compared, activated."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, Field

from metajudge.decision import DEFAULT_CASE_POLICY
from metajudge.errors import InputError
from metajudge.feedback.changes import Activation, Comparison, Draft
from metajudge.feedback.drafting import DraftBook
from metajudge.feedback.rejudging import estimate_rejudging, held_out_records, rejudge
from metajudge.panels.config import PanelConfig
from metajudge.runs.estimate import Estimate
from metajudge.store.protocol import Store

from ..audit import Action
from ..deps import CallerDep, ChangesDep, ServiceDep, StoreDep
from ..rubrics import NAME
from ..schemas import Strict
from .feedback import ActivateRequest, too_early

router = APIRouter(prefix="/v1/feedback/drafts", tags=["feedback"])

MOST_CALLS = 500
"""More calls than this are no work for one request."""

PolicyName = Annotated[str, Query(pattern=NAME, examples=[DEFAULT_CASE_POLICY])]


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


@router.get("", summary="Drafts")
async def drafts(store: StoreDep, policy: Annotated[str | None, Query(pattern=NAME)] = None) -> list[DraftState]:
    """All drafts, oldest first, each with its newest comparison."""
    book = _book(store)
    return [DraftState(draft=one, comparison=await book.comparison(one.draft_id)) for one in await book.drafts(policy)]


@router.post("", summary="Draft changes that answer people's corrections")
async def draft(
    running: ServiceDep,
    store: StoreDep,
    changes: ChangesDep,
    policy: PolicyName = DEFAULT_CASE_POLICY,
    criterion: Annotated[str | None, Query(pattern=NAME)] = None,
) -> list[Draft]:
    """An instruction to judges for each criterion that is significantly corrected; nothing is changed.

    409 as long as no criterion is corrected often enough.
    """
    with too_early():
        found = await running.computing.ask(lambda: _book(store).draft(policy, criterion=criterion))
    await changes.note(Action.FEEDBACK_DRAFT, policy, drafts=[one.draft_id for one in found])
    return found


@router.post("/{draft_id}/rejudge", summary="Try a draft on held-out records")
async def rejudge_draft(
    request: Request, running: ServiceDep, store: StoreDep, changes: ChangesDep, draft_id: str, body: RejudgeRequest
) -> RejudgeAnswer:
    """A dry run unless told otherwise: says the price first."""
    book, _ = await _one(store, draft_id)
    found = await book.to_try(draft_id)
    judges = running.panels.respondents(body.panel)
    held = await held_out_records(book, found, now=time.time())
    base = await book.active(found.name)
    estimate = estimate_rejudging(_config(running, body.panel), base, found, held.records)
    answer: dict[str, Any] = {
        "records": len(held.records),
        "left_out": dict(held.left_out),
        "calls": estimate.calls,
        "cost_usd": estimate.cost_usd,
    }
    if body.dry_run:
        return RejudgeAnswer(**answer)
    _check_price(estimate, body.budget_usd)
    comparison = await running.admission.work(
        request, lambda: rejudge(running.engine, book, found, judges=judges, now=time.time())
    )
    await changes.note(Action.FEEDBACK_REJUDGE, draft_id, policy=found.name, better=comparison.better)
    return RejudgeAnswer(**answer, comparison=comparison)


@router.get("/{draft_id}", summary="A draft with its newest comparison")
async def one_draft(store: StoreDep, draft_id: str) -> DraftState:
    """Agreement with people before and after, on the records held out of the draft."""
    book, found = await _one(store, draft_id)
    return DraftState(draft=found, comparison=await book.comparison(draft_id))


@router.post("/{draft_id}/activate", summary="Put a draft in force")
async def activate(
    store: StoreDep, changes: ChangesDep, caller: CallerDep, draft_id: str, body: ActivateRequest
) -> Activation:
    """Only where its newest comparison is better. Applies from now on; the change log records it."""
    book, found = await _one(store, draft_id)
    done = await book.activate(draft_id, by=caller.name, reason=body.reason)
    await changes.note(
        Action.FEEDBACK_ACTIVATE, found.name, proposal_id=draft_id, digest=done.digest, before=done.base_digest
    )
    return done


def _check_price(estimate: Estimate, budget_usd: float | None) -> None:
    if estimate.calls > MOST_CALLS:
        raise HTTPException(
            422, f"{estimate.calls} calls are more than {MOST_CALLS}: run `metajudge feedback rejudge` on the store"
        )
    if budget_usd is not None and (estimate.cost_usd is None or estimate.cost_usd > budget_usd):
        cost = "an unknown cost" if estimate.cost_usd is None else f"up to ${estimate.cost_usd:.4f}"
        raise HTTPException(422, f"budget_usd: rejudging takes {cost}, and the budget is ${budget_usd:g}")


def _config(running: ServiceDep, panel: str | None) -> PanelConfig:
    configs = running.panels.configs
    return configs[panel] if panel is not None else next(iter(configs.values()))


def _book(store: Store) -> DraftBook:
    return DraftBook(store, clock=time.time)


async def _one(store: Store, draft_id: str) -> tuple[DraftBook, Draft]:
    book = _book(store)
    try:
        return book, await book.get(draft_id)
    except InputError as error:
        raise HTTPException(404, str(error)) from None
