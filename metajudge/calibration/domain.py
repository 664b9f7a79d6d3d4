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
    CROWDED = "more_judgments_than_declared"
    """The question has more judgments here than the guarantee was set for."""
    BROKEN = "promise_broken"
    """Monitoring had found the guarantee's promise broken before this judgment was decided."""
    DEPENDENT = "dependent_judges"
    """Judges of the input are copies or followers that were none in the fit."""
    TRANSFERRED = "transferred"
    """The probability is the shipped default's: no label of these judges was seen."""
    NO_BETTER = "no_better_than_base_rate"
    """The shipped default was no better than the base rate on such verdicts of sets left out: it decides nothing."""
    BESIDE = "free_evidence_is_better"
    """Of records of earlier versions: the shipped default of then was no better than free evidence, which decided."""
    UNTESTED = "untested_kind"
    """The shipped default was not tested on such verdicts: it decides nothing."""


MEANINGS: Mapping[str, str] = {
    Mark.SEEN: "were fitted on: theirs are the stored out-of-fold probabilities",
    Mark.SEEN_QUESTION: "share a question with the fit: their probabilities may be too good",
    Mark.UNKNOWN_CATEGORY: "are of a category the fit does not know: a coarser model answers",
    Mark.OTHER_JUDGE: "are by a judge the fit does not know",
    Mark.ABSENT_SIGNAL: "lack a signal that was always there in the fit",
    Mark.CROWDED: "are of questions with more judgments than the guarantee was set for",
    Mark.BROKEN: "came after monitoring had found the promise broken: `metajudge monitor`",
    Mark.DEPENDENT: "have peers of which some are copies or followers that were none in the fit: `metajudge audit`",
    Mark.TRANSFERRED: "have a probability transferred from other sets: no guarantee is made from it",
    Mark.NO_BETTER: "are of a kind where it was no better than the base rate: it decides nothing on them",
    Mark.BESIDE: "are of a kind where it was no better than free evidence, which decided",
    Mark.UNTESTED: "are of a kind that it was never tested on: it decides nothing",
}
"""What a mark says of the judgments that carry it, as counts are printed."""

NOT_COVERED = "judge_not_covered"
"""Why a guarantee does not cover a judgment inside the domain: its judge has none."""

BELOW = "below_promise"
"""Why a kept judgment carries no promise although one covers it: another cut kept it, below the promise's threshold."""


def outside_words(reason: str) -> str:
    """Why judgments lie outside a guarantee, as a part of a sentence that counts them."""
    if reason == NOT_COVERED:
        return "by judges that it does not cover"
    if reason == BELOW:
        return "below the promise's threshold"
    return MEANINGS.get(reason, reason).partition(":")[0]


def coverage_line(guaranteed: int, kept: int, outside: Mapping[str, int]) -> str:
    """How many of the kept judgments a guarantee covers, and why it does not cover the others.

    Args:
        outside: reason -> kept ones without a stamp.
    """
    line = f"Guaranteed: {guaranteed} of {kept} kept"
    if not outside:
        return f"{line}."
    why = ", ".join(f"{count} {outside_words(reason)}" for reason, count in sorted(outside.items()))
    return f"{line}; {sum(outside.values())} kept outside the guarantee: {why}."


def none_covered_line(outside: Mapping[str, int]) -> str:
    """That a guarantee covers nothing here, and why; its promise is then not repeated."""
    why = ", ".join(f"{count} {outside_words(reason)}" for reason, count in sorted(outside.items()))
    return f"The calibration has a guarantee, and it covers none of these judgments{f': {why}' if why else ''}."


def outside_domain(marks: Iterable[str]) -> tuple[str, ...]:
    """Those of a judgment's marks that put it outside the domain of every guarantee; every :class:`Mark` does.

    A guaranteed threshold speaks of new judgments like those it was set on. A stored probability of a question fitted
    on, or one computed from other evidence than the fit's, is not of that population, however good it is.
    """
    return tuple(mark for mark in marks if mark in MEANINGS)
