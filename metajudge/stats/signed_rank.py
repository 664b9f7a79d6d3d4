"""Wilcoxon's signed-rank test, exact with ties."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats
from metajudge.stats.paired import fair_sums

LARGEST_EXACT = 500
"""Up to so many differences other than 0 the distribution is counted out."""


@dataclass(frozen=True, slots=True)
class SignedRank:
    """Whether paired differences lie symmetrically around zero.

    Attributes:
        estimate: matched-pairs rank-biserial correlation in [-1, 1], the share of rank sum above zero less that below
            (Kerby, 2014); None where all differences are 0.
        statistic: sum of the ranks of the positive differences.
        p_value: two-sided; 1 where all differences are 0.
        n: all differences, those of 0 included.
        zeros: differences of 0, left out of the ranking (Wilcoxon's rule).
        method: exact or normal approximation.
    """

    estimate: float | None
    statistic: float
    p_value: float
    n: int
    zeros: int
    method: str


def wilcoxon_signed_rank(differences: Sequence[float]) -> SignedRank:
    """Tests whether paired differences are symmetric around zero (Wilcoxon, 1945).

    Equal sizes share their mean rank. Given the sizes, every sign is a fair coin, so the distribution of the rank sum
    is counted out exactly, with ties too; above :data:`LARGEST_EXACT` differences a normal approximation with the
    variance of the tied ranks is used. Assumes independent differences that are symmetric around their median; where
    only their signs can be trusted take :func:`metajudge.stats.paired.sign_test`.

    Raises:
        InputError: no differences, or one that is NaN or infinite.
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise InputError("give a list of differences, one a pair, at least one: there is nothing to test")
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"difference {at} is {values[at]}: leave out pairs without a value")
    moved = values[values != 0]
    zeros = len(values) - len(moved)
    if not len(moved):
        return SignedRank(None, 0.0, 1.0, len(values), zeros, "signed rank: all differences are 0")
    ranks = mean_ranks(np.abs(moved))
    positive, total = float(ranks[moved > 0].sum()), float(ranks.sum())
    exact = len(moved) <= LARGEST_EXACT
    p_value = _exact(ranks, positive) if exact else _approximate(ranks, positive)
    method = f"signed rank, {'exact given ties' if exact else 'normal approximation'}, zeros left out"
    return SignedRank(2 * positive / total - 1, positive, p_value, len(values), zeros, method)


def mean_ranks(sizes: Floats) -> Floats:
    """Ranks from 1 on; equal sizes share their mean rank."""
    _, places, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def _exact(ranks: Floats, positive: float) -> float:
    # Mean ranks are halves at finest: doubled they are whole, and sums of subsets can be counted.
    chances, observed = fair_sums(np.rint(2 * ranks)), round(2 * positive)
    return min(1.0, 2 * float(min(chances[: observed + 1].sum(), chances[observed:].sum())))


def _approximate(ranks: Floats, positive: float) -> float:
    from scipy.special import ndtr

    mean, deviation = ranks.sum() / 2, np.sqrt(np.sum(ranks**2)) / 2
    return float(min(1.0, 2 * ndtr(-abs(positive - mean) / deviation)))
