"""Maps and sets of millions of integers that stay in memory."""

import threading
from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

MIN_SETTLED: Final = 4_096


class CompactMap:
    """64-bit integers by 64-bit integers, 16 bytes an entry where a dict takes a hundred and more.

    The entries are two arrays, ordered by key; the newest are in a dict and merged once there are enough of them.
    Any thread may read and write at any time.
    """

    def __init__(self) -> None:
        self._settled: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]] = (_EMPTY, _EMPTY)
        self._newest: dict[int, int] = {}
        self._writing = threading.Lock()

    def put(self, key: int, value: int) -> None:
        """Sets the value of a key."""
        self.update([key], [value])

    def update(self, keys: Iterable[int], values: Iterable[int]) -> None:
        """Sets the values of many keys."""
        with self._writing:
            self._newest.update(zip(keys, values, strict=True))
            # A merge costs time linear in all entries, so wait until the new ones are a fixed fraction.
            if len(self._newest) < max(MIN_SETTLED, len(self._settled[0]) // 16):
                return
            self._settle()

    def _settle(self) -> None:
        """Merges the newest entries; call with the lock held."""
        keys = np.fromiter(self._newest, dtype=np.uint64, count=len(self._newest))
        values = np.fromiter(self._newest.values(), dtype=np.uint64, count=len(self._newest))
        order = keys.argsort()
        keys, values = keys[order], values[order]
        self._settled = _laid_over(self._settled, keys, values)
        self._newest = {}  # only now: a concurrent reader finds an entry in one of them

    def add(self, keys: npt.NDArray[np.uint64], values: npt.NDArray[np.uint64]) -> None:
        """Adds many entries at once; the last one counts among equal keys, and existing entries are kept."""
        order = keys.argsort(kind="stable")
        keys, values = keys[order], values[order]
        last = np.append(keys[1:] != keys[:-1], True) if len(keys) else np.empty(0, dtype=bool)
        with self._writing:
            self._settled = _laid_over((keys[last], values[last]), *self._settled)

    def get(self, key: int) -> int | None:
        """The value of a key, None if missing."""
        newest = self._newest.get(key)  # before the arrays: entries go from here to there
        if newest is not None:
            return newest
        keys, values = self._settled
        place = int(keys.searchsorted(np.uint64(key)))
        return int(values[place]) if place < len(keys) and int(keys[place]) == key else None

    def get_many(self, keys: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
        """The values of many keys, and which of the keys have one; the value of the others is 0."""
        newest = self._newest  # before the arrays: entries go from here to there
        known, values = self._settled
        found, there = np.zeros(len(keys), dtype=np.uint64), np.zeros(len(keys), dtype=bool)
        if len(known):
            places = np.minimum(known.searchsorted(keys), len(known) - 1)
            there = known[places] == keys
            found[there] = values[places[there]]
        if newest:
            for place, key in enumerate(keys.tolist()):
                value = newest.get(key)
                if value is not None:
                    found[place], there[place] = value, True
        return found, there

    def contain(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Which of many keys have a value."""
        return self.get_many(keys)[1]

    def __contains__(self, key: int) -> bool:
        return self.get(key) is not None


class CompactSet:
    """64-bit integers that are spread evenly, such as digests: 4 bytes each, of which it keeps the first 48 bits.

    One that was added is always found; one that was not is found too where its first 48 bits are those of another. The
    first 16 bits tell the part of an ordered array that the next 32 are in. The newest are in a set and merged once
    there are enough of them. Any thread may read and write at any time.
    """

    def __init__(self) -> None:
        self._settled: tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]] = (_STARTS, _EMPTY.astype(np.uint32))
        self._newest: set[int] = set()
        self._writing = threading.Lock()

    def update(self, keys: Iterable[int]) -> None:
        """Adds many keys."""
        with self._writing:
            self._newest.update(key >> _DROPPED for key in keys)
            if len(self._newest) >= max(MIN_SETTLED, len(self._settled[1]) // 64):
                self._settle(np.fromiter(self._newest, dtype=np.uint64, count=len(self._newest)))
                self._newest = set()  # only now: a concurrent reader finds a key in one of them

    def add(self, keys: npt.NDArray[np.uint64]) -> None:
        """Adds many keys at once."""
        with self._writing:
            self._settle(keys >> np.uint64(_DROPPED))

    def _settle(self, shortened: npt.NDArray[np.uint64]) -> None:
        """Merges keys of 48 bits into the ordered array; call with the lock held."""
        shortened = np.unique(shortened)
        starts, rests = self._settled
        places, there = _found(starts, rests, shortened)
        new = shortened[~there]
        merged = np.insert(rests, places[~there], new.astype(np.uint32))
        counts = np.bincount((new >> np.uint64(32)).astype(np.int64), minlength=_PARTS)
        self._settled = (starts + np.concatenate(([0], counts.cumsum())), merged)

    def contain(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Which of many keys were added."""
        newest = self._newest  # before the array: keys go from here to there
        shortened = keys >> np.uint64(_DROPPED)
        there = _found(*self._settled, shortened)[1]
        if newest:
            there |= np.fromiter((key in newest for key in shortened.tolist()), dtype=bool, count=len(keys))
        return there

    def __contains__(self, key: int) -> bool:
        shortened = key >> _DROPPED
        if shortened in self._newest:  # before the array: keys go from here to there
            return True
        starts, rests = self._settled
        part, rest = shortened >> 32, np.uint32(shortened & 0xFFFFFFFF)
        some = rests[starts[part] : starts[part + 1]]
        place = int(some.searchsorted(rest))
        return place < len(some) and bool(some[place] == rest)


def _found(
    starts: npt.NDArray[np.int64], rests: npt.NDArray[np.uint32], shortened: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The place of each key in the ordered array, and whether it is there: a binary search in all parts at once."""
    parts, wanted = (shortened >> np.uint64(32)).astype(np.int64), shortened.astype(np.uint32)
    low, end = starts[parts], starts[parts + 1]
    high = end
    while (left := low < high).any():
        middle = (low + high) // 2
        smaller = left.copy()
        smaller[left] = rests[middle[left]] < wanted[left]
        low, high = np.where(smaller, middle + 1, low), np.where(left & ~smaller, middle, high)
    there = low < end
    there[there] = rests[low[there]] == wanted[there]
    return low, there


_DROPPED: Final = 16
_PARTS: Final = 1 << 16
_STARTS: Final = np.zeros(_PARTS + 1, dtype=np.int64)
_EMPTY: Final = np.empty(0, dtype=np.uint64)


def _laid_over(
    under: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]],
    keys: npt.NDArray[np.uint64],
    values: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Ordered entries over ordered entries, each key once in both."""
    below, values_below = under
    if not len(below) or not len(keys):
        return (keys, values) if len(keys) else under
    places = below.searchsorted(keys)
    there = below[np.minimum(places, len(below) - 1)] == keys
    replaced = values_below.copy()  # readers may have the old one
    replaced[places[there]] = values[there]
    new = places[~there]
    return np.insert(below, new, keys[~there]), np.insert(replaced, new, values[~there])
