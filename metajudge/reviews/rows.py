"""Reviews as rows of a queue, many at once: what they share is written once, and each has its own values in the gaps.

The text is that of a real :class:`~metajudge.reviews.review.Review` with marks in the gaps, so that every other byte is
as pydantic writes it.
"""

from typing import Final, NamedTuple

from pydantic_core import to_json

from metajudge.reviews.opening import Reviewed
from metajudge.reviews.review import Review

_TEXT: Final = "5b8d1f0e93c24a7796d07e4f2ac6b318"
_TEXTS: Final = tuple(f"{_TEXT}-{name}" for name in ("review", "id", "digest", "item", "judge", "question"))
_MARGIN, _PROBABILITY, _OPENED = 0.707106781187, 0.301029995664, 0.434294481903
_VERDICT: Final = '"verdict":null,"truth":null'
"""Texts and numbers that no input has, as marks; and what stands for a verdict."""


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


OPEN: Final = Reviewed(
    id=_TEXTS[1],
    digest=_TEXTS[2],
    item_id=_TEXTS[3],
    judge=_TEXTS[4],
    category=None,
    verdict=None,
    scale=None,
    correct=None,
    question=_TEXTS[5],
)
"""A judgment of which a review says nothing yet; the category is to be filled in."""


class Own(NamedTuple):
    """What belongs to a judgment alone: id, digest of the record, item, judge, and digest of the item's content.

    Digests are hex digits.
    """

    judgment: str
    digest: str
    item: str
    judge: str
    question: str


class ReviewForm:
    """Rows of reviews that differ in nothing but judgment, verdict, probability, margin and time.

    Args:
        sample: of :data:`OPEN`.
    """

    def __init__(self, sample: Review) -> None:
        numbers = {"margin": _MARGIN, "probability": _PROBABILITY, "opened_at": _OPENED}
        self._sample = sample.model_copy(update={"review_id": _TEXTS[0], **numbers})
        self._policy_digest = None if sample.policy is None else sample.policy.digest
        text = self._sample.model_dump_json().replace("%", "%%")
        marks = (*(f'"{mark}"' for mark in _TEXTS[:5]), *map(repr, numbers.values()), _VERDICT, f'"{_TEXTS[5]}"')
        for mark in marks:
            assert text.count(mark) == 1, f"a review's JSON has {mark} {text.count(mark)} times"
            text = text.replace(mark, "%s")
        self._text = text

    def verdict(self, of: Reviewed) -> str:
        """What a review says of a judgment's verdict, as JSON; see :meth:`row`."""
        said = {"verdict": of.verdict, "answer_scale": of.scale, "truth": of.correct}
        return self._sample.model_copy(update=said).model_dump_json(include=set(said))[1:-1]

    def row(self, own: Own, verdict: str, *, now: float, probability: float | None, margin: float | None) -> ReviewRow:
        """The row of a judgment's review.

        Args:
            verdict: as :meth:`verdict` gives it, the same for all judgments with this verdict, scale and truth.
            now: seconds since the epoch.
        """
        sample = self._sample
        judgment, digest, item, judge, question = own
        review_id = Review.id_for(digest, sample.policy)
        texts = [to_json(one).decode() for one in (judgment, item, judge, margin, probability, now)]
        about, whose, by, *numbers = texts
        gaps = (f'"{review_id}"', about, f'"{digest}"', whose, by, *numbers, verdict, f'"{question}"')
        return ReviewRow(
            *(review_id, judgment, item, judge, sample.category, self._policy_digest, sample.priority, margin, now),
            *(sample.reviewers, self._text % gaps),
        )
