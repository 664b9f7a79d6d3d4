"""The review queue: claim, decide, amend, comment, assign. The reviewer is the key's name unless the request names one.

What a review shows is its sheet: blind, or in full.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, Field

from metajudge.reviewables.deciding import (
    Carried,
    Recorded,
    amend,
    decide,
    decide_item,
    decide_several,
    must_be_blind,
    reviewable_of,
    view_of,
)
from metajudge.reviewables.judgments import JudgmentReviewable
from metajudge.reviewables.reviewable import Answer, record_of
from metajudge.reviews.queue import LEASE_S, ReviewFilter
from metajudge.reviews.review import Comment, ReviewState, ReviewStatus
from metajudge.reviews.seen import Onlooker
from metajudge.types import Judgment, parse_verdict

from ..deps import Action, Call, StoredCall
from ..keys import ANYBODY
from ..schemas import Strict
from .feedback import loop_of

router = APIRouter(prefix="/v1/reviews", tags=["reviews"])
Reviewer = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=200,
        examples=["ada"],
        description="The person; default: the name of the key. A service without keys has no default.",
    ),
]
Blind = Annotated[bool, Field(description="Show the blind sheet: no identity, and nothing the machine said.")]
Text = Annotated[str | None, Query(max_length=300)]
BlindQuery = Annotated[bool, Query(description="Only what a person may see who decides blind.")]


class ReviewPage(BaseModel):
    """A page of the queue in its order."""

    reviews: list[dict[str, Any]]
    next_cursor: str | None = None


class ClaimRequest(Strict):
    """The reviewer and the duration of the claim."""

    reviewer: Reviewer = None
    lease_s: float = Field(default=LEASE_S, ge=1, le=86_400)
    blind: Blind = False


class ReleaseRequest(Strict):
    """The reviewer who releases it."""

    reviewer: Reviewer = None


class _AnswerRequest(Strict):
    reviewer: Reviewer = None
    outcome: str | None = Field(default=None, examples=["approve"], max_length=50)
    verdict: Annotated[str, Field(max_length=1000)] | bool | float | None = Field(
        default=None,
        examples=["R2>R1"],
        description="A verdict of one's own, by the labels of the sheet or the responses' names: `R1` (the best), "
        "`R1=R2`, `R1>R2=R3`. Of the judge's kind for a grade or a category: `4`, `true`, `pass`.",
    )
    scores: dict[str, float] = Field(default={}, max_length=100)
    reason: str = Field(default="", max_length=10_000)
    blind: bool = False

    @property
    def answer(self) -> Answer:
        """The answer in the library's terms."""
        given = self.verdict if isinstance(self.verdict, str | None) else parse_verdict(self.verdict)
        scores = tuple(f"{name}={score}" for name, score in self.scores.items())
        return Answer(self.outcome, given, scores, self.reason, self.blind)


class DecisionRequest(_AnswerRequest):
    """A person's decision; a verdict without an outcome is their own and is compared with the machine's."""

    item: bool = Field(
        default=False,
        description="Record an own verdict on all reviews of the item that are about the same responses to the same "
        "question under the same instruction.",
    )


class AmendmentRequest(_AnswerRequest):
    """A decision that replaces the person's earlier one; the earlier one stays in the history."""

    reason: str = Field(min_length=1, max_length=10_000)


class BulkRequest(_AnswerRequest):
    """One answer to several reviews that the person has claimed."""

    reviews: list[Annotated[str, Field(max_length=200)]] = Field(min_length=1, max_length=500)


class CommentRequest(Strict):
    """A remark; it is kept and never changed."""

    reviewer: Reviewer = None
    text: str = Field(min_length=1, max_length=10_000)


class AssignmentRequest(Strict):
    """To whom a review is offered."""

    reviewer: Annotated[str, Field(min_length=1, max_length=200, examples=["ada"])]
    remove: bool = False


class ReviewCase(BaseModel):
    """A review as one person may see it."""

    state: dict[str, Any] = Field(description="Flat fields: the review, its claims, decisions, history and comments.")
    sheet: dict[str, Any] = Field(description="What there is to read, to answer and, unless blind, what was said.")
    judgment: Judgment | None = Field(
        default=None, description="Without the label. Null in a blind view, for a case, and if the texts were deleted."
    )
    also: dict[str, str] = Field(default={}, description="With `item`: other review -> the outcome recorded on it.")
    left_out: dict[str, str] = Field(default={}, description="With `item`: other review -> why nothing was recorded.")
    seen: str | None = Field(
        default=None,
        exclude_if=lambda given: given is None,
        description="Of a review that asks for blind decisions: why this one does not count as blind.",
    )


class SeveralDecided(BaseModel):
    """What came of one answer to several reviews."""

    recorded: list[dict[str, Any]]
    left_out: dict[str, str] = Field(description="Review -> why nothing was recorded on it.")


class ReviewProgress(BaseModel):
    """How far a reviewer has come."""

    done: int
    total: int = Field(description="Decided ones, and those the person can still decide.")
    median_s: float | None = Field(description="Median seconds from claim to decision, without bulk decisions.")
    timed: int = Field(description="Over how many decisions.")


@router.get("", summary="The queue")
async def reviews(
    call: StoredCall,
    status: ReviewStatus | None = None,
    judge: Text = None,
    category: Text = None,
    reviewer: Text = None,
    item: Text = None,
    assigned: Text = None,
    blind: BlindQuery = False,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> ReviewPage:
    """By priority, then smallest margin, then age. `reviewer`: reviews a person has claimed or decided."""
    wanted = ReviewFilter(status, judge, category, reviewer=reviewer, item_id=item, assigned=assigned)
    page = await call.store.reviews.page(wanted, now=time.time(), limit=limit, cursor=cursor)
    found = [
        record_of(one, None, blind=blind or await must_be_blind(call.store, one, reviewer)) for one in page.reviews
    ]
    return ReviewPage(reviews=found, next_cursor=page.next_cursor)


@router.get("/progress", summary="How far a reviewer has come")
async def progress(
    call: StoredCall, reviewer: Text = None, judge: Text = None, category: Text = None
) -> ReviewProgress:
    """Counts the reviews decided and those left, and gives the median time of a decision."""
    wanted = ReviewFilter(judge=judge, category=category)
    found = await call.store.reviews.progress(reviewer_of(call, reviewer), now=time.time(), wanted=wanted)
    return ReviewProgress(done=found.done, total=found.total, median_s=found.seconds, timed=found.timed)


@router.get("/{review_id}", summary="One review")
async def review(call: StoredCall, review_id: str, reviewer: Text = None, blind: BlindQuery = False) -> ReviewCase:
    """With its claims and decisions so far. `reviewer`: as this person may see it.

    A review whose policy wants blind decisions is shown blind until it is decided.
    """
    return await _case(call, await existing(call, review_id), reviewer, blind=blind)


@router.post("/decide", summary="Decide several reviews")
async def decide_many(call: StoredCall, body: BulkRequest) -> SeveralDecided:
    """One answer to reviews that the person has claimed; recorded as made in bulk.

    An own verdict is recorded only where the reviews are about the same responses to the same question.
    """
    done = await decide_several(call.store, body.reviews, Onlooker(reviewer_of(call, body.reviewer)), body.answer)
    await note_decisions(call, done.recorded)
    records = [record_of(one.state, one.decision.reviewer, blind=False) for one in done.recorded]
    return SeveralDecided(recorded=records, left_out=done.left_out)


@router.post("/{review_id}/claim", summary="Claim a review")
async def claim(call: StoredCall, review_id: str, body: ClaimRequest) -> ReviewCase:
    """For `lease_s` seconds; claiming it again extends the claim. 409 if it is claimed by others or decided."""
    person = reviewer_of(call, body.reviewer)
    state = await take(call, review_id, person, body.lease_s)
    return await _case(call, state, person, blind=body.blind)


@router.post("/{review_id}/release", summary="Release a review")
async def release(call: StoredCall, review_id: str, body: ReleaseRequest) -> ReviewCase:
    """Ends a claim before a decision. 409 if the reviewer has no claim."""
    person = reviewer_of(call, body.reviewer)
    return await _case(call, await give_back(call, review_id, person), person, blind=True)


@router.post("/{review_id}/decide", summary="Decide a review")
async def decide_review(call: StoredCall, review_id: str, body: DecisionRequest) -> ReviewCase:
    """Needs a claim of the reviewer. Repeating the same decision changes nothing."""
    person = Onlooker(reviewer_of(call, body.reviewer))
    done = await decided_by(call, review_id, person, body.answer, whole_item=body.item)
    found = await _case(call, done.recorded[0].state, person.reviewer, blind=False)
    also = {one.decision.review_id: one.decision.outcome.value for one in done.recorded[1:]}
    return found.model_copy(update={"also": also, "left_out": done.left_out, "seen": done.recorded[0].seen})


@router.post("/{review_id}/amend", summary="Replace a decision")
async def amend_review(call: StoredCall, review_id: str, body: AmendmentRequest) -> ReviewCase:
    """Replaces the reviewer's decision, with a reason; the earlier one stays in the history. 409 without a decision."""
    person = Onlooker(reviewer_of(call, body.reviewer))
    done = await amended_by(call, review_id, person, body.answer)
    return await _case(call, done.state, person.reviewer, blind=False)


@router.post("/{review_id}/comment", summary="Comment on a review")
async def comment(call: StoredCall, review_id: str, body: CommentRequest) -> ReviewCase:
    """Adds a remark; it is kept and never changed."""
    person = reviewer_of(call, body.reviewer)
    return await _case(call, await remark(call, review_id, person, body.text), person, blind=True)


@router.post("/{review_id}/assign", summary="Assign a review")
async def assign(call: StoredCall, review_id: str, body: AssignmentRequest) -> ReviewCase:
    """Offers the review to those alone to whom it is assigned; `remove` takes it back."""
    state = await offer(call, review_id, body.reviewer, by=call.caller.name, remove=body.remove)
    return await _case(call, state, None, blind=True)


def reviewer_of(call: Call, named: str | None) -> str:
    """The reviewer's name.

    Raises:
        HTTPException: 422, no name is given and the service has no keys.
    """
    if named is not None:
        return named
    if call.caller == ANYBODY:
        raise HTTPException(422, "reviewer: give the reviewer's name; this service has no keys to take it from")
    return call.caller.name


async def take(call: Call, review_id: str, person: str, lease_s: float = LEASE_S) -> ReviewState:
    """Claims a review, or extends the claim.

    Raises:
        HTTPException: 404; 409, it is decided, or claimed by another person.
    """
    await existing(call, review_id)
    state = await call.store.reviews.claim(person, now=time.time(), lease_s=lease_s, review_id=review_id)
    if state is None:
        raise HTTPException(
            409, f"review {review_id} cannot be claimed: it is decided, or another person has claimed it"
        )
    await call.note(Action.REVIEW_CLAIM, review_id, reviewer=person, lease_s=lease_s)
    return state


async def give_back(call: Call, review_id: str, person: str) -> ReviewState:
    """Ends a claim before a decision. Raises ReviewError: the person has no claim."""
    await existing(call, review_id)
    await call.store.reviews.release(review_id, person, now=time.time())
    await call.note(Action.REVIEW_RELEASE, review_id, reviewer=person)
    return await existing(call, review_id)


async def decided_by(call: Call, review_id: str, person: Onlooker, answer: Answer, *, whole_item: bool) -> Carried:
    """Records a decision.

    Args:
        whole_item: record an own verdict on all reviews of the item that it says the same of.
    """
    await existing(call, review_id)
    if whole_item:
        done = await decide_item(call.store, review_id, person, answer)
    else:
        done = Carried((await decide(call.store, review_id, person, answer),), {})
    await note_decisions(call, done.recorded)
    return done


async def amended_by(call: Call, review_id: str, person: Onlooker, answer: Answer) -> Recorded:
    """Replaces a decision; the earlier one stays in the history."""
    await existing(call, review_id)
    done = await amend(call.store, review_id, person, answer)
    await note_decisions(call, [done])
    return done


async def remark(call: Call, review_id: str, person: str, text: str) -> ReviewState:
    """Adds a comment. Raises ValidationError: it is empty."""
    await existing(call, review_id)
    state = await call.store.reviews.comment(Comment(review_id=review_id, author=person, at=time.time(), text=text))
    await call.note(Action.REVIEW_COMMENT, review_id, reviewer=person)
    return state


async def offer(call: Call, review_id: str, reviewer: str, *, by: str, remove: bool) -> ReviewState:
    """Offers a review to one person more, or takes it back."""
    await existing(call, review_id)
    if await call.store.reviews.assign([review_id], reviewer, by=by, now=time.time(), on=not remove):
        await call.note(Action.REVIEW_ASSIGN, review_id, reviewer=reviewer, removed=remove)
    return await existing(call, review_id)


async def note_decisions(call: Call, recorded: Sequence[Recorded]) -> None:
    """Notes new decisions in the change log.

    Schedules the feedback loop's check for due proposals, and the promises'; the decisions are kept either way.
    """
    for one in recorded:
        made = one.decision
        if one.new:
            action = Action.REVIEW_DECIDE if made.amends is None else Action.REVIEW_AMEND
            await call.note(action, made.review_id, reviewer=made.reviewer, outcome=made.outcome.value)
    running, loop = call.running, loop_of(call)
    for policy in {one.state.review.policy.name for one in recorded if one.state.review.policy is not None}:
        running.promises.check_later()
        running.computing.later(partial(loop.look_if_due, [policy]), f"proposals for policy {policy}")


async def _case(call: Call, state: ReviewState, reviewer: str | None, *, blind: bool) -> ReviewCase:
    one = await reviewable_of(call.store, state, whole=not blind)
    sheet = await view_of(call.store, one, Onlooker(reviewer), blind=blind)
    judgment = one.judgment if isinstance(one, JudgmentReviewable) and not sheet.blind else None
    data = asdict(sheet)
    return ReviewCase(state=data.pop("record"), sheet=data, judgment=judgment)


async def existing(call: Call, review_id: str) -> ReviewState:
    """The review.

    Raises:
        HTTPException: 404.
    """
    state = await call.store.reviews.get(review_id, now=time.time())
    if state is None:
        raise HTTPException(404, f"there is no review {review_id!r}: it may belong to another store")
    return state
