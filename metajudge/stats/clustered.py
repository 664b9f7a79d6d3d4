"""A proportion of observations that come in clusters, such as judgments of common questions.

Judgments of one question are not independent. An interval that takes them as independent is too narrow, on recorded
data by a factor of two. Every interval here is by cluster.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices
from metajudge.stats.interval_estimate import CONFIDENCE, Estimate, normal_quantile, t_quantile
from metajudge.stats.intervals import score_bounds

SEED = 20_260_101
RESAMPLES = 10_000

FEWEST_CLUSTERS = 50
"""With fewer clusters the resampled interval is too narrow; Wilson's with the effective number takes its place."""

FEWEST_OUTCOMES = 10.0
"""The same with fewer effective successes, or failures: resampling does not know what it has hardly seen."""

BOOTSTRAP = "percentile cluster bootstrap"
WILSON_EFFECTIVE = "wilson, effective number of clusters"
WILSON = "wilson"


@dataclass(frozen=True, slots=True)
class ClusteredProportion(Estimate):
    """A proportion with an interval by cluster.

    Attributes:
        effective_n: independent observations that would know as much, in [1, n].
    """

    successes: int
    clusters: int
    effective_n: float


def clustered_proportion(success: ArrayLike, clusters: ArrayLike) -> ClusteredProportion:
    """The share of successes, with an interval by cluster.

    Whole clusters are resampled (percentile interval, a fixed seed). That is too narrow where there are fewer than 50
    clusters, or fewer than 10 effective successes or failures; at perfect agreement it would give [1, 1]. There the
    interval is Wilson's (1927) with an effective number in place of n (Korn and Graubard, "Confidence intervals for
    proportions with small expected number of positive counts estimated from survey data", 1998): the smaller of
    ``p (1 - p) / V``, with V the cluster-robust variance of the ratio and Student's t for the normal quantile, and
    ``n^2 / sum n_i^2``, the number that is left where the observations of a cluster are all alike. Where each cluster
    has one observation it is Wilson's.

    Args:
        success: [n] 0 or 1.
        clusters: [n] the cluster of each observation.

    Raises:
        InputError: nothing to estimate from, unequal lengths, or an argument out of range.
    """
    right = np.asarray(success, dtype=np.float64)
    if not len(right) or not np.isin(right, (0, 1)).all():
        raise InputError("a proportion needs observations that are 0 or 1, at least one; report the empty case as such")
    names, place = np.unique(np.asarray(clusters), return_inverse=True)
    if len(place) != len(right):
        raise InputError(f"clusters has {len(place)} entries for {len(right)} observations: give each its cluster")
    sizes = np.bincount(place.ravel(), minlength=len(names)).astype(np.float64)
    hits = np.bincount(place.ravel(), weights=right, minlength=len(names)).astype(np.float64)
    kinds, often = np.unique(np.column_stack((hits, sizes)), axis=0, return_counts=True)
    return counted_proportion(kinds, often)


def counted_proportion(kinds: ArrayLike, often: ArrayLike) -> ClusteredProportion:
    """As :func:`clustered_proportion`, from how many clusters have each number of successes and of observations.

    Args:
        kinds: [k, 2] successes and observations of a cluster, each pair once.
        often: [k] how many clusters have them.

    Raises:
        InputError: no clusters, or an argument out of range.
    """
    pairs, counts = np.asarray(kinds, dtype=np.float64).reshape(-1, 2), np.asarray(often, dtype=np.int64)
    if not len(pairs):
        raise InputError("a proportion needs observations, at least one; report the empty case as such")
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    pairs, counts = pairs[order], counts[order]
    hits, sizes = pairs.T
    clusters, n, successes = int(counts.sum()), int(sizes @ counts), int(hits @ counts)
    share = successes / n
    robust = _robust_number(hits, sizes, counts)
    if clusters == n:
        effective, method = float(n), WILSON
    elif clusters >= FEWEST_CLUSTERS and robust * min(share, 1 - share) >= FEWEST_OUTCOMES:
        effective, method = robust, BOOTSTRAP
    else:
        alike = float(n * n / (sizes**2 @ counts))  # all that is known where nothing varies
        if clusters > 1 and 0 < share < 1:
            alike = min(alike, robust * (normal_quantile(CONFIDENCE) / t_quantile(clusters - 1)) ** 2)
        effective, method = max(1.0, alike), WILSON_EFFECTIVE
    low, high = (
        _interval_of_kinds(pairs.astype(np.int64).tobytes(), counts.tobytes())
        if method == BOOTSTRAP
        else score_bounds(share, effective, normal_quantile(CONFIDENCE))
    )
    return ClusteredProportion(share, low, high, n, CONFIDENCE, method, successes, clusters, effective)


def _robust_number(hits: Floats, sizes: Floats, often: Indices) -> float:
    """``p (1 - p) / V`` with the cluster-robust (linearised) variance of a ratio, at most n."""
    k, n = int(often.sum()), float(sizes @ often)
    share = float(hits @ often) / n
    if k < 2 or not 0 < share < 1:
        return n
    variance = k / (k - 1) * float(((hits - share * sizes) ** 2) @ often) / n**2
    return n if variance == 0 else min(n, share * (1 - share) / variance)


@lru_cache(maxsize=4096)
def _interval_of_kinds(kinds: bytes, often: bytes) -> tuple[float, float]:
    """Quantiles over resamples of whole clusters, of kinds [k, 2] that come so often [k], int64.

    Tables of one run ask for many of them twice.
    """
    counts, weights = np.frombuffer(kinds, dtype=np.int64).reshape(-1, 2), np.frombuffer(often, dtype=np.int64)
    # Clusters with equal counts are interchangeable: drawing how often each kind comes is the same, and much faster.
    drawn = np.random.default_rng(SEED).multinomial(weights.sum(), weights / weights.sum(), size=RESAMPLES) @ counts
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
