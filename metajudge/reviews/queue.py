"""What is asked of the queue of reviews, and what it answers."""

from dataclasses import dataclass

from metajudge.reviews.review import ReviewState, ReviewStatus

LEASE_S = 900.0
"""Default duration of a claim."""

LONGEST_LEASE_S = 30 * 86_400.0
"""Maximum duration of a claim: a forgotten review returns to the queue."""


@dataclass(frozen=True, slots=True)
class ReviewFilter:
    """Which reviews; None for all of a kind."""

    status: ReviewStatus | None = None
    judge: str | None = None
    category: str | None = None
    policy_digest: str | None = None
    reviewer: str | None = None
    """Reviews this person has claimed or decided."""
    item_id: str | None = None
    assigned: str | None = None
    """Reviews assigned to this person."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the queue, in its order, and the cursor that continues it (None at the end)."""

    reviews: tuple[ReviewState, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one person has come.

    Attributes:
        done: reviews they decided.
        total: these and those they can still decide.
        seconds: median time from claim to decision; None where none is known. ``timed``: over how many decisions;
            those made in bulk are left out.
    """

    done: int
    total: int
    seconds: float | None
    timed: int

    def __str__(self) -> str:
        pace = "" if self.seconds is None else f", median {self.seconds:.0f} s a decision (n {self.timed})"
        return f"{self.done} of {self.total}{pace}"
