"""Differences and slopes over clustered observations: one linear coefficient with a cluster-robust standard error.

The mean of one column, the difference of two groups and a partial slope are the same calculation, so their tests,
intervals and power have one definition. Power: what a test could have seen, and how much data it would need.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices
from metajudge.stats.interval_estimate import CONFIDENCE, Estimate, t_quantile
from metajudge.stats.intervals import score_bounds

POWER = 0.8
"""The probability with which an effect must be found for the test to count as able to see it."""

FEWEST_CLUSTERS = 5.0
"""Below this effective number of clusters the standard error is not known well enough to test with."""


@dataclass(frozen=True, slots=True)
class Association(Estimate):
    """A linear coefficient.

    Attributes:
        low: lower end of its interval by Student's t.
        error: standard error: the larger of the cluster-robust one and that under the hypothesis of no association.
        df: degrees of freedom: effective number of clusters less one.
        usable: False where the effective number of clusters is below :data:`FEWEST_CLUSTERS`; read no test then.
    """

    error: float
    df: float
    clusters: int
    usable: bool

    def p_value(self, null: float = 0.0, *, sides: int = 2) -> float:
        """Of the t test against ``null``; one-sided towards larger values."""
        from scipy.special import stdtr

        if self.error == 0:
            distance = self.estimate - null
            return 1.0 if distance == 0 or (sides == 1 and distance < 0) else 0.0
        t = (self.estimate - null) / self.error
        return float(2 * stdtr(self.df, -abs(t)) if sides == 2 else stdtr(self.df, -t))

    def smallest_effect(self, level: float, *, sides: int = 2) -> float:
        """The distance from the null hypothesis that is found with a probability of 80 % at a level."""
        return smallest_effect(self.error, self.df, level, sides=sides)


def associate(
    outcome: ArrayLike, exposure: ArrayLike, clusters: ArrayLike, strata: ArrayLike | None = None
) -> Association | None:
    """The slope of an outcome on an exposure, within strata.

    Both are centred within strata, and the slope is that of least squares (Frisch and Waugh, 1933). With an exposure of
    0 and 1 and one stratum it is the difference of two means. The standard error sums scores by cluster (Liang and
    Zeger, 1986, with k / (k - 1)); the degrees of freedom follow the effective number of clusters
    ``(sum a)^2 / sum a^2``, a being a cluster's share of the exposure's variation, in the way of Carter, Schnepel and
    Steigerwald (2017), so that an exposure that few questions carry is not taken for much evidence.

    Args:
        outcome: [n] finite.
        exposure: [n] finite.
        clusters: [n] numbers from 0.
        strata: [n] numbers from 0; None for one stratum.

    Returns:
        None where the exposure does not vary within any stratum.

    Raises:
        InputError: unequal lengths or no observations.
    """
    y, x = np.asarray(outcome, dtype=np.float64), np.asarray(exposure, dtype=np.float64)
    codes = np.asarray(clusters, dtype=np.intp)
    if not len(y) or not len(y) == len(x) == len(codes):
        raise InputError(f"{len(y)} outcomes, {len(x)} exposures, {len(codes)} clusters: they must match one to one")
    groups = np.zeros(len(y), dtype=np.intp) if strata is None else np.asarray(strata, dtype=np.intp)
    x, y = _centred(x, groups), _centred(y, groups)
    variation = float(x @ x)
    if variation <= 1e-12 * len(x):
        return None
    slope = float(x @ y) / variation
    robust, plain = x * (y - slope * x) / variation, x * y / variation
    return _estimate(slope, robust, plain, x * x, codes, "cluster-robust slope, t interval and test")


def mean_of(values: ArrayLike, clusters: ArrayLike) -> Association:
    """The mean with a cluster-robust standard error; arguments and errors as for :func:`associate`."""
    y, codes = np.asarray(values, dtype=np.float64), np.asarray(clusters, dtype=np.intp)
    if not len(y) or len(y) != len(codes):
        raise InputError(f"{len(y)} values, {len(codes)} clusters: they must match one to one, at least one")
    mean = float(y.mean())
    scores = (y - mean) / len(y)
    return _estimate(mean, scores, scores, np.ones(len(y)), codes, "cluster-robust mean, t interval")


def share_of(values: ArrayLike, clusters: ArrayLike) -> Association:
    """The mean of values in [0, 1], with Wilson's interval for the effective number of observations.

    ``p (1 - p) / error^2`` takes the place of n and Student's t that of the normal quantile (Korn and Graubard, 1998);
    where nothing varies, ``n^2 / sum n_i^2``. Values between 0 and 1, such as half for a tie, only narrow it.

    Raises:
        InputError: as for :func:`associate`, or values outside [0, 1].
    """
    found = mean_of(values, clusters)
    share = np.asarray(values, dtype=np.float64)
    if not ((share >= 0) & (share <= 1)).all():
        raise InputError("a share is made of values in [0, 1]; use mean_of for others")
    sizes = np.bincount(np.asarray(clusters, dtype=np.intp)).astype(np.float64)
    alike = float(sizes.sum() ** 2 / (sizes @ sizes))
    low, high = score_interval(found.estimate, found.error, found.df, alike)
    return replace(found, low=low, high=high, method="share, wilson interval with an effective number by question")


def score_interval(share: float, error: float, df: float, most: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's (1927) interval with an effective number of observations and Student's t.

    Args:
        share: the estimate; what lies outside [0, 1] is cut.
        error: its standard error; infinite where there is one cluster.
        df: degrees of freedom of ``error``, at least 1.
        most: the effective number where the error is 0 or the share is 0 or 1, at least 1.
        confidence: nominal coverage, in (0, 1).
    """
    if not math.isfinite(error):
        return 0.0, 1.0
    p = min(1.0, max(0.0, share))
    inside = 0 < p < 1
    effective = p * (1 - p) / error**2 if error > 0 and inside else most
    if error > 0 and not inside:
        effective = min(most, 0.25 / error**2)
    return score_bounds(p, effective, t_quantile(df, confidence))


def _centred(values: Floats, groups: Indices) -> Floats:
    counts = np.bincount(groups)
    means = np.bincount(groups, weights=values) / np.maximum(counts, 1)
    return np.asarray(values - means[groups], dtype=np.float64)


def _estimate(value: float, robust: Floats, null: Floats, weight: Floats, codes: Indices, method: str) -> Association:
    present, place = np.unique(codes, return_inverse=True)
    k = len(present)
    sums = (np.bincount(place.ravel(), weights=part, minlength=k) for part in (robust, null))
    spread = max(float(part @ part) for part in sums)
    shares = np.bincount(place.ravel(), weights=weight, minlength=k)
    effective = float(shares.sum() ** 2 / (shares @ shares))
    df = max(1.0, effective - 1)
    error = math.sqrt(spread * k / (k - 1)) if k > 1 else math.inf
    half = t_quantile(df) * error
    usable = effective >= FEWEST_CLUSTERS and math.isfinite(error)
    return Association(value, value - half, value + half, len(codes), CONFIDENCE, method, error, df, k, usable)


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
