"""What a test could have seen, and how much data it would need."""

import math

from metajudge.errors import InputError

POWER = 0.8
"""The probability with which an effect must be found for the test to count as able to see it."""


def smallest_effect(error: float, df: float, level: float, *, sides: int = 2) -> float:
    """The effect that a t test finds with probability :data:`POWER`: ``(t(1 - level / sides) + t(POWER)) * error``.

    Bloom, "Minimum detectable effects" (1995).

    Args:
        error: standard error of the estimate, at least 0.
        df: degrees of freedom, at least 1.
        level: of the test, in (0, 1).
        sides: 1 or 2.

    Raises:
        InputError: an argument out of range.
    """
    from scipy.special import stdtrit

    if not (error >= 0 and df >= 1 and 0 < level < 1):
        raise InputError(
            f"error {error:g}, {df:g} degrees of freedom, level {level:g}: need at least 0 and 1, in (0, 1)"
        )
    return float(stdtrit(df, 1 - level / sides) + stdtrit(df, POWER)) * error


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


def events_for_power(events: int) -> float:
    """The expected number of events (Poisson) at which ``events`` or more occur with probability :data:`POWER`."""
    from scipy.special import gammaincinv

    return float(gammaincinv(events, POWER))
