"""What one entry is worth on labelled judgments, every figure with an interval by question."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.calibration.quality import log_losses
from metajudge.errors import InputError
from metajudge.report import Absent, Measured
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.influence import Influence, area, mean
from metajudge.types.frozen import Finite

from ..findings import Proportion
from ..observations import Observation
from ..ranked import Ranked
from .scores import Entry, VetterScore

SHARES = (0.6, 0.4)
TARGET = 0.9
MOST_LOSS = math.log(1000)
"""Of one judgment, by where probabilities are clipped."""

FEWEST = 10
"""Questions below which no interval of a share kept is given."""


class Standing(Finite):
    """The figures of one entry; intervals are 95 % and by question.

    Attributes:
        n: judgments that are right or wrong; ``abstained`` of them without a value, which rank below all others.
        raw: share of right ones.
        log_loss: mean, in nats, probabilities clipped to [.001, .999]; with ``brier``, for entries of probabilities.
        auc: probability that a right one ranks above a wrong one, ties one half.
        precision_60, precision_40: share of right ones among the best so many, a tie at the edge with its mean.
        coverage_90: the largest share kept whose precision is 90 %, read off the same labels.
        kept: what the vetter's own decisions keep: how many, and the share of right ones.
    """

    vetter: str
    version: str
    n: int
    questions: int
    abstained: int
    raw: Proportion
    log_loss: Measured | Absent
    brier: Measured | Absent
    auc: Measured | Absent
    precision_60: Measured | Absent
    precision_40: Measured | Absent
    coverage_90: Measured | Absent
    kept: Proportion | Absent


@dataclass(frozen=True, slots=True)
class Values:
    """An entry on the judgments measured.

    Attributes:
        ranked: [n] its values, those that are absent one below the lowest.
        right: [n].
        questions: [n].
    """

    lines: list[VetterScore]
    ranked: Floats
    right: Bools
    questions: list[str]

    @classmethod
    def of(cls, entry: Entry, rows: Sequence[Observation]) -> "Values":
        """Joins an entry with the judgments measured."""
        lines = [entry.scores[row.judgment_id] for row in rows]
        values = np.array([np.nan if one.value is None else one.value for one in lines], dtype=np.float64)
        present = np.isfinite(values)
        lowest = float(values[present].min()) - 1 if present.any() else 0.0
        right = np.array([row.correct for row in rows], dtype=bool)
        return cls(lines, np.where(present, values, lowest), right, [row.question for row in rows])

    @property
    def abstained(self) -> int:
        return sum(one.value is None for one in self.lines)

    def area(self) -> Influence:
        """See :func:`metajudge.stats.influence.area`."""
        return area(self.ranked, self.right, self.questions)

    def log_loss(self) -> Influence:
        """Mean log loss in nats; see :meth:`_losses` for the error."""
        return self._losses(log_losses, MOST_LOSS)

    def brier(self) -> Influence:
        """Mean squared difference of probability and outcome; see :meth:`_losses` for the error."""
        return self._losses(lambda probabilities, right: (probabilities - right) ** 2, 1.0)

    def _losses(self, loss: Callable[[Floats, Bools], Floats], reach: float) -> Influence:
        """The mean of a loss of probabilities.

        Raises:
            InputError: some judgments have no probability.
        """
        without = sum(one.probability is None for one in self.lines)
        if without:
            raise InputError(f"{without:,} of {len(self.lines):,} judgments have no probability")
        probabilities = np.array([one.probability for one in self.lines], dtype=np.float64)
        return mean(loss(probabilities, self.right), self.questions, reach=reach)


def standing_of(entry: Entry, rows: Sequence[Observation]) -> Standing:
    """Measures one entry.

    Args:
        entry: has a line for every row.
        rows: the judgments that are right or wrong.
    """
    values = Values.of(entry, rows)
    questions = np.array(values.questions)
    enough = len(set(values.questions)) >= FEWEST
    ranked = Ranked(values.ranked, values.right, values.questions) if enough else None
    best = [NOT_MEASURED if ranked is None else ranked.precision(share).measured() for share in SHARES]
    kept = np.array([one.decision == "keep" for one in values.lines], dtype=bool)
    decided = any(one.decision is not None for one in values.lines)
    nothing = Absent(absent="it keeps nothing" if decided else "it makes no decisions")
    return Standing(
        vetter=entry.name,
        version=entry.version,
        n=len(rows),
        questions=len(set(values.questions)),
        abstained=values.abstained,
        raw=Proportion.of(values.right, questions),
        log_loss=measured(values.log_loss, MOST_LOSS),
        brier=measured(values.brier),
        auc=measured(values.area),
        precision_60=best[0],
        precision_40=best[1],
        coverage_90=NOT_MEASURED if ranked is None else ranked.coverage(TARGET).measured(),
        kept=Proportion.of(values.right[kept], questions[kept]) if kept.any() else nothing,
    )


NOT_MEASURED = Absent(absent=f"fewer than {FEWEST} questions")


def measured(figure: Callable[[], Influence], highest: float = 1.0) -> Measured | Absent:
    """A figure with its 95 % interval by question, or why there is none.

    Args:
        figure: gives it, or raises :class:`InputError`.
        highest: what it can be at most; the interval ends there, and at 0.
    """
    try:
        found = figure().effect()
    except InputError as error:
        return Absent(absent=str(error))
    return Measured(value=found.estimate, low=max(0.0, found.low), high=min(highest, found.high))
