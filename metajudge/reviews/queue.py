"""The queue's contract, and the rules that need no store."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from metajudge.reviews.review import Comment, HumanDecision, Review, ReviewRow, ReviewState, ReviewStatus

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


class ReviewQueue(Protocol):
    """Reviews in a store: append-only, every change atomic among all who use the store.

    The order is priority, then smallest margin (absent ones last), then age. ``now`` is seconds since the epoch and is
    given by the caller.
    """

    async def open(self, reviews: Sequence[Review]) -> int:
        """Adds reviews; one that is there already stays as it is. Returns how many are new."""

    async def open_rows(self, rows: Sequence[ReviewRow]) -> int:
        """The same of reviews as rows; of several with one id the last one counts."""

    async def claim(
        self,
        reviewer: str,
        *,
        now: float,
        lease_s: float = LEASE_S,
        review_id: str | None = None,
        wanted: ReviewFilter | None = None,
    ) -> ReviewState | None:
        """Takes the next review this person can decide, or a given one; None if there is none left.

        What the person has in hand already comes first, with a new lease. A review that several people are to decide
        can be in as many hands.

        Raises:
            InputError: a lease that does not last or lasts longer than :data:`LONGEST_LEASE_S`, or a blank name.
            ReviewError: the given review is unknown, decided, or claimed by another person.
        """

    async def release(self, review_id: str, reviewer: str, *, now: float) -> None:
        """Gives a claimed review back.

        Raises:
            ReviewError: the person does not have it.
        """

    async def decide(self, decision: HumanDecision, *, now: float) -> ReviewState:
        """Records a decision by the person who claimed the review; repeating it changes nothing.

        Raises:
            ReviewError: the review is unknown, was decided, is not in this person's hands, or the lease has expired.
        """

    async def amend(self, decision: HumanDecision, *, now: float) -> ReviewState:
        """Replaces the person's newest decision by another one, which keeps it in the history; needs no claim.

        The same decision again changes nothing.

        Raises:
            InputError: there is no reason.
            ReviewError: the review is unknown, the person has not decided it, or has amended it since the decision
                that ``decision.amends`` names.
        """

    async def comment(self, comment: Comment) -> ReviewState:
        """Adds a remark.

        Raises:
            ReviewError: the review is unknown.
        """

    async def assign(self, review_ids: Sequence[str], reviewer: str, *, by: str, now: float, on: bool = True) -> int:
        """Gives reviews to a person, or takes them back (``on`` False); returns how many that changed.

        A review that is assigned is offered to those alone to whom it is.

        Raises:
            ReviewError: a review is unknown; nothing is changed.
        """

    async def progress(self, reviewer: str, *, now: float, wanted: ReviewFilter | None = None) -> Progress: ...

    async def import_decisions(self, decisions: Sequence[HumanDecision]) -> int:
        """Adds decisions made elsewhere, all or none, without claims; those already there are skipped.

        Raises:
            ReviewError: a review is unknown, was decided, or by the same person differently; nothing is added.
        """

    async def get(self, review_id: str, *, now: float) -> ReviewState | None: ...

    async def page(self, wanted: ReviewFilter, *, now: float, limit: int = 50, cursor: str | None = None) -> Page: ...

    async def counts(self, *, now: float) -> dict[ReviewStatus, int]: ...


async def every_review(
    queue: ReviewQueue, wanted: ReviewFilter | None = None, *, now: float
) -> AsyncIterator[ReviewState]:
    """All reviews that match, in the order of the queue, read a page at a time."""
    cursor = None
    while True:
        page = await queue.page(wanted or ReviewFilter(), now=now, limit=1000, cursor=cursor)
        for state in page.reviews:
            yield state
        cursor = page.next_cursor
        if cursor is None:
            return
