"""Clashes: the list, adding a file of them, and the panel against people. One clash is a review, and decided there."""

import time
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, File, HTTPException, Query, Response, UploadFile

from metajudge.clashes.concordance import CEILING, PRIOR_WORK, SOURCE, concordance, words
from metajudge.clashes.reviews import calls_of, clash_of, clashes_in, read_clashes, review_of_clash
from metajudge.clashes.sheet import triage_of, verdict_of
from metajudge.errors import InputError
from metajudge.reviewables.reviewable import has_decided
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import CLASH_PANEL
from metajudge.store import overview
from metajudge.store.overview import DecidedClash

from ..deps import Action
from ..routes.reviews import existing
from .login import go_to
from .page_route import PageRoute, StoredVisit

router = APIRouter(prefix="/clash", include_in_schema=False, route_class=PageRoute)
ROWS = 25


@router.get("")
async def clashes(
    visit: StoredVisit,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
) -> Response:
    return await _list(visit, cursor, before)


@router.post("")
async def add(visit: StoredVisit, file: Annotated[UploadFile, File()]) -> Response:
    """Adds the evaluations of a file to the store, each once; redirects to the clash or the list."""
    try:
        records = read_clashes(await file.read(), file.filename or "the file")
        reviews = [review_of_clash(record, now=time.time()) for record in records]
    except InputError as error:
        return await _list(visit, http_status=422, problem=str(error))
    new = await visit.store.reviews.open(reviews)
    await visit.note(Action.REVIEW_OPEN, CLASH_PANEL, new=new, reviews=[one.review_id for one in reviews])
    return go_to(f"/reviews/{reviews[0].review_id}" if len(reviews) == 1 else "/clash")


@router.get("/people")
async def people(visit: StoredVisit) -> Response:
    """How often the panel's winner is the one people choose."""
    states = await clashes_in(visit.store)
    calls = calls_of(states)
    return visit.page(
        "clash_people.html",
        found=concordance(calls) if calls else None,
        words=words,
        waiting=sum(state.status.value != "decided" for state in states),
        prior_work=PRIOR_WORK,
        source=SOURCE,
        ceiling=CEILING,
    )


@router.get("/{review_id}")
async def clash(visit: StoredVisit, review_id: str) -> Response:
    """Leads to the review of a clash."""
    state = await existing(visit, review_id)
    if state.review.kind != "clash":
        raise HTTPException(404, f"review {review_id!r} is not about a clash")
    return go_to(f"/reviews/{state.review.review_id}")


async def _list(
    visit: StoredVisit,
    cursor: str | None = None,
    before: int | None = None,
    http_status: int = 200,
    problem: str | None = None,
) -> Response:
    found = await visit.store.reviews.page(ReviewFilter(judge=CLASH_PANEL), now=time.time(), limit=ROWS, cursor=cursor)
    rows = []
    for state in found.reviews:
        record = clash_of(state.review)
        # Others' decisions are not shown to a person who still has to decide independently, or is not named.
        known = state.status == "decided" or has_decided(state, visit.viewer.reviewer)
        rows.append((state, record, (verdict_of(record), triage_of(record)) if record is not None and known else None))
    alone = await visit.ask(overview.decided_clashes, before=before, limit=ROWS + 1)
    shown, left_out = await that_may_be_seen(visit, alone[:ROWS])
    return visit.page(
        "clash_list.html",
        http_status=http_status,
        rows=rows,
        next_cursor=found.next_cursor,
        is_first=cursor is None and before is None,
        alone=shown,
        left_out=left_out,
        older=alone[ROWS - 1].number if len(alone) > ROWS else None,
        problem=problem,
    )


async def that_may_be_seen(visit: StoredVisit, clashes: Sequence[DecidedClash]) -> tuple[list[DecidedClash], int]:
    """The clashes without those on items that the viewer still has to decide, and how many those are.

    Another panel's verdict on the same item would tell the reviewer of a blind review what to say.
    """
    items = (await visit.sight.undecided(visit.store)).items if clashes else frozenset()
    shown = [one for one in clashes if one.item_id not in items]
    return shown, len(clashes) - len(shown)
