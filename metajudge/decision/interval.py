"""Many numbers rounded as one is, and an axis cut into pieces by half-open intervals."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from metajudge.stats.arrays import Floats
from metajudge.types.interval import DECIMALS, Interval, Range, exact

_PLAIN, _DOUBT = 1e4, 0.01


def all_exact(values: Floats) -> Floats:
    """:func:`exact` of many numbers.

    A number of up to :data:`_PLAIN` times ten to the ninth is known to one hundredth: where its nearest whole number is
    in no doubt, that divided by ten to the ninth is the same as rounding in decimals. The few others are rounded so.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # of infinite and of very large numbers
        scaled = values * 10.0**DECIMALS
        whole = np.rint(scaled)
        doubtful = ~(np.abs(values) < _PLAIN) | (np.abs(np.abs(scaled - whole) - 0.5) < _DOUBT)
    found = whole / 10.0**DECIMALS
    for place in np.flatnonzero(doubtful & np.isfinite(values)).tolist():
        found[place] = exact(values[place])
    return found


def pieces(axis: Range, intervals: Iterable[Interval]) -> list["Piece"]:
    """An axis cut at every bound: half-open pieces in order, the last one closed."""
    low, high = exact(axis.low), exact(axis.high)
    inner = {bound for interval in intervals for bound in interval.bounds if low < bound <= high}
    cuts = [low, *sorted(inner)]
    found = [Piece(start, end, False) for start, end in pairwise(cuts)]
    return [*found, Piece(cuts[-1], high, True)]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of an axis of which every interval contains all or nothing."""

    start: float
    end: float
    closed: bool

    def joined(self, other: "Piece") -> "Piece":
        """From where this one starts to where a later one ends."""
        return Piece(self.start, other.end, other.closed)

    def contains(self, value: float) -> bool:
        """Whether a value lies in it."""
        return self.start <= value < self.end or (self.closed and value == self.end)

    def distance(self, value: float) -> float:
        """How far a value is from this stretch; 0 inside and at its ends."""
        return max(self.start - value, value - self.end, 0.0)

    def __str__(self) -> str:
        if self.start == self.end:
            return f"exactly {self.start:.10g}"
        return f"[{self.start:.10g}, {self.end:.10g}{']' if self.closed else ')'}"
