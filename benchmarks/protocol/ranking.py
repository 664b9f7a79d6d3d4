"""Who is better than whom: ranges of ranks, in which what cannot be told apart is tied."""

from collections.abc import Mapping
from functools import partial
from typing import Literal

from metajudge.errors import InputError
from metajudge.report import Absent, Measured
from metajudge.stats.influence import Influence
from metajudge.types.frozen import Finite

from .standing import measured

LEVEL = 0.05
"""Probability of any wrong order in a table; a pair is compared at this level by the number of pairs (Bonferroni)."""


class Ranked(Finite):
    """One line of a table.

    Attributes:
        rank: the best rank that the data allow; ``to`` the worst one. Those whose ranges overlap may be tied.
        tied: names of those that the data do not tell apart from it.
        figure: what is ranked by.
    """

    name: str
    rank: int
    to: int
    tied: tuple[str, ...]
    figure: Measured | Absent

    @property
    def shown(self) -> str:
        """``2``, or ``2-4`` where it is tied."""
        return f"{self.rank}" if self.rank == self.to else f"{self.rank}-{self.to}"


def ranked(
    figures: Mapping[str, Influence], *, best: Literal["highest", "lowest"] = "highest", highest: float = 1.0
) -> list[Ranked]:
    """Ranks by pairwise differences, paired where two share questions.

    A name is better than another one where the whole interval of the difference says so. The order of the lines is that
    of the figures, equal ones by name; only ``rank`` and ``to`` say who is better.

    Args:
        figures: name -> its figure with the influence of every question.
        best: which end is better.
        highest: what a figure can be at most.
    """
    names = list(figures)
    pairs = len(names) * (len(names) - 1) // 2
    confidence = 1 - LEVEL / max(1, pairs)
    sign = 1 if best == "highest" else -1
    better: dict[str, int] = dict.fromkeys(names, 0)
    worse: dict[str, int] = dict.fromkeys(names, 0)
    tied: dict[str, list[str]] = {name: [] for name in names}
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            order = sign * _order(figures[one], figures[other], confidence)
            if not order:
                tied[one].append(other)
                tied[other].append(one)
                continue
            first, second = (one, other) if order > 0 else (other, one)
            worse[first] += 1
            better[second] += 1
    rows = [
        Ranked(
            name=name,
            rank=1 + better[name],
            to=len(names) - worse[name],
            tied=tuple(sorted(tied[name])),
            figure=measured(partial(figures.__getitem__, name), highest),
        )
        for name in names
    ]
    return sorted(rows, key=lambda row: (-sign * round(figures[row.name].estimate, 12), row.name))


def _order(one: Influence, other: Influence, confidence: float) -> int:
    """1 where the first is higher, -1 where it is lower, 0 where that cannot be told."""
    try:
        found = one.minus(other).effect(confidence)
    except InputError:
        return 0
    return int(found.low > 0) - int(found.high < 0)
