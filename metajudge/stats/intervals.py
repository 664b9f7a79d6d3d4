"""Binomial proportions: intervals, one-sided bounds, and the difference of two."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from metajudge.stats.interval_estimate import CONFIDENCE, Estimate, check_confidence, check_counts, normal_quantile


def wilson(successes: int, n: int, confidence: float = 0.95) -> Estimate:
    """Score interval of a proportion (Wilson, 1927), without continuity correction.

    The set of p with ``|k/n - p| <= z sqrt(p (1 - p) / n)``. It stays within [0, 1] and keeps its coverage on average
    over p, also for small n and proportions near the ends. Assumes independent observations; where several come from
    one question, use :mod:`metajudge.stats.bootstrap`.

    Raises:
        InputError: n < 1, successes outside 0..n, or confidence outside (0, 1).
    """
    check_counts(successes, n)
    check_confidence(confidence)
    p = successes / n
    low, high = score_bounds(p, n, normal_quantile(confidence))
    return Estimate(p, low, high, n, confidence, "wilson")


def score_bounds(share: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's interval of a share for a number of observations that need not be whole, and a normal quantile z."""
    scale = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and 1 one end is exact; rounding must not move it past the estimate.
    return (0.0 if share == 0 else max(0.0, centre - half)), (1.0 if share == 1 else min(1.0, centre + half))


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> Estimate:
    """Exact two-sided interval of a proportion (Clopper and Pearson, 1934).

    Inverts two one-sided binomial tests at (1 - confidence) / 2 each: coverage is at least the nominal one for every
    p and n, often more. Assumes independent observations.

    Raises:
        InputError: n < 1, successes outside 0..n, or confidence outside (0, 1).
    """
    from scipy.special import betainccinv

    check_counts(successes, n)
    check_confidence(confidence)
    tail = (1 - confidence) / 2
    low, high = _exact_lower(successes, n, tail), 1.0
    if successes < n:
        high = float(betainccinv(successes + 1, n - successes, tail))
    return Estimate(successes / n, low, high, n, confidence, "clopper-pearson")


def clopper_pearson_lower(successes: int, n: int, confidence: float = 0.95) -> Estimate:
    """Exact one-sided lower bound: ``P(low <= p) >= confidence`` for every p; ``high`` is 1.

    With no failure among n it is ``(1 - confidence) ** (1 / n)``. Assumptions and errors as for
    :func:`clopper_pearson`.
    """
    check_counts(successes, n)
    check_confidence(confidence)
    low = _exact_lower(successes, n, 1 - confidence)
    return Estimate(successes / n, low, 1.0, n, confidence, "clopper-pearson lower bound")


def _exact_lower(successes: int, n: int, tail: float) -> float:
    from scipy.special import betaincinv

    return 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))


@dataclass(frozen=True, slots=True)
class ProportionDifference(Estimate):
    """Two independent proportions compared.

    Attributes:
        estimate: first proportion minus second.
        statistic: z of the pooled test of equal proportions.
        p_value: two-sided, from the normal distribution.
    """

    statistic: float
    p_value: float
    n_first: int
    n_second: int


def two_proportion_z(successes_first: int, n_first: int, successes_second: int, n_second: int) -> ProportionDifference:
    """Compares two **independent** proportions.

    The interval is Newcombe's hybrid score interval (1998, method 10), the test the pooled z test (its square is the
    chi-square test without correction). Both are approximate: with expected counts below five read the interval, not
    the p value. For the same items judged twice use :func:`metajudge.stats.paired.mcnemar_exact`.

    Where both samples are all successes or all failures, z is 0 and p is 1: there is no difference to test.

    Raises:
        InputError: a sample is empty, successes lie outside 0..n.
    """
    check_counts(successes_first, n_first, "successes_first")
    check_counts(successes_second, n_second, "successes_second")
    first, second = wilson(successes_first, n_first), wilson(successes_second, n_second)
    difference = first.estimate - second.estimate
    pooled = (successes_first + successes_second) / (n_first + n_second)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n_first + 1 / n_second))
    z = difference / error if error > 0 else 0.0
    return ProportionDifference(
        estimate=difference,
        low=difference - math.hypot(first.estimate - first.low, second.high - second.estimate),
        high=difference + math.hypot(first.high - first.estimate, second.estimate - second.low),
        statistic=z,
        p_value=2 * NormalDist().cdf(-abs(z)),
        n=n_first + n_second,
        n_first=n_first,
        n_second=n_second,
        confidence=CONFIDENCE,
        method="newcombe interval, pooled z test",
    )
