"""Groups of near duplicates: MinHash, banded, every candidate checked against the true similarity.

Texts are compared as sets of words and pairs of neighbouring words (:func:`~metajudge.exports.words.words_of`).
MinHash estimates the Jaccard similarity (Broder, "On the Resemblance and Containment of Documents", 1997); texts that
agree in a whole band of minima are candidates (Indyk and Motwani, 1998), and a candidate counts only where the exact
similarity reaches the threshold. With 20 bands of 5, a pair at similarity 0.7 is found with probability 0.97, at 0.8
with 0.9996. In a bucket of many texts each is compared with the first and with its neighbours in the order of their
signatures, so that time stays linear.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from metajudge.exports.words import Words, mixed
from metajudge.exports.workspace import ahead
from metajudge.stats.arrays import Indices

Number = TypeVar("Number", np.uint64, np.int64)
BANDS: Final = 20
ROWS: Final = 5
NEIGHBOURS: Final = 3
_CHUNK: Final = 4_096
_FIELD: Final = 0x1E3779B1


def near_groups(chunks: Iterable[Sequence[Words]], threshold: float, seed: int = 0) -> Indices:
    """Groups of texts that are near duplicates of each other, directly or over others.

    Args:
        chunks: some rows at a time, as one or several fields (the words of as many texts each); two rows are near
            duplicates where every field is. Words are not held.
        threshold: of the Jaccard similarity, in (0, 1].
        seed: of the hash functions.

    Returns:
        [n] the lowest index of each row's group.
    """
    sets = _Sets.of(chunks)
    if not sets:
        return np.zeros(0, dtype=np.int64)
    count = len(sets[0].ends)
    neighbourhood = _minima(sets, seed, BANDS, 2)
    roots = np.arange(count)
    bands = (_candidates(_minima(sets, seed, band, ROWS), neighbourhood) for band in range(BANDS))
    for first, second in ahead(bands):
        similar = roots[first] != roots[second]
        for one in sets:
            at = np.flatnonzero(similar)
            similar[at] = one.similarities(first[at], second[at]) >= threshold - 1e-9
        if similar.any():
            roots = _joined(roots, first[similar], second[similar])
    return roots


def _joined(roots: Indices, first: Indices, second: Indices) -> Indices:
    """[n] the lowest index of each row's group, once the groups of some pairs are one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = coo_array((np.ones(len(first)), (roots[first], roots[second])), shape=(len(roots), len(roots)))
    _, group = connected_components(pairs, directed=False)
    lowest = np.empty(len(roots), dtype=np.int64)
    lowest[group[::-1]] = np.arange(len(roots))[::-1]  # the last one written stays
    found: Indices = lowest[group[roots]]
    return found


class _Sets:
    """Each text as a sorted set of hashes, all in one array."""

    def __init__(self, values: NDArray[np.uint32], ends: Indices) -> None:
        self.values = values
        self.ends = ends
        self.starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]])

    @classmethod
    def of(cls, chunks: Iterable[Sequence[Words]]) -> "list[_Sets]":
        """One for each field."""
        found = [list(map(_features, fields)) for fields in chunks]
        return [
            cls(
                np.concatenate([values for values, _ in field]),
                np.cumsum(np.concatenate([sizes for _, sizes in field])),
            )
            for field in zip(*found, strict=True)
        ]

    def similarities(self, first: Indices, second: Indices) -> NDArray[np.float64]:
        """Jaccard similarity of each pair; two texts without words are alike."""
        found = np.empty(len(first))
        for start in range(0, len(first), _CHUNK):
            sides = [self._keyed(side[start : start + _CHUNK]) for side in (first, second)]
            count = len(found[start : start + _CHUNK])
            shared = np.intersect1d(sides[0][0], sides[1][0], assume_unique=True)
            both = np.bincount(shared >> 32, minlength=count)
            union = sides[0][1] + sides[1][1] - both
            found[start : start + _CHUNK] = np.where(union > 0, both / np.maximum(union, 1), 1.0)
        return found

    def _keyed(self, rows: Indices) -> tuple[Indices, Indices]:
        """The hashes of some rows behind the place of each, and how many each has."""
        sizes = self.ends[rows] - self.starts[rows]
        places = np.arange(sizes.sum()) + np.repeat(self.starts[rows] - np.cumsum(sizes) + sizes, sizes)
        return np.repeat(np.arange(len(rows)) << 32, sizes) | self.values[places], sizes


def _features(words: Words) -> tuple[NDArray[np.uint32], Indices]:
    """The different words and word pairs of each text, sorted within it, and how many they are; 32 bits suffice."""
    texts = words.texts.astype(np.uint64) << np.uint64(32)
    pairs = mixed(words.hashes[:-1] * np.uint64(3) + words.hashes[1:]) >> np.uint64(32)
    same = texts[:-1] == texts[1:]
    keys = _different(np.concatenate([texts | words.hashes >> np.uint64(32), (texts[:-1] | pairs)[same]]))
    owners = (keys >> np.uint64(32)).astype(np.int64)
    return keys.astype(np.uint32), np.bincount(owners, minlength=len(words.ends)).astype(np.int64)


def _different(values: NDArray[Number]) -> NDArray[Number]:
    """The different values, ascending; numpy's own function makes a table of hashes, which takes five times as long."""
    values = np.sort(values)
    found: NDArray[Number] = values[np.concatenate([[True], values[1:] != values[:-1]])[: len(values)]]
    return found


def _minima(sets: Sequence[_Sets], seed: int, band: int, size: int) -> NDArray[np.uint32]:
    """[n, size] minima over all fields under random linear hashes of 32 bits; one band at a time saves memory."""
    rng = np.random.default_rng([seed, 31, band])
    factors = rng.integers(1, 1 << 32, size, dtype=np.uint64).astype(np.uint32) | np.uint32(1)
    shifts = rng.integers(0, 1 << 32, size, dtype=np.uint64).astype(np.uint32)
    count = len(sets[0].ends)
    found = np.full((count, size), np.iinfo(np.uint32).max, dtype=np.uint32)
    for field, one in enumerate(sets):
        for start in range(0, count, _CHUNK):
            stop = min(start + _CHUNK, count)
            rows = start + np.flatnonzero(one.ends[start:stop] > one.starts[start:stop])
            if not len(rows):
                continue
            low, high = one.starts[start], one.ends[stop - 1]
            values, places = one.values[low:high] ^ np.uint32(field * _FIELD), one.starts[rows] - low
            for column in range(size):
                minima = np.minimum.reduceat(values * factors[column] + shifts[column], places)
                found[rows, column] = np.minimum(found[rows, column], minima)
    return found


def _candidates(band: NDArray[np.uint32], neighbourhood: NDArray[np.uint32]) -> tuple[Indices, Indices]:
    """Pairs (lower index first) that share a bucket of this band."""
    key = np.zeros(len(band), dtype=np.uint64)
    for column in band.T:
        key = mixed(key * np.uint64(31) + column.astype(np.uint64))
    order = np.argsort(key, kind="stable")
    shared = np.flatnonzero(key[order][1:] == key[order][:-1])
    if not len(shared):
        return shared, shared
    members = order[np.unique(np.concatenate([shared, shared + 1]))]
    members = members[np.lexsort((members, *neighbourhood[members].T, key[members]))]
    keys = key[members]
    new = np.concatenate([[True], keys[1:] != keys[:-1]])
    leader = members[np.flatnonzero(new)][np.cumsum(new) - 1]
    found = [(leader, members)]
    for step in range(1, NEIGHBOURS + 1):
        same = keys[step:] == keys[:-step]
        found.append((members[:-step][same], members[step:][same]))
    first, second = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    low, high = np.minimum(first, second), np.maximum(first, second)
    pairs = _different((low << 32 | high)[low != high])
    return pairs >> 32, pairs & 0xFFFF_FFFF
