"""The review queue: claim, decide, give back. Who decides is who the key belongs to, unless it says for whom."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query
from pydantic import BaseModel, ConfigDict, Field

from metajudge.feedback.loop import FeedbackLoop
from metajudge.reviews import ReviewStatus
from metajudge.reviews.deciding import decision_from
from metajudge.reviews.queue import LEASE_S, ReviewFilter
from metajudge.reviews.review import ReviewState
from metajudge.store.protocol import Store
from metajudge.types import Judgment

from ..deps import StoreDep, needs
from ..errors import RESPONSES
from ..keys import Scope

router = APIRouter(
    prefix="/v1/reviews", tags=["reviews"], dependencies=[Depends(needs(Scope.REVIEW))], responses=RESPONSES
)
HIDDEN: Any = {"review": {"truth"}}
Reviewer = Annotated[str, Field(min_length=1, max_length=200, examples=["ada"])]


class ReviewPage(BaseModel):
    """A page of the queue in its order."""

    reviews: list[dict[str, Any]]
    next_cursor: str | None = None


class ClaimRequest(BaseModel):
    """Who takes it, and for how long."""

    model_config = ConfigDict(extra="forbid")

    reviewer: Reviewer
    lease_s: float = Field(default=LEASE_S, ge=1, le=86_400)


class ReleaseRequest(BaseModel):
    """Who gives it back."""

    model_config = ConfigDict(extra="forbid")

    reviewer: Reviewer


class DecisionRequest(BaseModel):
    """What a person decided; a verdict without an outcome is a blind one and is compared."""

    model_config = ConfigDict(extra="forbid")

    reviewer: Reviewer
    outcome: str | None = Field(default=None, examples=["approve"], max_length=50)
    verdict: str | None = Field(default=None, examples=["B>A"], max_length=1000)
    scores: dict[str, float] = Field(default={}, max_length=100)
    reason: str = Field(default="", max_length=10_000)
    blind: bool = False


class ReviewCase(BaseModel):
    """A review with what it is about."""

    state: dict[str, Any]
    judgment: Judgment | None = None
    """None for a case, and where the texts were forgotten."""


@router.get("", summary="The queue")
async def reviews(
    store: StoreDep,
    status: ReviewStatus | None = None,
    judge: str | None = None,
    category: str | None = None,
    reviewer: str | None = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> ReviewPage:
    wanted = ReviewFilter(status, judge, category, reviewer=reviewer)
    page = await store.reviews.page(wanted, now=time.time(), limit=limit, cursor=cursor)
    return ReviewPage(reviews=[shown(one) for one in page.reviews], next_cursor=page.next_cursor)


@router.get("/{review_id}", summary="One review with its judgment")
async def review(store: StoreDep, review_id: str) -> ReviewCase:
    state = await existing(store, review_id)
    return ReviewCase(state=shown(state), judgment=await judgment_of(store, state))


@router.post("/{review_id}/claim", summary="Take a review")
async def claim(store: StoreDep, review_id: str, body: ClaimRequest) -> ReviewCase:
    await existing(store, review_id)
    state = await store.reviews.claim(body.reviewer, now=time.time(), lease_s=body.lease_s, review_id=review_id)
    if state is None:
        raise HTTPException(409, f"review {review_id} is not to be had")
    return ReviewCase(state=shown(state), judgment=await judgment_of(store, state))


@router.post("/{review_id}/release", summary="Give a review back")
async def release(store: StoreDep, review_id: str, body: ReleaseRequest) -> ReviewCase:
    await existing(store, review_id)
    await store.reviews.release(review_id, body.reviewer, now=time.time())
    return ReviewCase(state=shown(await existing(store, review_id)))


@router.post("/{review_id}/decide", summary="Decide a review")
async def decide(store: StoreDep, review_id: str, body: DecisionRequest) -> ReviewCase:
    """By somebody who has claimed it. The same decision again changes nothing."""
    state = await existing(store, review_id)
    judgment = await judgment_of(store, state)
    made = decision_from(
        state.review,
        judgment,
        body.reviewer,
        body.outcome,
        body.verdict,
        [f"{name}={score}" for name, score in body.scores.items()],
        reason=body.reason,
        decided_at=time.time(),
        blind=body.blind,
    )
    decided = await store.reviews.decide(made, now=time.time())
    if decided.review.policy is not None:
        await FeedbackLoop(store, clock=time.time).look_if_due([decided.review.policy.name])
    return ReviewCase(state=shown(decided), judgment=judgment)


def shown(state: ReviewState) -> dict[str, Any]:
    """A review as reviewers may see it: without the label."""
    return state.model_dump(mode="json", exclude=HIDDEN)


async def existing(store: Store, review_id: str) -> ReviewState:
    """The review.

    Raises:
        HTTPException: 404.
    """
    state = await store.reviews.get(review_id, now=time.time())
    if state is None:
        raise HTTPException(404, f"there is no review {review_id!r}")
    return state


async def judgment_of(store: Store, state: ReviewState) -> Judgment | None:
    """The judgment a review is about."""
    if state.review.subject != "judgment":
        return None
    return await store.find_judgment(state.review.subject_digest)
