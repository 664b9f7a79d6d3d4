"""The review queue: claim, decide, release. The reviewer is the key's name unless the request gives another."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, ConfigDict, Field

from metajudge.feedback.loop import FeedbackLoop
from metajudge.reviews import ReviewStatus
from metajudge.reviews.deciding import decision_from
from metajudge.reviews.queue import LEASE_S, ReviewFilter
from metajudge.reviews.review import ReviewState
from metajudge.reviews.seen import Onlooker, has_seen
from metajudge.store.protocol import Store
from metajudge.store.redaction import without_label
from metajudge.types import Judgment, parse_verdict

from ..audit import Action
from ..deps import CallerDep, ChangesDep, ServiceDep, StoreDep
from ..keys import ANYBODY, Caller
from ..service import Service

router = APIRouter(prefix="/v1/reviews", tags=["reviews"])
HIDDEN: Any = {"review": {"truth"}}
Reviewer = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=200,
        examples=["ada"],
        description="The person; default: the name of the key. A service without keys has no default.",
    ),
]
Text = Annotated[str | None, Query(max_length=300)]


class ReviewPage(BaseModel):
    """A page of the queue in its order."""

    reviews: list[dict[str, Any]]
    next_cursor: str | None = None


class ClaimRequest(BaseModel):
    """The reviewer and the duration of the claim."""

    model_config = ConfigDict(extra="forbid")

    reviewer: Reviewer = None
    lease_s: float = Field(default=LEASE_S, ge=1, le=86_400)


class ReleaseRequest(BaseModel):
    """The reviewer who releases it."""

    model_config = ConfigDict(extra="forbid")

    reviewer: Reviewer = None


class DecisionRequest(BaseModel):
    """A person's decision; a verdict without an outcome is blind and is compared with the judge's."""

    model_config = ConfigDict(extra="forbid")

    reviewer: Reviewer = None
    outcome: str | None = Field(default=None, examples=["approve"], max_length=50)
    verdict: Annotated[str, Field(max_length=1000)] | bool | float | None = Field(
        default=None,
        examples=["B>A"],
        description="`A>B` for a comparison; of the judge's kind for a grade or a category: `4`, `true`, `pass`.",
    )
    scores: dict[str, float] = Field(default={}, max_length=100)
    reason: str = Field(default="", max_length=10_000)
    blind: bool = False


class ReviewCase(BaseModel):
    """A review and its judgment."""

    state: dict[str, Any]
    judgment: Judgment | None = Field(
        default=None,
        description="Without the label. Null for a case, and if the texts were deleted.",
    )


@router.get("", summary="The queue")
async def reviews(
    store: StoreDep,
    status: ReviewStatus | None = None,
    judge: Text = None,
    category: Text = None,
    reviewer: Text = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> ReviewPage:
    """By priority, then smallest margin, then age. `reviewer`: reviews a person has claimed or decided."""
    wanted = ReviewFilter(status, judge, category, reviewer=reviewer)
    page = await store.reviews.page(wanted, now=time.time(), limit=limit, cursor=cursor)
    return ReviewPage(reviews=[shown(one) for one in page.reviews], next_cursor=page.next_cursor)


@router.get("/{review_id}", summary="One review with its judgment")
async def review(store: StoreDep, review_id: str) -> ReviewCase:
    """With its claims and decisions so far."""
    return await _case(store, await existing(store, review_id))


@router.post("/{review_id}/claim", summary="Claim a review")
async def claim(
    store: StoreDep, caller: CallerDep, changes: ChangesDep, review_id: str, body: ClaimRequest
) -> ReviewCase:
    """For `lease_s` seconds; claiming it again extends the claim. 409 if it is claimed by others or decided."""
    person = reviewer_of(caller, body.reviewer)
    await existing(store, review_id)
    state = await store.reviews.claim(person, now=time.time(), lease_s=body.lease_s, review_id=review_id)
    if state is None:
        raise HTTPException(
            409, f"review {review_id} cannot be claimed: it is decided, or another person has claimed it"
        )
    await changes.note(Action.REVIEW_CLAIM, review_id, reviewer=person, lease_s=body.lease_s)
    return await _case(store, state)


@router.post("/{review_id}/release", summary="Release a review")
async def release(
    store: StoreDep, caller: CallerDep, changes: ChangesDep, review_id: str, body: ReleaseRequest
) -> ReviewCase:
    """Ends a claim before a decision. 409 if the reviewer has no claim."""
    person = reviewer_of(caller, body.reviewer)
    await existing(store, review_id)
    await store.reviews.release(review_id, person, now=time.time())
    await changes.note(Action.REVIEW_RELEASE, review_id, reviewer=person)
    return await _case(store, await existing(store, review_id))


@router.post("/{review_id}/decide", summary="Decide a review")
async def decide(
    running: ServiceDep,
    store: StoreDep,
    caller: CallerDep,
    changes: ChangesDep,
    review_id: str,
    body: DecisionRequest,
) -> ReviewCase:
    """Needs a claim of the reviewer. Repeating the same decision changes nothing."""
    person = reviewer_of(caller, body.reviewer)
    state = await existing(store, review_id)
    judgment = await judgment_of(store, state)
    made = decision_from(
        state.review,
        judgment,
        person,
        body.outcome,
        body.verdict if isinstance(body.verdict, str | None) else parse_verdict(body.verdict),
        [f"{name}={score}" for name, score in body.scores.items()],
        reason=body.reason,
        decided_at=time.time(),
        blind=body.blind,
    )
    if made.blind:  # a person who has seen machine results on a page does not decide blind
        subject = state.review.subject_id if judgment is not None else state.review.subject_digest
        seen = await has_seen(store.audit_log, subject, Onlooker(person))
        made = made.model_copy(update={"blind": not seen})
    decided = await store.reviews.decide(made, now=time.time())
    if len(decided.decisions) > len(state.decisions):
        await changes.note(Action.REVIEW_DECIDE, review_id, reviewer=person, outcome=made.outcome.value)
    if decided.review.policy is not None:
        look_for_patterns(running, store, decided.review.policy.name)
    return ReviewCase(state=shown(decided), judgment=judgment)


def reviewer_of(caller: Caller, named: str | None) -> str:
    """The reviewer's name.

    Raises:
        HTTPException: 422, no name is given and the service has no keys.
    """
    if named is not None:
        return named
    if caller == ANYBODY:
        raise HTTPException(422, "reviewer: give the reviewer's name; this service has no keys to take it from")
    return caller.name


def look_for_patterns(running: Service, store: Store, policy: str) -> None:
    """Schedules the feedback loop's check for due proposals, and the promises'; the decision is kept either way."""
    running.promises.check_later()
    loop = FeedbackLoop(store, clock=time.time)
    running.computing.later(lambda: loop.look_if_due([policy]), f"proposals for policy {policy}")


def shown(state: ReviewState) -> dict[str, Any]:
    """A review without the label, as reviewers see it."""
    return state.model_dump(mode="json", exclude=HIDDEN)


async def _case(store: Store, state: ReviewState) -> ReviewCase:
    return ReviewCase(state=shown(state), judgment=await judgment_of(store, state))


async def existing(store: Store, review_id: str) -> ReviewState:
    """The review.

    Raises:
        HTTPException: 404.
    """
    state = await store.reviews.get(review_id, now=time.time())
    if state is None:
        raise HTTPException(404, f"there is no review {review_id!r}: it may belong to another store")
    return state


async def judgment_of(store: Store, state: ReviewState) -> Judgment | None:
    """The judgment of a review, without its label."""
    if state.review.subject != "judgment":
        return None
    found = await store.find_judgment(state.review.subject_digest)
    return None if found is None else without_label(found)
