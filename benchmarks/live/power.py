"""Which differences the planned sample could see, and with which probability."""

import math

from metajudge.types.frozen import Finite

EFFECTS = (0.02, 0.05, 0.1, 0.15, 0.2)
AREA = 0.75
"""Area assumed for the second of the two that are compared."""

CORRELATIONS = (0.0, 0.5)
"""Between the scores that two agents give the same judgment; where they err alike, differences are easier to see."""


class PowerLine(Finite):
    """The probability of a "yes" for each of several true differences, at one correlation.

    Attributes:
        smallest: the difference found with a probability of 80 %; None where no difference is.
        powers: difference of areas -> probability.
    """

    correlation: float
    smallest: float | None
    powers: dict[str, float]


def power_lines(right: int, wrong: int, level: float) -> list[PowerLine]:
    """Power of a paired comparison of two areas, each question judged once.

    The variance of an area is that of Hanley and McNeil, "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve" (1982), of a difference with their correlation ("A method of comparing the areas",
    1983): ``V1 + V2 - 2 r sqrt(V1 V2)``. With one question of least weight added, as in the analysis.

    Args:
        right: questions whose judgment is right.
        wrong: questions whose judgment is wrong.
        level: two-sided level of one comparison, in (0, 1).
    """
    if min(right, wrong) < 2:
        return []
    return [
        PowerLine(
            correlation=correlation,
            smallest=_smallest(right, wrong, level, correlation),
            powers={f"{effect:g}": power(effect, right, wrong, level, correlation) for effect in EFFECTS},
        )
        for correlation in CORRELATIONS
    ]


def power(effect: float, right: int, wrong: int, level: float, correlation: float = 0.0, area: float = AREA) -> float:
    """The probability that the interval of a true difference lies above 0.

    Args:
        effect: true difference of the areas, at least 0.
        right: questions whose judgment is right.
        wrong: questions whose judgment is wrong.
        level: two-sided level, in (0, 1).
        correlation: between the two areas, in [0, 1).
        area: the smaller of the two.
    """
    from scipy.special import nctdtr, stdtrit

    first, second = _variance(min(area + effect, 0.999), right, wrong), _variance(area, right, wrong)
    error = math.sqrt(first + second - 2 * correlation * math.sqrt(first * second) + 1 / min(right, wrong) ** 2)
    df = min(right, wrong) - 1
    return 1 - float(nctdtr(df, effect / error, float(stdtrit(df, 1 - level / 2))))


def _smallest(right: int, wrong: int, level: float, correlation: float) -> float | None:
    low, high = 0.0, 0.999 - AREA
    if power(high, right, wrong, level, correlation) < 0.8:
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle, right, wrong, level, correlation) < 0.8 else (low, middle)
    return high


def _variance(area: float, right: int, wrong: int) -> float:
    one, other = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (right - 1) * (one - area**2) + (wrong - 1) * (other - area**2)
    return spread / (right * wrong)
