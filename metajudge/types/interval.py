"""Stretches of an axis: closed ranges and half-open intervals, compared after rounding to 1e-9."""

import math
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, model_validator

from metajudge.types.frozen import Frozen

DECIMALS: Final = 9
"""Numbers and bounds are compared after rounding to this many decimals."""


def exact(value: float) -> float:
    """A number as it is compared."""
    return round(float(value), DECIMALS)


def finite(value: Any) -> float:
    """A number as a float.

    Raises:
        ValueError: a bool, infinite, NaN or no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("must be a finite number")
    return float(value)


Number = Annotated[float, BeforeValidator(finite)]


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

    def overlaps(self, other: "Interval") -> bool:
        """Whether some value lies in both."""
        pairs = ((self.at_least, other.below), (other.at_least, self.below))
        return all(low is None or high is None or exact(low) < exact(high) for low, high in pairs)

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
