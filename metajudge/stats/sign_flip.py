"""The mean of signed observations against zero, where the sign of each question is a fair coin under the hypothesis."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats
from metajudge.stats.power import events_for_power, smallest_effect

LARGEST_EXACT = 20_000
"""Up to this sum of absolute values the distribution is counted out."""


@dataclass(frozen=True, slots=True)
class SignFlip:
    """A mean of signed whole numbers over clusters.

    Attributes:
        estimate: sum of the values by observations.
        error: standard error under the hypothesis, ``sqrt(sum of squared cluster sums) / n``.
        robust_error: the same around the estimate, with ``k / (k - 1)``; for the interval.
        p_value: two-sided.
        n: observations.
        clusters: of them.
        moved: clusters whose values do not cancel.
        method: name of the test.
    """

    estimate: float
    error: float
    robust_error: float
    p_value: float
    n: int
    clusters: int
    moved: int
    method: str

    def smallest_effect(self, level: float) -> float:
        """The mean that would be found with a probability of 80 % at a level.

        The larger of the normal approximation and, since at least ``log2(2 / level)`` clusters must point the same
        way, the share at which so many do. Where no two clusters differ the second alone counts.
        """
        events = math.ceil(math.log2(2 / level))
        fewest = events_for_power(events) / self.clusters
        df = max(1, self.clusters - 1)
        return max(smallest_effect(self.error, df, level), fewest)


def sign_flip(values: ArrayLike, clusters: ArrayLike) -> SignFlip:
    """Tests whether values lie symmetrically around zero, with whole clusters as units (Fisher, 1935).

    The sum of each cluster keeps its size and gets a fair sign. The distribution of the total is counted out exactly;
    where the sizes sum to more than :data:`LARGEST_EXACT` it is taken as normal.

    Args:
        values: [n] whole numbers, such as -1, 0 and 1.
        clusters: [n] numbers from 0, the cluster of each.

    Raises:
        InputError: no values, unequal lengths, or values that are not whole.
    """
    signed, codes = np.asarray(values, dtype=np.float64), np.asarray(clusters, dtype=np.intp)
    if not len(signed) or len(signed) != len(codes) or (signed != np.rint(signed)).any():
        raise InputError(f"{len(signed)} values for {len(codes)} clusters: give whole numbers, one cluster each")
    present, place = np.unique(codes, return_inverse=True)
    sums = np.bincount(place.ravel(), weights=signed, minlength=len(present))
    sizes = np.bincount(place.ravel(), minlength=len(present)).astype(np.float64)
    n, k, total = len(signed), len(present), float(sums.sum())
    estimate = total / n
    spread = float(((sums - estimate * sizes) ** 2).sum())
    moved = np.abs(sums[sums != 0])
    exact = moved.sum() <= LARGEST_EXACT
    tail = _exact if exact else _approximate
    return SignFlip(
        estimate=estimate,
        error=math.sqrt(float((sums**2).sum())) / n,
        robust_error=math.sqrt(spread * k / (k - 1)) / n if k > 1 else math.inf,
        p_value=min(1.0, 2 * min(tail(moved, total), tail(moved, -total))),
        n=n,
        clusters=k,
        moved=len(moved),
        method=f"sign-flip test by question, {'exact' if exact else 'normal approximation'}",
    )


def _exact(sizes: Floats, total: float) -> float:
    """P(sum of sizes with fair signs >= total)."""
    # The sum is 2 S - sum(sizes) with S the sum of a random subset; equal sizes together are a binomial.
    chances = np.ones(1)
    for size, often in zip(*np.unique(sizes.astype(np.intp), return_counts=True), strict=True):
        spaced = np.zeros(int(size) * int(often) + 1)
        spaced[:: int(size)] = _halves(int(often))
        chances = np.convolve(chances, spaced)
    at = math.ceil((total + sizes.sum()) / 2)
    return min(1.0, float(chances[max(0, at) :].sum()))


def _halves(n: int) -> Floats:
    """Binomial(n, 1/2) chances of 0..n."""
    from scipy.special import gammaln

    counts = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    return np.asarray(np.exp(ways - n * math.log(2)), dtype=np.float64)


def _approximate(sizes: Floats, total: float) -> float:
    from scipy.special import ndtr

    deviation = math.sqrt(float((sizes**2).sum()))
    return float(ndtr(-total / deviation)) if deviation else 1.0
