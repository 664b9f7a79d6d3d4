"""What stored fits say of verdicts that stand alone, as a column beside those of a calibration."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.errors import FailureKind
from metajudge.stats.arrays import Bools, Indices
from metajudge.strategies import Panel, StrategyName
from metajudge.strategies.rule import own_rule, undecided
from metajudge.types import Assessment, Failure, Status
from metajudge.vetting.probability import Probabilities, Said, SaidColumn, may_decide


class Alone:
    """What histories say of the judgments of an input that stand alone.

    Args:
        groups: the probabilities of a fit, if there is one; and the reason where it gives none.
        codes: [n] each judgment's place in ``groups``, -1 for one of which nothing is said.
        places: [n] each judgment's row in what its group was made of.
    """

    def __init__(self, groups: Sequence[tuple[Probabilities | None, str]], codes: Indices, places: Indices) -> None:
        self._groups, self._codes, self._places = groups, codes, places

    def of_rows(self, rows: Indices) -> "Alone":
        """What is said of chosen rows alone, which are numbered anew."""
        return Alone(self._groups, self._codes[rows], self._places[rows])

    def column(self, rows: Indices, broken: Collection[str], by: Sequence[Assessment]) -> SaidColumn:
        """As :meth:`Probabilities.column`; of what agents scored nothing is said."""
        free: Bools = np.array([one.strategy == StrategyName.SIGNALS for one in by], dtype=bool)
        whose = np.where(free, self._codes[rows], -1)
        found, codes = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.intp)
        kinds: list[Said] = [_unanswered(None)]
        for number in np.unique(whose[whose >= 0]).tolist():
            at, (said, why) = np.flatnonzero(whose == number), self._groups[number]
            codes[at] = len(kinds)
            kinds.append(_unanswered(why))
            if said is not None:
                part = said.column(self._places[rows[at]], broken, [by[place] for place in at.tolist()])
                known = ~np.isnan(part.probabilities)
                found[at], codes[at[known]] = part.probabilities, part.codes[known] + len(kinds)
                kinds += part.kinds
        return SaidColumn(found, codes, kinds)


@dataclass(frozen=True, slots=True)
class Unanswered(Said):
    """A person is to be asked about a judgment that stands alone, unless a typed threshold or a policy decides.

    Attributes:
        why: None of a judgment of which nothing is said.
    """

    why: str | None = None

    def bounds(self, panel: Panel, *, policy: bool) -> tuple[float, float]:
        return np.nan, np.nan

    def laid_on(
        self, assessment: Assessment, probability: float | None, panel: Panel, *, policy: bool = False
    ) -> Assessment:
        own = own_rule(panel.threshold, typed=panel.threshold_typed)
        decides = own.cut_from == "typed" or policy
        if self.why is None or not may_decide(assessment) or (decides and assessment.accepted is not None):
            return assessment
        failure = Failure(kind=FailureKind.NO_EVIDENCE, message=f"one verdict alone: {self.why}")
        return assessment.model_copy(update={"status": Status.UNSCORED, "failure": failure, **undecided()})


def _unanswered(why: str | None) -> Unanswered:
    return Unanswered("", (), False, (), None, why=why)
