"""What a guaranteed threshold promises, in one sentence with its scope: the only place that words it.

Terminal, dataset card, ``stats.json``, the summary of ``vet`` and the reports of ``bench`` all print
:meth:`Promise.sentence`. A promise without its scope misleads: the precision of several judges' judgments together says
nothing about one of them, and the precision of one judgment drawn per question, which thresholds of earlier versions
promise, is not that of everything kept.
"""

from collections.abc import Collection, Sequence
from typing import Any

from metajudge.evidence.units import ITEM
from metajudge.types import GuaranteedThreshold

MOST_NAMED = 12
"""Judges named in a sentence; of more, the first are named and the others counted."""


class Promise(GuaranteedThreshold):
    """A guaranteed threshold with everything its promise depends on.

    Attributes:
        decides: the judges whose judgments it decides on, where these are not all of ``judges``.
    """

    decides: tuple[str, ...] = ()

    @classmethod
    def of_stamp(cls, stamp: GuaranteedThreshold) -> "Promise":
        """The promise an assessment carries."""
        return cls(**dict(stamp))

    def stamp(self) -> GuaranteedThreshold:
        """The promise as an assessment carries it."""
        return GuaranteedThreshold(**{name: getattr(self, name) for name in GuaranteedThreshold.model_fields})

    @property
    def pooled(self) -> bool:
        """Whether it speaks of several judges' judgments together."""
        return len(self.judges) > 1

    @property
    def label(self) -> str:
        """A few words for a row of a table; they claim nothing for one judge of several."""
        return f"guaranteed {100 * self.target:g} %" + (", judges together" if self.pooled else "")

    def sentence(self, present: Collection[str] = ()) -> str:
        """The promise in words.

        Args:
            present: judges whose judgments are kept by it here. Where these are only some of those it speaks of, the
                sentence says that nothing is promised about them alone.
        """
        return f"{self._subject()}: {self._share()} on {self._population()}{self._approximate()}{self._stated()}." + (
            self._limits(present)
        )

    def to_json(self, present: Collection[str] = ()) -> dict[str, Any]:
        """Plain data, the sentence included."""
        return {
            "judges": list(self.judges),
            "pooled": self.pooled,
            "unit": self.unit,
            "population": self._population(),
            "questions": self.questions,
            "most_per_question": self.most_per_question,
            "category": self.category,
            "threshold": self.threshold,
            "target": self.target,
            "delta": self.delta,
            "approximate": self.approximate,
            "sentence": self.sentence(present),
        }

    def _subject(self) -> str:
        whose = f" by {named(self.judges)}" if self.judges else ""
        together = ", taken together and not each judge alone," if self.pooled else ""
        about = f" in category {self.category}" * (self.category is not None)
        return f"Judgments{whose}{together}{about} with a probability of {self.threshold:.4g} or more"

    def _share(self) -> str:
        sure, share = f"with {100 * (1 - self.delta):g} % confidence", f"at least {100 * self.target:g} %"
        match self.unit:
            case "all_kept":
                return f"{sure} {share} of all of them are right"
            case "one_per_question":
                return f"{sure} {share} of them are right, one judgment drawn per question,"
            case "any_wrong":
                return f"{sure} {share} of the questions with any of them have no wrong one among them,"
        return f"{sure} {share} of them are right (the record does not say how judgments of one question were counted)"

    def _population(self) -> str:
        number = "those" if self.questions is None else f"the {self.questions}"
        if self.population == "this_file":
            return f"the very questions that {number} labelled ones were drawn from at random"
        most = self.most_per_question
        limit = "" if most is None else f", with at most {most} judgment{'s' if most > 1 else ''} each"
        by = self.counted_by
        what = "questions" if by is None else "items" if by == ITEM else f"values of {by}"
        return f"new {what} like {number} the threshold was set on{limit}"

    def _approximate(self) -> str:
        return "; approximate, since the scores were fitted on the same questions: nothing is proven" * self.approximate

    def _stated(self) -> str:
        return ", if the labelled questions were drawn at random, as stated" * self.stated_random

    def _limits(self, present: Collection[str]) -> str:
        if not self.judges:
            return " The record does not name the judges it covers together: it may be invalid for one of them alone."
        here = set(self.decides or self.judges) & set(present or self.judges)
        if not self.pooled or not here or here == set(self.judges):
            return ""
        return f" Here it decides only on judgments by {named(sorted(here))}: about these alone nothing is promised."


def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f} %"


def named(judges: Sequence[str]) -> str:
    """Names in a row; of many the first ones and how many more."""
    if len(judges) > MOST_NAMED:
        return f"{', '.join(judges[:MOST_NAMED])} and {len(judges) - MOST_NAMED} more"
    return " and ".join(filter(None, (", ".join(judges[:-1]), judges[-1]))) if judges else "no judge"
