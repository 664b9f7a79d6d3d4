"""Clashes: anonymous answers side by side, a person's final decision, then the panel's result."""

import asyncio
import time
from typing import Annotated

from fastapi import APIRouter, File, Form, HTTPException, Query, Request, Response, UploadFile

from metajudge.clashes.reviews import (
    PANEL,
    clash_of,
    is_clash,
    outcome_of,
    panel_verdict,
    read_clashes,
    review_of_clash,
)
from metajudge.errors import InputError, ReviewError
from metajudge.reviews import HumanDecision, Outcome, ReviewState
from metajudge.reviews.deciding import decision_from
from metajudge.reviews.queue import ReviewFilter
from metajudge.store.protocol import Store
from metajudge.types import AnyVerdict

from ..audit import KIND as CHANGE
from ..audit import Action
from ..deps import StoreDep
from ..routes.reviews import existing
from .access import ChangesDep, Viewer, ViewerDep, decides_blind, show_machine
from .case_view import history, may_see_decisions, ranking_choices
from .clash_view import Seat, score_rows, seats_of, vote_lines
from .login import go_to
from .page_route import PageRoute
from .rendering import page
from .review_queue import named, subject_of, take
from .wording import verdict_words

router = APIRouter(prefix="/clash", include_in_schema=False, route_class=PageRoute)
ROWS = 25


@router.get("")
async def clashes(
    request: Request, viewer: ViewerDep, store: StoreDep, cursor: Annotated[str | None, Query(max_length=200)] = None
) -> Response:
    return await _list(request, viewer, store, cursor)


@router.post("")
async def add(
    request: Request,
    viewer: ViewerDep,
    store: StoreDep,
    changes: ChangesDep,
    file: Annotated[UploadFile, File()],
) -> Response:
    """Adds the evaluations of a file to the store, each once; redirects to the clash or the list."""
    try:
        records = read_clashes(await file.read(), file.filename or "the file")
        reviews = [review_of_clash(record, now=time.time()) for record in records]
    except InputError as error:
        return await _list(request, viewer, store, None, http_status=422, problem=str(error))
    new = await store.reviews.open(reviews)
    await changes.note(Action.REVIEW_OPEN, PANEL, new=new, reviews=[one.review_id for one in reviews])
    return go_to(f"/clash/{reviews[0].review_id}" if len(reviews) == 1 else "/clash")


@router.get("/{review_id}")
async def clash(request: Request, viewer: ViewerDep, store: StoreDep, review_id: str, reveal: bool = False) -> Response:
    return await _clash_page(request, viewer, store, await _existing(store, review_id), reveal=reveal)


@router.post("/{review_id}/claim")
async def claim(
    viewer: ViewerDep, store: StoreDep, changes: ChangesDep, review_id: str, reveal: bool = False
) -> Response:
    await _existing(store, review_id)
    await take(store, viewer, changes, review_id)
    return go_to(f"/clash/{review_id}{'?reveal=true' if reveal else ''}")


@router.post("/{review_id}/decide")
async def decide(
    request: Request,
    viewer: ViewerDep,
    store: StoreDep,
    changes: ChangesDep,
    review_id: str,
    verdict: Annotated[str, Form(max_length=50)] = "",
    reason: Annotated[str, Form(max_length=10_000)] = "",
    blind: Annotated[bool, Form()] = False,
) -> Response:
    """The final decision: the person's own verdict, compared with the panel's."""
    state = await _existing(store, review_id)
    try:
        unseen = blind and await decides_blind(store, viewer, subject_of(state.review))
        seats = await _seats(state, named(viewer))
        made = _decision(state, seats, named(viewer), verdict, reason.strip(), unseen)
        decided = await store.reviews.decide(made, now=time.time())
    except (InputError, ReviewError) as error:
        status = 409 if isinstance(error, ReviewError) else 422
        state = await _existing(store, review_id)
        return await _clash_page(
            request,
            viewer,
            store,
            state,
            reveal=not blind,
            http_status=status,
            problem=str(error),
            chosen=verdict,
            note=reason,
        )
    if len(decided.decisions) > len(state.decisions):
        await changes.note(Action.REVIEW_DECIDE, review_id, reviewer=made.reviewer, outcome=made.outcome.value)
    return go_to(f"/clash/{review_id}")


def _decision(
    state: ReviewState, seats: tuple[Seat, ...], reviewer: str, chosen: str, reason: str, blind: bool
) -> HumanDecision:
    """The decision in a form.

    Raises:
        InputError: no choice, or a choice that is not on the page.
    """
    record = clash_of(state.review)
    if record is None:
        raise InputError("the texts of this clash were deleted: it cannot be decided")
    own: AnyVerdict | None = None
    outcome = Outcome.CANNOT_TELL
    if chosen != Outcome.CANNOT_TELL:
        choices = ranking_choices(_titles(seats))
        own = next((one.verdict for one in choices if one.value == chosen), None)
        if own is None:
            raise InputError("choose an answer first: nothing was recorded")
        outcome = outcome_of(own, panel_verdict(record))
    corrected = own if outcome is Outcome.MODIFY else None
    return decision_from(
        state.review, None, reviewer, outcome, corrected, reason=reason, decided_at=time.time(), blind=blind
    )


async def _seats(state: ReviewState, reviewer: str | None) -> tuple[Seat, ...]:
    """The answers in a person's order; none if they were deleted. Names are searched for in a thread."""
    record = clash_of(state.review)
    return () if record is None else await asyncio.to_thread(seats_of, record, state.review.review_id, reviewer)


def _titles(seats: tuple[Seat, ...]) -> dict[str, str]:
    return {seat.answer.name: seat.title for seat in seats}


async def _existing(store: Store, review_id: str) -> ReviewState:
    state = await existing(store, review_id)
    if not is_clash(state.review):
        raise HTTPException(404, f"review {review_id!r} is not about a clash")
    return state


async def _list(
    request: Request,
    viewer: Viewer,
    store: Store,
    cursor: str | None,
    *,
    http_status: int = 200,
    problem: str | None = None,
) -> Response:
    found = await store.reviews.page(ReviewFilter(judge=PANEL), now=time.time(), limit=ROWS, cursor=cursor)
    rows = [(state, clash_of(state.review), may_see_decisions(state, viewer.reviewer)) for state in found.reviews]
    return page(
        request,
        "clash_list.html",
        viewer,
        http_status=http_status,
        rows=rows,
        next_cursor=found.next_cursor,
        is_first=cursor is None,
        problem=problem,
    )


async def _clash_page(
    request: Request,
    viewer: Viewer,
    store: Store,
    state: ReviewState,
    *,
    reveal: bool,
    http_status: int = 200,
    problem: str | None = None,
    chosen: str = "",
    note: str = "",
) -> Response:
    review, record = state.review, clash_of(state.review)
    decided = may_see_decisions(state, viewer.reviewer)
    shown = reveal or decided
    if shown:
        await show_machine(store, viewer, [subject_of(review)])
    seats = await _seats(state, viewer.reviewer)
    titles = _titles(seats)
    names = {name: f"{title} ({name})" for name, title in titles.items()} if shown else titles
    call = next((one for one in state.decisions if one.reviewer == viewer.reviewer), None)
    return page(
        request,
        "clash.html",
        viewer,
        http_status=http_status,
        state=state,
        review=review,
        record=record,
        seats=seats,
        shown=shown,
        call=call,
        called=None if call is None else verdict_words(call.verdict or review.verdict, names),
        votes=vote_lines(record, seats) if record is not None and shown else [],
        scores=score_rows(record, seats) if record is not None and shown else [],
        choices=ranking_choices(titles),
        claim=next((one for one in state.claims if one.reviewer == viewer.reviewer), None),
        events=history(
            state,
            (),
            names,
            changes=await store.audit_log.entries(CHANGE, review.review_id),
            reviewer=viewer.reviewer,
            machine=shown,
            people=decided,
        ),
        problem=problem,
        chosen=chosen,
        note=note,
        seen=not await decides_blind(store, viewer, subject_of(review)),
    )
