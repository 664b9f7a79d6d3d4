"""Cluster bootstrap of ratios: means, precisions and their differences.

Judgments of one question are not independent, so whole clusters (questions) are drawn with replacement, as many as
there are (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8). Every statistic here is
a ratio of sums over clusters, or the difference of two; so a resample needs only the clusters' sums and how often each
was drawn.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats
from metajudge.stats.interval_estimate import Estimate, check_confidence

Interval: TypeAlias = Literal["percentile", "bca"]

_CHUNK = 1 << 20
"""Drawn clusters kept in memory at once."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of sums: numerators [n] and denominators [n], one each per observation."""

    numerator: ArrayLike
    denominator: ArrayLike


@dataclass(frozen=True, slots=True)
class BootstrapEstimate(Estimate):
    """A figure with its bootstrap interval.

    Attributes:
        estimate: the statistic of the data themselves.
        low: lower end of the interval.
        high: upper end of the interval.
        n: observations.
        clusters: independent units that were resampled.
        confidence: nominal coverage, in (0, 1).
        method: ``percentile`` or ``bca``, with the unit.
        resamples: how often the clusters were drawn.
        undefined: resamples without a value (a denominator of 0, as where nothing is kept); left out of the interval.
    """

    clusters: int
    resamples: int
    undefined: int


def bootstrap_mean(
    values: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    confidence: float = 0.95,
    interval: Interval = "percentile",
) -> BootstrapEstimate:
    """The mean of values [n]; arguments and errors as for :func:`bootstrap_ratio`."""
    vector = _vector("values", values)
    sums = _cluster_sums(clusters, values=vector, count=np.ones_like(vector))
    return _bootstrap(sums, _ratio, rng, resamples, confidence, interval)


def bootstrap_precision(
    correct: ArrayLike,
    kept: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    confidence: float = 0.95,
    interval: Interval = "percentile",
) -> BootstrapEstimate:
    """The share of correct ones among the kept; both are 0/1 vectors [n] over **all** judgments.

    Those not kept belong to their clusters and take part in the drawing, so the number kept varies as it would in new
    data. Further arguments and errors as for :func:`bootstrap_ratio`.
    """
    right, chosen = _indicator("correct", correct), _indicator("kept", kept)
    _same_length("correct", right, "kept", chosen)
    sums = _cluster_sums(clusters, right=right * chosen, kept=chosen)
    return _bootstrap(sums, _ratio, rng, resamples, confidence, interval)


def bootstrap_ratio(
    numerator: ArrayLike,
    denominator: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    confidence: float = 0.95,
    interval: Interval = "percentile",
) -> BootstrapEstimate:
    """The ratio ``sum(numerator) / sum(denominator)`` with an interval from resampled clusters.

    Args:
        numerator: [n], finite.
        denominator: [n], finite and not negative.
        clusters: the cluster of each observation, such as its question; None: each is its own.
        rng: the only source of randomness; the same seed gives the same interval.
        resamples: at least 100.
        confidence: nominal coverage, in (0, 1).
        interval: ``percentile`` takes quantiles of the resampled values; ``bca`` corrects them for bias and skewness
            (Efron, 1987) with a jackknife over clusters. Both are too narrow with few clusters (below about 20).

    Raises:
        InputError: empty or unequal lengths, NaN, a denominator that is negative or sums to 0, fewer than two
            clusters, or an option out of range.
    """
    sums = _cluster_sums(clusters, numerator=numerator, denominator=denominator)
    return _bootstrap(sums, _ratio, rng, resamples, confidence, interval)


def bootstrap_difference(
    first: Ratio,
    second: Ratio,
    clusters: Sequence[Hashable] | None = None,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    confidence: float = 0.95,
    interval: Interval = "percentile",
) -> BootstrapEstimate:
    """The difference of two ratios over the **same** observations, first minus second, resampled together.

    For the precision of two selections give ``Ratio(correct & kept, kept)`` of each.

    Args:
        first: the first ratio.
        second: the second ratio.
        clusters: as for :func:`bootstrap_ratio`, like the further options and the errors.
        rng: the only source of randomness.
        resamples: at least 100.
        confidence: nominal coverage, in (0, 1).
        interval: ``percentile`` or ``bca``.
    """
    sums = _cluster_sums(
        clusters,
        first_numerator=first.numerator,
        first_denominator=first.denominator,
        second_numerator=second.numerator,
        second_denominator=second.denominator,
    )
    return _bootstrap(sums, _difference, rng, resamples, confidence, interval)


@dataclass(frozen=True, slots=True)
class _ClusterSums:
    n: int
    table: Floats
    """[clusters, columns]: numerators and denominators in turn."""


def _ratio(sums: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 0] / sums[:, 1], dtype=np.float64)


def _difference(sums: Floats) -> Floats:
    return _ratio(sums[:, :2]) - _ratio(sums[:, 2:])


def _bootstrap(
    sums: _ClusterSums,
    statistic: Callable[[Floats], Floats],
    rng: np.random.Generator,
    resamples: int,
    confidence: float,
    interval: Interval,
) -> BootstrapEstimate:
    check_confidence(confidence)
    if resamples < 100:
        raise InputError(f"resamples must be at least 100, not {resamples}: an interval needs its tails filled")
    if interval not in ("percentile", "bca"):
        raise InputError(f"interval must be 'percentile' or 'bca', not {interval!r}")
    table = sums.table
    estimate = float(statistic(table.sum(axis=0, keepdims=True))[0])
    drawn = statistic(_resampled_sums(table, resamples, rng))
    values = drawn[np.isfinite(drawn)]
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if interval == "bca":
        tails = _bca_tails(tails, estimate, values, statistic(table.sum(axis=0) - table))
    low, high = np.quantile(values, tails)
    return BootstrapEstimate(
        estimate=estimate,
        low=float(low),
        high=float(high),
        n=sums.n,
        clusters=len(table),
        confidence=confidence,
        method=f"{interval} cluster bootstrap",
        resamples=resamples,
        undefined=resamples - len(values),
    )


def _resampled_sums(table: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """[resamples, columns]: the column sums over as many clusters as there are, drawn with replacement."""
    clusters = len(table)
    sums = np.empty((resamples, table.shape[1]))
    step = max(1, _CHUNK // clusters)
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        # Counting drawn indices gives multinomial weights, several times faster than drawing the counts.
        drawn = rng.integers(0, clusters, size=(stop - start, clusters))
        drawn += np.arange(stop - start)[:, None] * clusters
        weights = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        sums[start:stop] = weights @ table
    return sums


def _bca_tails(tails: Floats, estimate: float, values: Floats, jackknife: Floats) -> Floats:
    """The bias-corrected and accelerated levels at which to read the quantiles (Efron, 1987)."""
    below = (np.mean(values < estimate) + np.mean(values <= estimate)) / 2
    if not 0 < below < 1:  # every resample on one side: there is no bias to correct by
        return tails
    leave_one_out = jackknife[np.isfinite(jackknife)]
    deviations = leave_one_out.mean() - leave_one_out
    spread = float(np.sum(deviations**2)) ** 1.5
    acceleration = float(np.sum(deviations**3)) / (6 * spread) if spread > 0 else 0.0
    bias = ndtri(below)
    shifted = bias + ndtri(tails)
    return np.asarray(ndtr(bias + shifted / (1 - acceleration * shifted)), dtype=np.float64)


def _cluster_sums(clusters: Sequence[Hashable] | None, **columns: ArrayLike) -> _ClusterSums:
    vectors = {name: _vector(name, values) for name, values in columns.items()}
    names = list(vectors)
    for name in names[1:]:
        _same_length(names[0], vectors[names[0]], name, vectors[name])
    for name in names[1::2]:
        if (vectors[name] < 0).any():
            raise InputError(f"{name} contains negative values: a ratio needs a denominator that only adds up")
        if vectors[name].sum() == 0:
            raise InputError(f"{name} sums to 0: the ratio is undefined (nothing was kept); report it as such")
    stacked = np.column_stack(list(vectors.values()))
    n = len(stacked)
    if clusters is None:
        table = stacked
    else:
        codes = _codes(clusters, n)
        table = np.zeros((codes.max() + 1, stacked.shape[1]))
        np.add.at(table, codes, stacked)
    if len(table) < 2:
        raise InputError("a cluster bootstrap needs at least two clusters: with one there is nothing to resample")
    return _ClusterSums(n, table)


def _codes(clusters: Sequence[Hashable], n: int) -> NDArray[np.intp]:
    if len(clusters) != n:
        raise InputError(f"clusters has {len(clusters)} entries for {n} observations: give each its cluster")
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(cluster, len(seen)) for cluster in clusters], dtype=np.intp)


def _vector(name: str, values: ArrayLike) -> Floats:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise InputError(f"{name} must be a vector, not an array of shape {vector.shape}")
    if not len(vector):
        raise InputError(f"{name} is empty: there is nothing to estimate")
    if not np.isfinite(vector).all():
        at = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise InputError(f"{name}[{at}] is {vector[at]}: leave out observations without a value")
    return vector


def _indicator(name: str, values: ArrayLike) -> Floats:
    vector = _vector(name, values)
    other = vector[(vector != 0) & (vector != 1)]
    if len(other):
        raise InputError(f"{name} must contain only 0 and 1 (or False and True), not {other[0]:g}")
    return vector


def _same_length(first: str, one: Floats, second: str, other: Floats) -> None:
    if len(one) != len(other):
        raise InputError(f"{first} has {len(one)} values, {second} has {len(other)}: they must match one to one")
