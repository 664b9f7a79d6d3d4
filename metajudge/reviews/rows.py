"""Reviews as rows of a queue."""

from typing import NamedTuple

from metajudge.reviews.review import Review


class ReviewRow(NamedTuple):
    """A review as a queue keeps it; ``payload`` is its JSON."""

    review_id: str
    subject_id: str
    item_id: str
    judge: str | None
    category: str | None
    policy_digest: str | None
    priority: int
    margin: float | None
    opened_at: float
    reviewers: int
    payload: str


def row_of(review: Review) -> ReviewRow:
    """A review's row."""
    return ReviewRow(
        *(review.review_id, review.subject_id, review.item_id, review.judge, review.category),
        *(None if review.policy is None else review.policy.digest, review.priority, review.margin),
        *(review.opened_at, review.reviewers, review.model_dump_json()),
    )
