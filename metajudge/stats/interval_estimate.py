"""What a statistic returns, and the checks its input must pass."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from metajudge.errors import InputError

CONFIDENCE = 0.95
"""Nominal coverage of intervals, unless another is asked for."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval; what has more to say inherits from it or holds one.

    Attributes:
        estimate: the point estimate.
        low, high: ends of the interval.
        n: observations behind it.
        confidence: nominal coverage of the interval (or of the bound, where it is one-sided), in (0, 1).
        method: how the interval was made.
    """

    estimate: float
    low: float
    high: float
    n: int
    confidence: float
    method: str

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high


def normal_quantile(confidence: float) -> float:
    """The two-sided normal quantile: 1.96 for .95."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def t_quantile(df: float, confidence: float = CONFIDENCE) -> float:
    """The two-sided quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + confidence) / 2))


def check_confidence(confidence: float) -> None:
    """Raises :class:`InputError` unless ``0 < confidence < 1``."""
    if not 0 < confidence < 1:
        hint = f"; did you mean {confidence / 100:g}?" if 1 < confidence < 100 else ""
        raise InputError(f"confidence must lie strictly between 0 and 1, not {confidence!r}{hint}")


def check_counts(successes: int, n: int, what: str = "successes") -> None:
    """Raises :class:`InputError` unless both are whole numbers with ``0 <= successes <= n`` and ``n >= 1``."""
    for name, value in ((what, successes), ("n", n)):
        if isinstance(value, float) and math.isnan(value):
            raise InputError(f"{name} is NaN: leave out observations without a value and lower n accordingly")
        if value != int(value):
            raise InputError(f"{name} must be a whole number, not {value!r}")
    if n < 1:
        raise InputError(f"n is {n}: a proportion of nothing is undefined; report the empty case as such")
    if not 0 <= successes <= n:
        raise InputError(f"{what} must lie between 0 and n = {n}, not {successes}")
