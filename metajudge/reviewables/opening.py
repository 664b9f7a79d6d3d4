"""From a review to its reviewable: what the store has of it."""

import time
from collections.abc import Sequence

from metajudge.clashes.reviews import is_clash
from metajudge.errors import ReviewError
from metajudge.reviewables.cases import CaseReviewable
from metajudge.reviewables.clashes import ClashReviewable
from metajudge.reviewables.judgments import JudgmentReviewable
from metajudge.reviewables.reviewable import Reviewable
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import ReviewState
from metajudge.store.protocol import Store
from metajudge.store.redaction import without_label
from metajudge.types import Assessment

ITEM_REVIEWS = 200
"""Reviews of one item that are looked at together."""


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
