"""Human review: a queue of doubtful verdicts, claims with a lease, decisions, and how far reviewers agree."""

from metajudge.reviews.review import (
    Claim,
    Comment,
    HumanDecision,
    Outcome,
    PolicyUsed,
    Review,
    ReviewOrigin,
    ReviewState,
    ReviewStatus,
)

__all__ = [
    "Claim",
    "Comment",
    "HumanDecision",
    "Outcome",
    "PolicyUsed",
    "Review",
    "ReviewOrigin",
    "ReviewState",
    "ReviewStatus",
]
