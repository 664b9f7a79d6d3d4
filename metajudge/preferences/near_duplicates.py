"""Groups of near duplicates: MinHash, banded, every candidate checked against the true similarity.

Texts are compared as sets of words and pairs of neighbouring words (:func:`~metajudge.preferences.words.words_of`).
MinHash estimates the Jaccard similarity (Broder, "On the Resemblance and Containment of Documents", 1997); texts that
agree in a whole band of minima are candidates (Indyk and Motwani, 1998), and a candidate counts only where the exact
similarity reaches the threshold. With 20 bands of 5, a pair at similarity 0.7 is found with probability 0.97, at 0.8
with 0.9996. In a bucket of many texts each is compared with the first and with its neighbours in the order of their
signatures, so that time stays linear.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from metajudge.preferences.words import (
    Words,
    mixed,
    words_of,
)
from metajudge.stats.arrays import Indices

BANDS: Final = 20
ROWS: Final = 5
NEIGHBOURS: Final = 3
_CHUNK: Final = 4_096
_FIELD: Final = 0x1E3779B1


def near_groups(chunks: Iterable[Sequence[Sequence[str]]], threshold: float, seed: int = 0) -> Indices:
    """Groups of texts that are near duplicates of each other, directly or over others.

    Args:
        chunks: some rows at a time, as one or several fields (lists of texts of one length); two rows are near
            duplicates where every field is. Texts are not held.
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
    groups = _Groups(count)
    for band in range(BANDS):
        first, second = _candidates(_minima(sets, seed, band, ROWS), neighbourhood)
        open_pairs = groups.apart(first, second)
        first, second = first[open_pairs], second[open_pairs]
        similar = np.ones(len(first), dtype=bool)
        for one in sets:
            at = np.flatnonzero(similar)
            similar[at] = one.similarities(first[at], second[at]) >= threshold - 1e-9
        groups.join(first[similar], second[similar])
    return groups.roots()


class _Sets:
    """Each text as a sorted set of hashes, all in one array."""

    def __init__(self, values: NDArray[np.uint32], ends: Indices) -> None:
        self.values = values
        self.ends = ends
        self.starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]])

    @classmethod
    def of(cls, chunks: Iterable[Sequence[Sequence[str]]]) -> "list[_Sets]":
        """One for each field."""
        found = [[_features(words_of(texts)) for texts in fields] for fields in chunks]
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
        for index, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            one = self.values[self.starts[a] : self.ends[a]]
            other = self.values[self.starts[b] : self.ends[b]]
            union = len(one) + len(other)
            both = len(np.intersect1d(one, other, assume_unique=True)) if union else 0
            found[index] = both / (union - both) if union else 1.0
        return found


def _features(words: Words) -> tuple[NDArray[np.uint32], Indices]:
    """The different words and word pairs of each text, sorted within it, and how many they are; 32 bits suffice."""
    texts = words.texts
    pairs = mixed(words.hashes[:-1] * np.uint64(3) + words.hashes[1:])
    same = texts[:-1] == texts[1:]
    values = (np.concatenate([words.hashes, pairs[same]]) >> np.uint64(32)).astype(np.uint32)
    owners = np.concatenate([texts, texts[:-1][same]])
    order = np.lexsort((values, owners))
    values, owners = values[order], owners[order]
    new = np.ones(len(values), dtype=bool)
    new[1:] = (values[1:] != values[:-1]) | (owners[1:] != owners[:-1])
    counts = np.bincount(owners[new], minlength=len(words.ends)).astype(np.int64)
    return values[new], counts


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
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty
    members = order[np.unique(np.concatenate([shared, shared + 1]))]
    members = members[np.lexsort((members, *neighbourhood[members].T, key[members]))]
    keys = key[members]
    new = np.concatenate([[True], keys[1:] != keys[:-1]])
    leader = members[np.flatnonzero(new)][np.cumsum(new) - 1]
    pairs = [(leader, members)]
    for step in range(1, NEIGHBOURS + 1):
        same = keys[step:] == keys[:-step]
        pairs.append((members[:-step][same], members[step:][same]))
    first, second = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    low, high = np.minimum(first, second), np.maximum(first, second)
    different = low != high
    unique = np.unique(np.stack([low[different], high[different]], axis=1), axis=0)
    return unique[:, 0].astype(np.int64), unique[:, 1].astype(np.int64)


class _Groups:
    """Disjoint sets; the root of a group is its lowest index, whatever the order of joining."""

    def __init__(self, count: int) -> None:
        self._root = list(range(count))

    def _find(self, index: int) -> int:
        root = self._root
        while root[index] != index:
            root[index] = root[root[index]]
            index = root[index]
        return index

    def apart(self, first: Indices, second: Indices) -> NDArray[np.bool_]:
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        return np.fromiter((self._find(a) != self._find(b) for a, b in pairs), dtype=bool, count=len(first))

    def join(self, first: Indices, second: Indices) -> None:
        for a, b in zip(first.tolist(), second.tolist(), strict=True):
            one, other = sorted((self._find(a), self._find(b)))
            self._root[other] = one

    def roots(self) -> Indices:
        return np.fromiter((self._find(index) for index in range(len(self._root))), dtype=np.int64)
