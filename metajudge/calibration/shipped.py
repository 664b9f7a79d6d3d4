"""The shipped default: what the share of peers that agree was worth on labelled sets of others, in two numbers.

``P(right) = 1 / (1 + exp(-(level + slope x)))`` with ``x`` the log-odds of ``(agree + 1) / (n + 2)``, of n peers on
the item. No weight belongs to a judge. ``python -m metajudge.benchmarks.shrink`` fits the numbers, and measures them on
each set with the numbers of the other sets.
"""

from typing import Literal

import numpy as np
from scipy.special import expit

from metajudge.calibration.domain import Mark
from metajudge.calibration.predictions import Marks, Predictions
from metajudge.calibration.sources import SHARE
from metajudge.calibration.table import SignalTable
from metajudge.stats.arrays import Floats
from metajudge.types import VerdictKind
from metajudge.types.frozen import Frozen

Result = Literal["decides", "no_better", "untested"]
"""How it did on sets of a kind that were left out: better than their base rates on the mean, not better, none there."""


class Shrink(Frozen):
    """Log-odds of being right: ``level + slope x``."""

    level: float
    slope: float

    def odds(self, table: SignalTable) -> Floats:
        """[n] log-odds of the rows of a table with the signal ``share``; the level where there is no peer."""
        column = table.columns.get(SHARE)
        return self.level + (np.zeros(len(table)) if column is None else self.slope * column.values)


class LeftOut(Frozen):
    """A set, or a part of one, and the log losses on it.

    Attributes:
        loss: with the numbers fitted on the other sets.
        base: of its own base rate.
    """

    name: str
    kind: VerdictKind
    n: int
    loss: float
    base: float
    data: str


class Prior(Shrink):
    """The two numbers with their origin."""

    version: Literal[2] = 2
    made: str
    command: str
    sets: tuple[LeftOut, ...]

    @property
    def shrink(self) -> Shrink:
        """The numbers alone."""
        return Shrink(level=self.level, slope=self.slope)

    def of_kind(self, kind: VerdictKind) -> tuple[LeftOut, ...]:
        """The sets of a kind."""
        return tuple(one for one in self.sets if one.kind == kind)

    def result(self, kind: VerdictKind) -> Result:
        """What leaving sets out showed for verdicts of a kind."""
        mine = self.of_kind(kind)
        if not mine:
            return "untested"
        return "decides" if sum(one.loss - one.base for one in mine) < 0 else "no_better"

    def sentence(self, kind: VerdictKind) -> str:
        """What is known of a kind, and on which sets it was worse than the base rate."""
        mine, result = self.of_kind(kind), self.result(kind)
        if not mine:
            return f"{kind}: never tested; it decides nothing"
        does = "it decides" if result == "decides" else "no better than the base rate; it decides nothing"
        worse = ", ".join(one.name for one in mine if one.loss >= one.base) or "no set"
        each = ", ".join(f"{one.name} {one.loss:.3f} ({one.base:.3f})" for one in mine)
        return f"{kind}: {does}; worse than the base rate on {worse}; log loss left out (base rate): {each}"

    def predict(self, table: SignalTable) -> Predictions:
        """P(right) of every row, marked with what is known of its kind; masked where there is no peer."""
        marks, every = Marks(len(table)), np.ones(len(table), dtype=bool)
        alone = ~table.columns[SHARE].present
        marks.add(Mark.TRANSFERRED, every)
        marks.add(Mark.ABSENT_SIGNAL, alone)
        of_result = {"no_better": Mark.NO_BETTER, "untested": Mark.UNTESTED}
        result = self.result(table.kind)
        if result in of_result:
            marks.add(of_result[result], ~alone)
        return Predictions(np.ma.MaskedArray(expit(self.odds(table)), mask=alone), marks.bits)
