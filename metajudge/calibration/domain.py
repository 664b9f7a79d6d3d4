"""What is to be known about one probability, and which judgments no guarantee covers."""

from collections.abc import Iterable, Mapping
from enum import StrEnum


class Mark(StrEnum):
    """What is to be known about one probability."""

    SEEN = "seen_in_fit"
    """The judgment was fitted on; this is its stored out-of-fold probability."""
    SEEN_QUESTION = "question_seen_in_fit"
    """Another judgment of the question was fitted on: the probability may be too good."""
    UNKNOWN_CATEGORY = "unknown_category"
    """No judgment of this category was fitted on; a coarser model answers."""
    OTHER_JUDGE = "other_judge"
    """No judgment of this judge was fitted on."""
    ABSENT_SIGNAL = "absent_signal"
    """A signal is absent here that was always there in the fit."""


MEANINGS: Mapping[str, str] = {
    Mark.SEEN: "were fitted on: theirs are the stored out-of-fold probabilities",
    Mark.SEEN_QUESTION: "share a question with the fit: their probabilities may be too good",
    Mark.UNKNOWN_CATEGORY: "are of a category the fit does not know: a coarser model answers",
    Mark.OTHER_JUDGE: "are by a judge the fit does not know",
    Mark.ABSENT_SIGNAL: "lack a signal that was always there in the fit",
}
"""What a mark says of the judgments that carry it, as counts are printed."""


def outside_domain(marks: Iterable[str]) -> tuple[str, ...]:
    """Those of a judgment's marks that put it outside the domain of every guarantee; every :class:`Mark` does.

    A guaranteed threshold speaks of new judgments like those it was set on. A stored probability of a question fitted
    on, or one computed from other evidence than the fit's, is not of that population, however good it is.
    """
    return tuple(mark for mark in marks if mark in MEANINGS)
