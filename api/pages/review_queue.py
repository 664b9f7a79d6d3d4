"""The review queue: open reviews by item, the reasons, and who has claimed them."""

import time
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from metajudge.reviewables.deciding import is_settled, machine_said, must_be_blind, reviewable_of, view_of
from metajudge.reviewables.sheet import Sheet
from metajudge.reviews.queue import LEASE_S, ReviewFilter
from metajudge.reviews.review import HumanDecision, Review, ReviewState, ReviewStatus
from metajudge.store.excerpts import plain
from metajudge.store.protocol import Store

from ..audit import Action, Changes
from ..deps import StoreDep
from ..routes.reviews import existing
from .access import ChangesDep, Viewer, ViewerDep
from .login import go_to
from .page_route import PageRoute
from .rendering import page

router = APIRouter(prefix="/reviews", include_in_schema=False, route_class=PageRoute)
ROWS = 25
SHOWN = 160
"""Characters of a question in the list."""


class Wish(BaseModel):
    """The filters of the queue; they are kept from case to case."""

    model_config = ConfigDict(frozen=True, extra="ignore")

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
        given = {
            name: value for name, value in self.model_dump(exclude_defaults=True).items() if value not in ("", False)
        }
        return "?" + urlencode(given) if given else ""


WishDep = Annotated[Wish, Query()]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the queue: a sheet, without recording its machine result as seen."""

    state: ReviewState
    sheet: Sheet
    about: str
    mine: bool


@router.get("")
async def queue(
    request: Request,
    viewer: ViewerDep,
    store: StoreDep,
    wish: WishDep,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    done: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    now = time.time()
    found = await store.reviews.page(wish.filter(viewer), now=now, limit=ROWS, cursor=cursor)
    rows = [await _row(store, viewer, state) for state in found.reviews]
    by_item: dict[str, list[Row]] = {}
    for row in rows:
        by_item.setdefault(row.state.review.item_id, []).append(row)
    return page(
        request,
        "review_queue.html",
        viewer,
        part="queue",
        items=list(by_item.values()),
        counts=await store.reviews.counts(now=now),
        progress=await progress_of(store, viewer, wish),
        wish=wish,
        next_cursor=found.next_cursor,
        is_first=cursor is None,
        done=await decided_just_now(store, viewer, done),
        blind=viewer.session.blind,
    )


@router.post("/next")
async def take_next(viewer: ViewerDep, store: StoreDep, changes: ChangesDep, wish: WishDep) -> Response:
    return await to_next(store, viewer, changes, wish)


@router.post("/{review_id}/claim")
async def claim(viewer: ViewerDep, store: StoreDep, changes: ChangesDep, wish: WishDep, review_id: str) -> Response:
    await take(store, viewer, changes, review_id)
    return go_to(f"/reviews/{review_id}{wish.query}")


@router.post("/{review_id}/release")
async def release(viewer: ViewerDep, store: StoreDep, changes: ChangesDep, wish: WishDep, review_id: str) -> Response:
    await existing(store, review_id)
    await store.reviews.release(review_id, named(viewer), now=time.time())
    await changes.note(Action.REVIEW_RELEASE, review_id, reviewer=named(viewer))
    return go_to(f"/reviews{wish.query}")


async def take(store: Store, viewer: Viewer, changes: Changes, review_id: str) -> None:
    """Claims a review, or extends the claim.

    Raises:
        ReviewError: it is claimed by another person, or decided.
    """
    await existing(store, review_id)
    await store.reviews.claim(named(viewer), now=time.time(), review_id=review_id)
    await changes.note(Action.REVIEW_CLAIM, review_id, reviewer=named(viewer), lease_s=LEASE_S)


async def to_next(
    store: Store, viewer: Viewer, changes: Changes, wish: Wish, *, done: str | None = None, item: str | None = None
) -> Response:
    """Claims the next review, one of the same item first, and redirects to it, or to the queue if nothing waits."""
    state, now = None, time.time()
    if item is not None and not wish.item:
        same = wish.model_copy(update={"item": item}).filter(viewer)
        state = await store.reviews.claim(named(viewer), now=now, wanted=same)
    if state is None:
        state = await store.reviews.claim(named(viewer), now=now, wanted=wish.filter(viewer))
    if state is not None:
        await changes.note(Action.REVIEW_CLAIM, state.review.review_id, reviewer=named(viewer), lease_s=LEASE_S)
    query = wish.query
    if done is not None:
        query += f"{'&' if query else '?'}{urlencode({'done': done})}"
    return go_to(f"/reviews{query}" if state is None else f"/reviews/{state.review.review_id}{query}")


def named(viewer: Viewer) -> str:
    """The name a person reviews under.

    Raises:
        HTTPException: 422, no name was given yet.
    """
    if viewer.reviewer is None:
        raise HTTPException(422, "reviewer: enter your name on the page /reviews first")
    return viewer.reviewer


async def progress_of(store: Store, viewer: Viewer, wish: Wish) -> str | None:
    """How far the viewer has come with what the filters leave, in words; None without a name."""
    if viewer.reviewer is None:
        return None
    wanted = wish.model_copy(update={"status": "all", "mine": False}).filter(viewer)
    return str(await store.reviews.progress(viewer.reviewer, now=time.time(), wanted=wanted))


@dataclass(frozen=True, slots=True)
class Done:
    """The decision a person has just made; ``told``: what the machine said, once they may know."""

    review: Review
    decision: HumanDecision
    told: str


async def decided_just_now(store: Store, viewer: Viewer, review_id: str | None) -> Done | None:
    """The decision a person has just made; None for a review they have not decided."""
    state = None if review_id is None else await store.reviews.get(review_id, now=time.time())
    own = [] if state is None else [one for one in state.decisions if one.reviewer == viewer.reviewer]
    if state is None or not own:
        return None
    told = ""
    if own[0].blind and await is_settled(store, state, viewer.reviewer):
        one = await reviewable_of(store, state, whole=False)
        await view_of(store, one, viewer.person, blind=False)
        told = machine_said(one)
    return Done(state.review, own[0], told)


async def hides(store: Store, viewer: Viewer, state: ReviewState) -> bool:
    """Whether the viewer sees a review blind: in blind mode, or because its policy wants it."""
    if viewer.session.blind and not await is_settled(store, state, viewer.reviewer):
        return True
    return await must_be_blind(store, state, viewer.reviewer)


async def _row(store: Store, viewer: Viewer, state: ReviewState) -> Row:
    one = await reviewable_of(store, state, whole=False)
    blind = await hides(store, viewer, state)
    sheet = one.view(viewer.reviewer or "", blind=blind)
    first = plain(sheet.passages[0].text) if sheet.passages else sheet.heading
    about = first if sheet.kind != "case" else f"{state.review.item_id}: {first}"
    return Row(
        state=state,
        sheet=sheet,
        about=about if len(about) <= SHOWN else about[: SHOWN - 1] + "…",
        mine=any(claimed.reviewer == viewer.reviewer for claimed in state.claims),
    )
