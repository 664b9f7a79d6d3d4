"""The same items twice: exact tests, and one by question, where the sign of each is a fair coin."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats
from metajudge.stats.association import events_for_power, smallest_effect
from metajudge.stats.interval_estimate import Estimate
from metajudge.stats.intervals import clopper_pearson

LARGEST_EXACT = 20_000
"""Up to this sum of absolute values the distribution of a sign-flip test is counted out."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """An exact test of whether differences lean to one side.

    Attributes:
        share: of the untied pairs those in favour of the first, with its Clopper-Pearson interval; None where all
            pairs are tied.
        p_value: two-sided exact binomial test of a share of one half; 1 where all pairs are tied.
        n: all pairs, tied ones included.
        tied: pairs in favour of neither; they carry no information about the share.
    """

    share: Estimate | None
    p_value: float
    n: int
    favour_first: int
    favour_second: int
    tied: int
    method: str


def mcnemar_exact(first: Sequence[bool], second: Sequence[bool]) -> PairedTest:
    """Compares two yes/no outcomes on the same items (McNemar, 1947; exact conditional version).

    Under equal rates the items on which exactly one says yes fall on either side with probability one half. Assumes
    independent items: with several judgments of one question use
    :func:`metajudge.stats.bootstrap.bootstrap_mean` of the differences, with clusters.

    Args:
        first: for each item whether the first was right (or kept, ...).
        second: the same for the second, in the same order.

    Raises:
        InputError: empty, of unequal length, or with values other than true and false.
    """
    if len(first) != len(second):
        raise InputError(f"first has {len(first)} outcomes, second {len(second)}: they must match one to one")
    if not len(first):
        raise InputError("there are no pairs to compare")
    pairs = list(zip(first, second, strict=True))
    for number, pair in enumerate(pairs):
        if any(value not in (0, 1) for value in pair):
            raise InputError(f"pair {number} is {pair}: outcomes must be true or false; leave out missing ones")
    favour_first = sum(bool(one) and not other for one, other in pairs)
    favour_second = sum(bool(other) and not one for one, other in pairs)
    return _exact(favour_first, favour_second, len(pairs), "mcnemar exact")


def sign_test(differences: Sequence[float]) -> PairedTest:
    """Tests whether paired differences have median zero; ties (0) are counted and left out (Dixon and Mood, 1946).

    Raises:
        InputError: empty, or a difference that is NaN.
    """
    if not len(differences):
        raise InputError("there are no differences to test")
    for number, value in enumerate(differences):
        if value != value:
            raise InputError(f"difference {number} is NaN: leave out pairs without a value")
    positive = sum(value > 0 for value in differences)
    negative = sum(value < 0 for value in differences)
    return _exact(positive, negative, len(differences), "exact sign test")


def _exact(positive: int, negative: int, n: int, method: str) -> PairedTest:
    untied = positive + negative
    if not untied:
        return PairedTest(None, 1.0, n, positive, negative, n, method)
    from scipy.special import bdtr

    p_value = min(1.0, 2 * float(bdtr(min(positive, negative), untied, 0.5)))
    return PairedTest(clopper_pearson(positive, untied), p_value, n, positive, negative, n - untied, method)


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
        method: name of the test.
    """

    estimate: float
    error: float
    robust_error: float
    p_value: float
    n: int
    clusters: int
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
    tail = _exact_tail if exact else _normal_tail
    return SignFlip(
        estimate=estimate,
        error=math.sqrt(float((sums**2).sum())) / n,
        robust_error=math.sqrt(spread * k / (k - 1)) / n if k > 1 else math.inf,
        p_value=min(1.0, 2 * min(tail(moved, total), tail(moved, -total))),
        n=n,
        clusters=k,
        method=f"sign-flip test by question, {'exact' if exact else 'normal approximation'}",
    )


def fair_sums(sizes: Floats) -> Floats:
    """[sum of the sizes + 1] the chance of each sum of a random subset of whole numbers, each in it by a fair coin."""
    from scipy.special import gammaln

    chances = np.ones(1)
    for size, often in zip(*np.unique(sizes.astype(np.intp), return_counts=True), strict=True):
        n, counts = int(often), np.arange(int(often) + 1)  # equal sizes together are a binomial
        ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
        spaced = np.zeros(int(size) * n + 1)
        spaced[:: int(size)] = np.exp(ways - n * math.log(2))
        chances = np.convolve(chances, spaced)
    return chances


def _exact_tail(sizes: Floats, total: float) -> float:
    """P(sum of sizes with fair signs >= total): that sum is 2 S - sum(sizes), with S the sum of a random subset."""
    at = math.ceil((total + sizes.sum()) / 2)
    return min(1.0, float(fair_sums(sizes)[max(0, at) :].sum()))


def _normal_tail(sizes: Floats, total: float) -> float:
    from scipy.special import ndtr

    deviation = math.sqrt(float((sizes**2).sum()))
    return float(ndtr(-total / deviation)) if deviation else 1.0
