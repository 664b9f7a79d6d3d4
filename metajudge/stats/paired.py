"""The same items twice: exact tests of whether differences lie symmetrically around zero.

Each difference (or the sum of a question's) keeps its size and gets a fair sign (Fisher, 1935). With sizes of 1 that is
the sign test, with ranks Wilcoxon's; the distribution of the sum is counted out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats
from metajudge.stats.association import events_for_power, smallest_effect
from metajudge.stats.interval_estimate import Estimate
from metajudge.stats.intervals import clopper_pearson

LARGEST_EXACT = 20_000
"""Up to this sum of absolute values the distribution of a sign-flip test is counted out."""

MOST_RANKED = 500
"""Up to so many differences other than 0 that of a signed-rank test is counted out."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """An exact test of whether differences lean to one side.

    Attributes:
        share: of the untied pairs those in favour of the first, with its Clopper-Pearson interval; None where all
            pairs are tied.
        p_value: two-sided, of the test that ``method`` names; 1 where all pairs are tied.
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
    return replace(sign_test([bool(one) - bool(other) for one, other in pairs]), method="mcnemar exact")


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
    from scipy.special import bdtr

    positive, negative = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    n, untied, method = len(differences), positive + negative, "exact sign test"
    if not untied:
        return PairedTest(None, 1.0, n, 0, 0, n, method)
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
    return SignFlip(
        estimate=estimate,
        error=math.sqrt(float((sums**2).sum())) / n,
        robust_error=math.sqrt(spread * k / (k - 1)) / n if k > 1 else math.inf,
        p_value=_two_sided(moved, total, exact=exact),
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


def _two_sided(sizes: Floats, total: float, *, exact: bool) -> float:
    """Of the total of sizes with fair signs, which is 2 S - sum(sizes), with S the sum of a random subset."""
    from scipy.special import ndtr

    if not len(sizes):
        return 1.0
    if not exact:
        return float(2 * ndtr(-abs(total) / math.sqrt(float(sizes @ sizes))))
    chances, at = fair_sums(sizes), round((total + float(sizes.sum())) / 2)
    return min(1.0, 2 * float(min(chances[: at + 1].sum(), chances[at:].sum())))


def wilcoxon_signed_rank(differences: Sequence[float]) -> PairedTest:
    """Tests whether paired differences are symmetric around zero (Wilcoxon, 1945); ties (0) are counted and left out.

    Equal sizes share their mean rank, and the p value is exact with them; above :data:`MOST_RANKED` differences it is
    from a normal approximation with the variance of the tied ranks. The share is that of the signs. Assumes independent
    differences that are symmetric around their median; where only their signs can be trusted take :func:`sign_test`.

    Raises:
        InputError: empty, or a difference that is NaN or infinite.
    """
    signs = sign_test(differences)
    values = np.asarray(differences, dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"difference {np.isinf(values).argmax()} is infinite: leave out pairs without a value")
    moved = values[values != 0]
    doubled = np.rint(2 * mean_ranks(np.abs(moved)))  # mean ranks may be halves
    exact = len(moved) <= MOST_RANKED
    method = f"signed rank, {'exact given ties' if exact else 'normal approximation'}, zeros left out"
    p_value = _two_sided(doubled, float(doubled @ np.sign(moved)), exact=exact)
    return replace(signs, p_value=p_value, method=method)


def mean_ranks(sizes: Floats) -> Floats:
    """Ranks from 1 on; equal sizes share their mean rank."""
    _, places, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]
