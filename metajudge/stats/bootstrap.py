"""Cluster bootstrap of ratios: means, precisions and their differences.

Judgments of one question are not independent, so whole clusters (questions) are drawn with replacement, as many as
there are (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8). Every statistic here is
a ratio of sums over clusters, or the difference of two; so a resample needs only the clusters' sums and how often each
was drawn.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtrit

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, coded
from metajudge.stats.interval_estimate import CONFIDENCE, Estimate, check_confidence

_CHUNK = 1 << 18
"""Drawn clusters kept in memory at once."""

_SMALL = 1 << 17
"""Multiplications of one product of matrices: of more, a linear-algebra library starts threads, which cost more."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of sums: numerators [n] and denominators [n], one each per observation."""

    numerator: ArrayLike
    denominator: ArrayLike


@dataclass(frozen=True, slots=True)
class BootstrapEstimate(Estimate):
    """A figure with its bootstrap interval; resamples without a value (a denominator of 0) are left out of it."""

    clusters: int
    resamples: int


def bootstrap_mean(
    values: ArrayLike, clusters: Sequence[Hashable] | None = None, *, rng: np.random.Generator, resamples: int = 10_000
) -> BootstrapEstimate:
    """The mean of values [n]; arguments and errors as for :func:`bootstrap_ratio`."""
    vector = _vector("values", values)
    sums = _cluster_sums(clusters, values=vector, count=np.ones_like(vector))
    return _bootstrap([sums], lambda clusters: drawn_weights(clusters, resamples, rng), resamples)[0]


def bootstrap_ratio(
    numerator: ArrayLike,
    denominator: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
) -> BootstrapEstimate:
    """The ratio ``sum(numerator) / sum(denominator)`` with an interval from resampled clusters.

    Args:
        numerator: [n], finite.
        denominator: [n], finite and not negative.
        clusters: the cluster of each observation, such as its question; None: each is its own.
        rng: the only source of randomness; the same seed gives the same interval.
        resamples: at least 100.

    Raises:
        InputError: empty or unequal lengths, NaN, a denominator that is negative or sums to 0, fewer than two
            clusters, or an option out of range.
    """
    sums = _cluster_sums(clusters, numerator=numerator, denominator=denominator)
    return _bootstrap([sums], lambda clusters: drawn_weights(clusters, resamples, rng), resamples)[0]


def bootstrap_difference(
    first: Ratio,
    second: Ratio,
    clusters: Sequence[Hashable] | None = None,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    confidence: float = CONFIDENCE,
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
    """
    check_confidence(confidence)
    tables = _difference_tables([(first, second)], clusters)
    return _bootstrap(tables, lambda clusters: drawn_weights(clusters, resamples, rng), resamples, confidence)[0]


def bootstrap_differences(
    pairs: Sequence[tuple[Ratio, Ratio]], clusters: Sequence[Hashable] | None = None, *, draws: "SharedDraws"
) -> list[BootstrapEstimate]:
    """:func:`bootstrap_difference` of several pairs of ratios over the same observations, by one set of resamples.

    Drawing costs far more than the sums: each result is the one that a fresh generator gives alone.

    Args:
        pairs: first and second ratio of each difference.
        draws: gives the resamples.
    """
    tables = _difference_tables(pairs, clusters)
    return _bootstrap(tables, draws.weights, draws.resamples) if tables else []


class SharedDraws:
    """Resamples that figures with an equal seed share: how often each cluster is drawn, by the number of clusters.

    Every figure gets what a generator that is made of the seed for it alone would give.

    Args:
        seed: of the generator.
        resamples: at least 100.
        most_bytes: of resamples that are kept, two bytes a cluster and resample; what is larger is drawn every time.
    """

    def __init__(self, seed: int, resamples: int, most_bytes: int = 1 << 26) -> None:
        self.resamples = resamples
        self._seed, self._left = seed, most_bytes
        self._kept: dict[int, list[NDArray[np.uint16]]] = {}

    def weights(self, clusters: int) -> Iterator[NDArray[np.integer[Any]]]:
        """[rows, clusters] how often each is drawn, for a chunk of resamples after another."""
        if clusters in self._kept:
            yield from self._kept[clusters]
            return
        drawn = drawn_weights(clusters, self.resamples, np.random.default_rng(self._seed))
        size = 2 * clusters * self.resamples
        if size > self._left or clusters > np.iinfo(np.uint16).max:
            yield from drawn
            return
        self._left -= size
        self._kept[clusters] = [weights.astype(np.uint16) for weights in drawn]
        yield from self._kept[clusters]


def _difference_tables(
    pairs: Sequence[tuple[Ratio, Ratio]], clusters: Sequence[Hashable] | None
) -> list[tuple[Floats, int]]:
    return [
        _cluster_sums(
            clusters,
            first_numerator=first.numerator,
            first_denominator=first.denominator,
            second_numerator=second.numerator,
            second_denominator=second.denominator,
        )
        for first, second in pairs
    ]


def _ratios(sums: Floats) -> Floats:
    """The ratio of the first two columns, less that of the next two where there are any."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = sums[:, ::2] / sums[:, 1::2]
    return np.asarray(ratios[:, 0] - ratios[:, 1] if ratios.shape[1] > 1 else ratios[:, 0], dtype=np.float64)


def _bootstrap(
    samples: Sequence[tuple[Floats, int]],
    weights: Callable[[int], Iterable[NDArray[np.integer[Any]]]],
    resamples: int,
    confidence: float = CONFIDENCE,
) -> list[BootstrapEstimate]:
    """Estimates from one set of resamples; ``weights`` gives how often each of so many clusters is drawn."""
    if resamples < 100:
        raise InputError(f"resamples must be at least 100, not {resamples}: an interval needs its tails filled")
    together = np.hstack([table for table, _ in samples])
    step = max(1, _SMALL // together.size)
    every = np.concatenate(
        [
            some[at : at + step].astype(np.float64) @ together
            for some in weights(len(together))
            for at in range(0, len(some), step)
        ]
    )
    found, start = [], 0
    for table, n in samples:
        drawn = _ratios(every[:, start : start + table.shape[1]])
        start += table.shape[1]
        values = drawn[np.isfinite(drawn)]
        tail = _expanded_tail(len(table), confidence)
        low, high = np.quantile(values, [tail, 1 - tail])
        found.append(
            BootstrapEstimate(
                estimate=float(_ratios(table.sum(axis=0, keepdims=True))[0]),
                low=float(low),
                high=float(high),
                n=n,
                clusters=len(table),
                confidence=confidence,
                method="percentile cluster bootstrap, expanded",
                resamples=resamples,
            )
        )
    return found


def drawn_weights(
    clusters: int, resamples: int, rng: np.random.Generator, most: int | None = None
) -> Iterator[NDArray[np.integer[Any]]]:
    """[rows, clusters] how often each of the clusters is drawn, for a chunk of resamples after another.

    Counting drawn indices gives multinomial weights, several times faster than drawing the counts.

    Args:
        most: resamples of a chunk; None for as many as memory takes well.
    """
    step = most or max(1, _CHUNK // clusters)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = rng.integers(0, clusters, size=(rows, clusters))
        drawn += np.arange(rows)[:, None] * clusters
        yield np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)


def _expanded_tail(clusters: int, confidence: float) -> float:
    """The level at which to read the lower quantile so that few clusters do not give too narrow an interval.

    A resample of k clusters varies by ``(k - 1) / k`` of what it should, and k clusters know their own variance as
    well as Student's t says: ``Phi(sqrt(k / (k - 1)) t)`` in place of the nominal tail (Hesterberg, "What Teachers
    Should Know About the Bootstrap", 2015, section 4.1).
    """
    t = float(stdtrit(clusters - 1, (1 - confidence) / 2))
    return float(ndtr(np.sqrt(clusters / (clusters - 1)) * t))


def _cluster_sums(clusters: Sequence[Hashable] | None, **columns: ArrayLike) -> tuple[Floats, int]:
    """[clusters, columns] numerators and denominators in turn, summed by cluster; and the number of observations."""
    vectors = {name: _vector(name, values) for name, values in columns.items()}
    names = list(vectors)
    for name in names[1:]:
        one, other = len(vectors[names[0]]), len(vectors[name])
        if one != other:
            raise InputError(f"{names[0]} has {one} values, {name} has {other}: they must match one to one")
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
        if len(clusters) != n:
            raise InputError(f"clusters has {len(clusters)} entries for {n} observations: give each its cluster")
        codes = coded(clusters)[1]
        table = np.zeros((codes.max() + 1, stacked.shape[1]))
        np.add.at(table, codes, stacked)
    if len(table) < 2:
        raise InputError("a cluster bootstrap needs at least two clusters: with one there is nothing to resample")
    return table, n


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
