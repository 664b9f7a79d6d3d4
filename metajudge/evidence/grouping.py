"""Rows of arrays grouped by several columns of codes, and joined on them."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from metajudge.stats.arrays import Floats, Ints

Integers = NDArray[np.integer[Any]]

T = TypeVar("T", bound=Hashable)
Own = TypeVar("Own")
Other = TypeVar("Other")

MOST = 1 << 20
"""So many pairs of rows are held at once: an item may have many judges."""

LARGEST = 1 << 62
"""Keys stay below this, so that no product of codes leaves 64 bits."""


class _Codes(dict[T, int]):
    """Value -> code."""

    def __missing__(self, value: T) -> int:
        code = self[value] = len(self)
        return code


class Interned(Generic[T]):
    """Values that are kept once, each with its code: its place among them.

    Attributes:
        code: gives the code of a value, a new one where it was not seen before.
    """

    def __init__(self) -> None:
        self._codes = _Codes[T]()
        self.code: Callable[[T], int] = self._codes.__getitem__  # called for every fact of every judgment

    def optional(self, value: T | None) -> int:
        """The code of a value, -1 for None."""
        return -1 if value is None else self._codes[value]

    @property
    def values(self) -> list[T]:
        """[codes]."""
        return list(self._codes)


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """One number for each row: equal where all columns that it was made of are equal.

    Attributes:
        codes: [n], at least 0.
        bound: above every code.
    """

    codes: Ints
    bound: int

    @classmethod
    def of(cls, codes: Integers, bound: int) -> "Key":
        return cls(np.asarray(codes, dtype=np.int64), max(bound, 1))

    def then(self, codes: Integers, bound: int) -> "Key":
        """The key of the columns so far and one more, in the order of the columns; codes are at least 0."""
        bound = max(bound, 1)
        known = self if self.bound * bound < LARGEST else self.dense()
        return Key(known.codes * bound + codes, known.bound * bound)

    def distinct(self) -> tuple[Ints, Ints]:
        """[n] the place of each row's key among the different keys in ascending order, and [keys] their first rows."""
        size = len(self.codes)
        if self.bound <= 4 * size + 64:
            first = np.full(self.bound, -1, dtype=np.int64)
            first[self.codes[::-1]] = np.arange(size - 1, -1, -1)
            there = first >= 0
            return (np.cumsum(there) - 1)[self.codes], first[there]
        _, first, place = np.unique(self.codes, return_index=True, return_inverse=True)
        return place.ravel(), first

    def by_first(self) -> tuple[Ints, Ints]:
        """[n] numbers of the different keys in the order in which they first occur, and [keys] their first rows."""
        place, first = self.distinct()
        order = np.argsort(first)
        number = np.empty(len(first), dtype=np.int64)
        number[order] = np.arange(len(first))
        return number[place], first[order]

    def dense(self) -> "Key":
        """The same key with codes that leave none out."""
        place, first = self.distinct()
        return Key(place, max(len(first), 1))


def starts_of(codes: Integers, bound: int) -> Ints:
    """[bound + 1] where each code's rows begin among rows sorted by code, and where the last one's end."""
    return np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=bound))])


def spread(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """The numbers from each start to its end, and which of the n ranges each is of."""
    counts = ends - starts
    of = np.repeat(np.arange(len(starts)), counts)
    return np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts) + starts[of], of


def portions(starts: Ints, ends: Ints) -> Iterator[tuple[slice, Ints, Ints]]:
    """:func:`spread` of a part of the ranges after the other, each with :data:`MOST` numbers or with a single range.

    Yields:
        The part, the numbers of its ranges, and which of the part's ranges each is of.
    """
    total, begin = np.cumsum(ends - starts), 0
    while begin < len(starts):
        before = int(total[begin - 1]) if begin else 0
        part = slice(begin, max(begin + 1, int(np.searchsorted(total, before + MOST, side="right"))))
        yield part, *spread(starts[part], ends[part])
        begin = part.stop


def joined(left: Integers, right: Integers, bound: int) -> Iterator[tuple[slice, Ints, Ints]]:
    """Every pair of a left and a right row with one code, by left row and then in the order of the right rows.

    Args:
        left, right: codes below ``bound``.

    Yields:
        Some left rows, which of them each pair has, and its right row.
    """
    order, starts = np.argsort(right, kind="stable"), starts_of(right, bound)
    for part, place, of in portions(starts[left], starts[left + 1]):
        yield part, of, order[place]


def alike(of: Ints, values: Integers, bound: int, size: int) -> Iterator[tuple[Ints, Ints, Integers]]:
    """Rows by the sequence of their values, for each number of values.

    Args:
        of: [m] the row, ascending, of each value.
        values: [m] codes below ``bound``.

    Yields:
        [k] rows, the place of each one's sequence among the different sequences, and these: [sequences, number].
    """
    starts = starts_of(of, size)
    counts = np.diff(starts)
    for count in np.unique(counts).tolist():
        rows = np.flatnonzero(counts == count)
        columns = values[starts[rows][:, None] + np.arange(count)]
        key = Key.of(np.zeros(len(rows), dtype=np.int64), 1)
        for column in columns.T:
            key = key.then(column, bound)
        place, first = key.distinct()
        yield rows, place, columns[first]


def compared(
    own: Integers,
    other: Integers,
    owns: Sequence[Own],
    others: Sequence[Other],
    compare: Callable[[Own, Other], float | None],
) -> Floats:
    """[n] a comparison of two values, such as verdicts, made once for each different pair; NaN where it gives None.

    Args:
        own, other: [n] places in the tables ``owns`` and ``others``.
        compare: takes one value of each.
    """
    place, first = Key.of(own, len(owns)).then(other, len(others)).distinct()
    pairs = zip(own[first].tolist(), other[first].tolist(), strict=True)
    found = [compare(owns[mine], others[theirs]) for mine, theirs in pairs]
    return np.array(found, dtype=np.float64)[place] if found else np.zeros(0)
