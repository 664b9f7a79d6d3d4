"""Half-open intervals of one axis, compared after rounding to 1e-9."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from pydantic import Field, model_validator

from metajudge.rubric.model import Number
from metajudge.stats.arrays import Floats
from metajudge.types.frozen import Frozen

DECIMALS = 9
"""Numbers and bounds are compared after rounding to this many decimals."""
_PLAIN, _DOUBT = 1e4, 0.01


def exact(value: float) -> float:
    """A number as it is compared."""
    return round(float(value), DECIMALS)


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


class Range(Frozen):
    """All values an axis can take, both ends included."""

    low: Number = 0.0
    high: Number = 1.0

    @model_validator(mode="after")
    def _check(self) -> "Range":
        if exact(self.low) >= exact(self.high):
            raise ValueError(f"low ({self.low:.10g}) must be below high ({self.high:.10g})")
        return self

    @property
    def width(self) -> float:
        return self.high - self.low

    def contains(self, value: float) -> bool:
        return exact(self.low) <= exact(value) <= exact(self.high)

    def __str__(self) -> str:
        return f"{self.low:.10g}..{self.high:.10g}"


UNIT = Range(low=0.0, high=1.0)
"""Probabilities and confidences."""


class Interval(Frozen):
    """``at_least <= x < below``; an end that is left out is the axis's own."""

    at_least: Number | None = Field(
        default=None, description="The lowest value inside; if omitted, the lowest possible value."
    )
    below: Number | None = Field(
        default=None, description="The lowest value above the interval; if omitted, up to the highest possible value."
    )

    @model_validator(mode="after")
    def _check(self) -> "Interval":
        if self.at_least is not None and self.below is not None and exact(self.at_least) >= exact(self.below):
            raise ValueError(
                f"the interval is empty: at_least ({self.at_least:.10g}) must be less than below ({self.below:.10g})"
            )
        return self

    @property
    def whole(self) -> bool:
        """Whether it has no bound."""
        return self.at_least is None and self.below is None

    @property
    def bounds(self) -> tuple[float, ...]:
        """The bounds it has."""
        return tuple(exact(bound) for bound in (self.at_least, self.below) if bound is not None)

    def contains(self, value: float) -> bool:
        """Whether a value lies inside, compared after rounding to 1e-9."""
        at = exact(value)
        return (self.at_least is None or at >= exact(self.at_least)) and (self.below is None or at < exact(self.below))

    def __str__(self) -> str:
        if self.whole:
            return "any"
        if self.below is None:
            return f">= {self.at_least:.10g}"
        if self.at_least is None:
            return f"< {self.below:.10g}"
        return f"[{self.at_least:.10g}, {self.below:.10g})"


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
