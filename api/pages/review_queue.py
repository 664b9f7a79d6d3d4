"""The review queue: open reviews, the reasons, and who has claimed them."""

import time
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from metajudge.clashes.reviews import clash_of, is_clash
from metajudge.reviews import HumanDecision, Review, ReviewState, ReviewStatus
from metajudge.reviews.queue import LEASE_S, ReviewFilter
from metajudge.store.protocol import Store

from ..audit import Action, Changes
from ..deps import StoreDep
from ..routes.reviews import existing
from .access import ChangesDep, Viewer, ViewerDep, show_machine
from .case_view import may_see_decisions
from .login import go_to
from .page_route import PageRoute
from .rendering import page
from .wording import why_here, why_here_blind

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
    mine: bool = False

    def filter(self, viewer: Viewer) -> ReviewFilter:
        """The filter for the queue; blind mode ignores the judge."""
        return ReviewFilter(
            status=None if self.status == "all" else ReviewStatus(self.status),
            judge=None if viewer.session.blind else self.judge.strip() or None,
            category=self.category.strip() or None,
            reviewer=viewer.reviewer if self.mine else None,
        )

    @property
    def query(self) -> str:
        """The query string with its question mark; empty without filters."""
        given = {
            name: value for name, value in self.model_dump(exclude_defaults=True).items() if value not in ("", False)
        }
        return "?" + urlencode(given) if given else ""


WishDep = Annotated[Wish, Query()]


class Row(BaseModel):
    """One line of the queue."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    state: ReviewState
    about: str
    why: str
    reveal: bool
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
    counts = await store.reviews.counts(now=now)
    rows = [await _row(store, viewer, state) for state in found.reviews]
    return page(
        request,
        "review_queue.html",
        viewer,
        part="queue",
        rows=rows,
        counts=counts,
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


async def to_next(store: Store, viewer: Viewer, changes: Changes, wish: Wish, done: str | None = None) -> Response:
    """Claims the next review and redirects to it, or to the queue if nothing waits."""
    state = await store.reviews.claim(named(viewer), now=time.time(), wanted=wish.filter(viewer))
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


@dataclass(frozen=True, slots=True)
class Done:
    """The decision a person has just made; ``show_verdict``: whether to show the judge's verdict with it."""

    review: Review
    decision: HumanDecision
    show_verdict: bool


async def decided_just_now(store: Store, viewer: Viewer, review_id: str | None) -> Done | None:
    """The decision a person has just made; None for a review they have not decided."""
    state = None if review_id is None else await store.reviews.get(review_id, now=time.time())
    own = [] if state is None else [one for one in state.decisions if one.reviewer == viewer.reviewer]
    if state is None or not own:
        return None
    show_verdict = own[0].blind and await is_settled(store, viewer, state)
    if show_verdict:
        await show_machine(store, viewer, [subject_of(state.review)])
    return Done(state.review, own[0], show_verdict)


def subject_of(review: Review) -> str:
    """The subject of a review in the record of what was seen; the same for every review of a judgment."""
    return review.subject_id if review.subject == "judgment" else review.subject_digest


async def is_settled(store: Store, viewer: Viewer, state: ReviewState) -> bool:
    """Whether the person has decided every review of the subject, so that blind mode no longer hides it.

    Another policy may have sent the same judgment to review once more.
    """
    if not may_see_decisions(state, viewer.reviewer):
        return False
    return (
        state.review.subject != "judgment"
        or state.review.subject_id not in (await viewer.sight.undecided(store)).subjects
    )


async def _row(store: Store, viewer: Viewer, state: ReviewState) -> Row:
    review = state.review
    reveal = not viewer.session.blind or await is_settled(store, viewer, state)
    judgment = None if review.subject == "case" else await store.find_judgment(review.subject_digest)
    record = clash_of(review) if is_clash(review) else None
    named = (
        review.subject_id if reveal or review.subject == "case" else review.review_id
    )  # a judgment's id may contain its judge's name
    about = named if judgment is None else judgment.item.question
    about = about if record is None else record.question
    return Row(
        state=state,
        about=about if len(about) <= SHOWN else about[: SHOWN - 1] + "…",
        why=why_here(review) if reveal else why_here_blind(review),
        reveal=reveal,
        mine=any(one.reviewer == viewer.reviewer for one in state.claims),
    )
