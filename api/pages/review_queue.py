"""The review queue: open reviews by item, the reasons, and who has claimed them."""

import time
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import Field

from metajudge.reviewables.deciding import is_settled, machine_said, must_be_blind, reviewable_of, view_of
from metajudge.reviews.queue import LEASE_S, ReviewFilter
from metajudge.reviews.review import ReviewState, ReviewStatus
from metajudge.store.texts import plain

from ..deps import Action
from ..routes.reviews import give_back, take
from ..sessions import Viewer
from .login import go_to
from .page_route import Filters, PageRoute, StoredVisit

router = APIRouter(prefix="/reviews", include_in_schema=False, route_class=PageRoute)
ROWS = 25
SHOWN = 160
"""Characters of a question in the list."""


class Wish(Filters):
    """The filters of the queue; they are kept from case to case."""

    PATH = "/reviews"

    status: Literal["open", "claimed", "decided", "all"] = "open"
    judge: str = Field(default="", max_length=200)
    category: str = Field(default="", max_length=200)
    item: str = Field(default="", max_length=200)
    mine: bool = False
    assigned: bool = False

    def filter(self, viewer: Viewer) -> ReviewFilter:
        """The filter for the queue; blind mode ignores the judge."""
        return ReviewFilter(
            status=None if self.status == "all" else ReviewStatus(self.status),
            judge=None if viewer.session.blind else self.judge.strip() or None,
            category=self.category.strip() or None,
            reviewer=viewer.reviewer if self.mine else None,
            item_id=self.item.strip() or None,
            assigned=viewer.reviewer if self.assigned else None,
        )

    @property
    def query(self) -> str:
        """The query string with its question mark; empty without filters."""
        return self.address().removeprefix(self.PATH)


WishDep = Annotated[Wish, Query()]


@router.get("")
async def queue(
    visit: StoredVisit,
    wish: WishDep,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    done: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    now = time.time()
    found = await visit.store.reviews.page(wish.filter(visit.viewer), now=now, limit=ROWS, cursor=cursor)
    by_item: dict[str, list[dict[str, Any]]] = {}
    for state in found.reviews:
        by_item.setdefault(state.review.item_id, []).append(await _row(visit, state))
    return visit.page(
        "review_queue.html",
        part="queue",
        items=list(by_item.values()),
        counts=await visit.store.reviews.counts(now=now),
        progress=await progress_of(visit, wish),
        wish=wish,
        next_cursor=found.next_cursor,
        is_first=cursor is None,
        done=await decided_just_now(visit, done),
        blind=visit.viewer.session.blind,
    )


@router.post("/next")
async def take_next(visit: StoredVisit, wish: WishDep) -> Response:
    return await to_next(visit, wish)


@router.post("/{review_id}/claim")
async def claim(visit: StoredVisit, wish: WishDep, review_id: str) -> Response:
    await take(visit, review_id, named(visit))
    return go_to(f"/reviews/{review_id}{wish.query}")


@router.post("/{review_id}/release")
async def release(visit: StoredVisit, wish: WishDep, review_id: str) -> Response:
    await give_back(visit, review_id, named(visit))
    return go_to(f"/reviews{wish.query}")


async def to_next(visit: StoredVisit, wish: Wish, *, done: str | None = None, item: str | None = None) -> Response:
    """Claims the next review, one of the same item first, and redirects to it, or to the queue if nothing waits."""
    same = [wish.model_copy(update={"item": item})] if item is not None and not wish.item else []
    state = None
    for wanted in (*same, wish):
        if state is None:
            state = await visit.store.reviews.claim(named(visit), now=time.time(), wanted=wanted.filter(visit.viewer))
    if state is not None:
        await visit.note(Action.REVIEW_CLAIM, state.review.review_id, reviewer=named(visit), lease_s=LEASE_S)
    query = wish.query
    if done is not None:
        query += f"{'&' if query else '?'}{urlencode({'done': done})}"
    return go_to(f"/reviews{query}" if state is None else f"/reviews/{state.review.review_id}{query}")


def named(visit: StoredVisit) -> str:
    """The name a person reviews under.

    Raises:
        HTTPException: 422, no name was given yet.
    """
    if visit.viewer.reviewer is None:
        raise HTTPException(422, "reviewer: enter your name on the page /reviews first")
    return visit.viewer.reviewer


async def progress_of(visit: StoredVisit, wish: Wish) -> str | None:
    """How far the viewer has come with what the filters leave, in words; None without a name."""
    reviewer = visit.viewer.reviewer
    if reviewer is None:
        return None
    wanted = wish.model_copy(update={"status": "all", "mine": False}).filter(visit.viewer)
    return str(await visit.store.reviews.progress(reviewer, now=time.time(), wanted=wanted))


async def decided_just_now(visit: StoredVisit, review_id: str | None) -> dict[str, Any] | None:
    """The decision a person has just made, and what the machine said, once they may know; None for a review that they
    have not decided.
    """
    store, reviewer = visit.store, visit.viewer.reviewer
    state = None if review_id is None else await store.reviews.get(review_id, now=time.time())
    own = [] if state is None else [one for one in state.decisions if one.reviewer == reviewer]
    if state is None or not own:
        return None
    told = ""
    if own[0].blind and await is_settled(store, state, reviewer):
        one = await reviewable_of(store, state, whole=False)
        await view_of(store, one, visit.viewer.person, blind=False)
        told = machine_said(one)
    return {"review": state.review, "decision": own[0], "told": told}


async def hides(visit: StoredVisit, state: ReviewState) -> bool:
    """Whether the viewer sees a review blind: in blind mode, or because its policy wants it."""
    reviewer = visit.viewer.reviewer
    if visit.viewer.session.blind and not await is_settled(visit.store, state, reviewer):
        return True
    return await must_be_blind(visit.store, state, reviewer)


async def _row(visit: StoredVisit, state: ReviewState) -> dict[str, Any]:
    """One line of the queue: a sheet, without recording its machine result as seen."""
    reviewer = visit.viewer.reviewer
    one = await reviewable_of(visit.store, state, whole=False)
    sheet = one.view(reviewer or "", blind=await hides(visit, state))
    first = plain(sheet.passages[0].text) if sheet.passages else sheet.heading
    about = first if sheet.kind != "case" else f"{state.review.item_id}: {first}"
    return {
        "state": state,
        "sheet": sheet,
        "about": about if len(about) <= SHOWN else about[: SHOWN - 1] + "…",
        "mine": any(claimed.reviewer == reviewer for claimed in state.claims),
    }
