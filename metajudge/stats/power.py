"""What a test could have seen, and how much data it would need."""

import math

from metajudge.errors import InputError

POWER = 0.8
"""The probability with which an effect must be found for the test to count as able to see it."""


def smallest_effect(error: float, df: float, level: float, *, sides: int = 2, power: float = POWER) -> float:
    """The effect that a t test finds with a given probability: ``(t(1 - level / sides) + t(power)) * error``.

    Bloom, "Minimum detectable effects" (1995).

    Args:
        error: standard error of the estimate, at least 0.
        df: degrees of freedom, at least 1.
        level: of the test, in (0, 1).
        sides: 1 or 2.
        power: in (0, 1).

    Raises:
        InputError: an argument out of range.
    """
    from scipy.special import stdtrit

    _check(error, df, level, power)
    return float(stdtrit(df, 1 - level / sides) + stdtrit(df, power)) * error


def observations_needed(n: int, seen: float, relevant: float) -> int:
    """Observations at which ``relevant`` would be the smallest effect, where n give ``seen``.

    Standard errors fall with the square root of n; the observations to come must spread over questions like those at
    hand.

    Raises:
        InputError: no observations, or an effect that is not above 0.
    """
    if n < 1 or seen <= 0 or relevant <= 0:
        raise InputError(f"n is {n}, the effects are {seen:g} and {relevant:g}: all must be above 0")
    return math.ceil(n * (seen / relevant) ** 2)


def events_for_power(events: int, power: float = POWER) -> float:
    """The expected number of events at which at least ``events`` of them occur with a given probability (Poisson)."""
    from scipy.special import gammaincinv

    return float(gammaincinv(events, power))


def _check(error: float, df: float, level: float, power: float) -> None:
    if not (error >= 0 and df >= 1):
        raise InputError(f"a standard error of {error:g} with {df:g} degrees of freedom: need at least 0 and 1")
    if not (0 < level < 1 and 0 < power < 1):
        raise InputError(f"level {level:g} and power {power:g} must lie strictly between 0 and 1")
