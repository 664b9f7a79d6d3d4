"""From a review to its reviewable: what the store has of it."""

import time
from collections.abc import Sequence

from metajudge.clashes.reviews import is_clash
from metajudge.errors import ReviewError
from metajudge.reviewables.cases import CaseReviewable
from metajudge.reviewables.clashes import ClashReviewable
from metajudge.reviewables.judgments import JudgmentReviewable
from metajudge.reviewables.parts import may_see_people
from metajudge.reviewables.reviewable import Reviewable
from metajudge.reviewables.sheet import Sheet
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import Review, ReviewState, ReviewStatus
from metajudge.reviews.seen import Onlooker, has_seen, remember_seen
from metajudge.store.protocol import Store
from metajudge.store.redaction import without_label
from metajudge.store.undecided import undecided_by
from metajudge.types import Assessment

ITEM_REVIEWS = 200
"""Reviews of one item that are looked at together."""


async def view_of(store: Store, one: Reviewable, person: Onlooker, *, blind: bool) -> Sheet:
    """The sheet a person may see; a full one is recorded as seen, so that no later decision counts as blind.

    Args:
        blind: whether a blind one is wanted. Where the policy wants decisions blind, every sheet is blind until the
            person has decided.
    """
    # Somebody with a session and no name yet may still be one who decides.
    name = "" if person.reviewer is None and person.session is not None else person.reviewer
    if blind or await must_be_blind(store, one.state, person.reviewer):
        return one.blind_view(name)
    if name is not None:
        await remember_seen(store.audit_log, [subject_of(one.state.review)], person, now=time.time())
    return one.full_view(name)


async def must_be_blind(store: Store, state: ReviewState, reviewer: str | None) -> bool:
    """Whether the policy hides the machine's result from a person: until they have decided, or all who were to have."""
    return state.review.blind and not await is_settled(store, state, reviewer)


async def is_settled(store: Store, state: ReviewState, reviewer: str | None) -> bool:
    """Whether a person can no longer decide anything on the subject of a review.

    Another policy may have sent the same judgment to review once more.
    """
    decided = state.status is ReviewStatus.DECIDED
    if not decided and (reviewer is None or not may_see_people(state, reviewer)):
        return False
    if state.review.subject != "judgment":
        return True
    undecided = await store.ask(lambda connection: undecided_by(connection, reviewer))
    return state.review.subject_id not in undecided.subjects


async def decides_blind(store: Store, review: Review, person: Onlooker) -> bool:
    """Whether a person has not been shown the machine's result on a review's subject."""
    return not await has_seen(store.audit_log, subject_of(review), person)


def subject_of(review: Review) -> str:
    """The subject of a review in the record of what was seen; the same for every review of a judgment."""
    return review.subject_id if review.subject == "judgment" else review.subject_digest


async def reviewable_of(store: Store, state: ReviewState, *, whole: bool = True) -> Reviewable:
    """The reviewable of a review.

    Args:
        whole: with what meta-judges said of a judgment, for a full view; False for a list, or a blind view.
    """
    review = state.review
    if is_clash(review):
        return ClashReviewable(state)
    if review.subject == "case":
        return CaseReviewable(state)
    judgment = await store.find_judgment(review.subject_digest)
    if judgment is None:
        return JudgmentReviewable(state, None)
    return JudgmentReviewable(state, without_label(judgment), await _assessment(store, state) if whole else None)


async def existing_state(store: Store, review_id: str) -> ReviewState:
    """The state of a review.

    Raises:
        ReviewError: there is none (reason ``unknown``).
    """
    state = await store.reviews.get(review_id, now=time.time())
    if state is None:
        raise ReviewError(f"there is no review {review_id!r}: `metajudge review list` shows those there are", "unknown")
    return state


async def item_states(store: Store, item_id: str) -> Sequence[ReviewState]:
    """All reviews of an item, in the order of the queue; at most :data:`ITEM_REVIEWS`."""
    page = await store.reviews.page(ReviewFilter(item_id=item_id), now=time.time(), limit=ITEM_REVIEWS)
    return page.reviews


async def _assessment(store: Store, state: ReviewState) -> Assessment | None:
    """The newest assessment decided by the review's policy, else the newest."""
    review = state.review
    shown = await store.show(review.subject_id) or {}
    found = [
        Assessment.model_validate(row["payload"])
        for name in ("history", "assessments")
        for row in shown.get(name, ())
        if row["judgment_digest"] == review.subject_digest
    ]
    policy = review.policy
    decided = [
        one
        for one in found
        if one.decision is not None and policy is not None and one.decision.policy_digest == policy.digest
    ]
    return next(reversed(decided or found), None)
