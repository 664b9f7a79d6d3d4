"""Which digests a table has, without asking the database for each."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from metajudge.errors import StoreError
from metajudge.store.stored_map import Pairs, StoredMap

Halves = npt.NDArray[np.uint64]
"""Digests as numbers, shape (n, 2): the first and the last 64 bits."""

_HEX: Final = 32


def halves(digests: Sequence[str]) -> Halves:
    """Digests of 32 hexadecimal characters as numbers.

    Raises:
        StoreError: one of them is something else.
    """
    return halves_of_bytes(_bytes(digests))


def halves_of_bytes(digests: bytes) -> Halves:
    """Digests of 16 bytes each, one after the other, as numbers."""
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64).reshape(-1, 2)


def _bytes(digests: Sequence[str]) -> bytes:
    joined = "".join(digests)
    if len(joined) == _HEX * len(digests) and all(len(one) == _HEX for one in digests):
        try:
            return bytes.fromhex(joined)
        except ValueError:
            pass
    raise StoreError(f"a digest has {_HEX} hexadecimal characters; among {list(digests[:3])} ... one has not")


class KnownDigests:
    """A set of digests of 128 bits: 4 bytes each in memory, 16 once one of them comes again.

    Args:
        read: the halves of the stored digests.
        forgotten: reads the digests whose texts were forgotten.
    """

    def __init__(self, read: Callable[[], Halves], forgotten: Callable[[], Iterable[str]]) -> None:
        self._halves = StoredMap(lambda: _columns(read()))
        self._read_forgotten = forgotten
        self._forgotten: set[str] = set()

    def kept(self, digests: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which of these are stored with their texts; the others are new, or in :attr:`forgotten`."""
        self._ensure()
        first, last = _columns(halves(digests))
        found, there = self._halves.find(first)
        there &= found == last
        if self._forgotten:
            there &= ~np.fromiter((one in self._forgotten for one in digests), dtype=bool, count=len(digests))
        return there

    @property
    def forgotten(self) -> set[str]:
        """Digests that are stored without their texts."""
        self._ensure()
        return self._forgotten

    def add(self, digests: Sequence[str]) -> None:
        """Notes that these are stored with their texts now."""
        self._ensure()
        first, last = _columns(halves(digests))
        self._halves.update(first.tolist(), last.tolist())
        self._forgotten.difference_update(digests)

    def _ensure(self) -> None:
        if not self._halves.loaded:
            self._halves.load()
            self._forgotten = set(self._read_forgotten())


def _columns(digests: Halves) -> Pairs:
    return np.ascontiguousarray(digests[:, 0]), np.ascontiguousarray(digests[:, 1])
