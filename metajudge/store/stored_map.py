"""Which keys a database has, and their values, without asking the database for each."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from metajudge.store.compact_map import CompactMap, CompactSet

Keys: TypeAlias = npt.NDArray[np.uint64]
Pairs: TypeAlias = tuple[Keys, Keys]


class StoredMap:
    """Stored 64-bit keys that are spread evenly: 4 bytes each, or 16 with their values once one is asked for.

    Where all records are new no value is asked for. Until then a key is known by its first 48 bits, so that one that is
    not stored is taken for stored very rarely; from then on all of it counts. Any thread may use it.

    Args:
        read: reads the stored keys and their values; the last one counts among equal keys. Called by :meth:`load`, and
            at the first :meth:`values`.
    """

    def __init__(self, read: Callable[[], Pairs]) -> None:
        self._read = read
        self._known: CompactSet | CompactMap = CompactSet()
        self._filling: CompactMap | None = None
        self._changing = threading.Lock()
        self._reading = threading.Lock()
        self.loaded = False

    def load(self) -> None:
        """Reads the stored keys; does nothing the second time."""
        with self._reading:
            if not self.loaded and isinstance(self._known, CompactSet):
                self._known.add(self._read()[0])
            self.loaded = True

    def update(self, keys: Sequence[int], values: Sequence[int]) -> None:
        """Notes keys that are stored from now on, and their values."""
        with self._changing:
            if isinstance(self._known, CompactMap):
                self._known.update(keys, values)
                return
            self._known.update(keys)
            if self._filling is not None:
                self._filling.update(keys, values)

    def __contains__(self, key: int) -> bool:
        return key in self._known

    def contain(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Which of many keys may be stored."""
        return self._known.contain(keys)

    def find(self, keys: Keys) -> tuple[Keys, npt.NDArray[np.bool_]]:
        """The values of many keys, and which of the keys are stored; the value of the others is 0."""
        known = self._known
        if isinstance(known, CompactSet):
            there = known.contain(keys)
            if not there.any():
                return np.zeros(len(keys), dtype=np.uint64), there
            known = self.values()
        return known.get_many(keys)

    def values(self) -> CompactMap:
        """All stored keys and their values."""
        with self._reading:
            if isinstance(self._known, CompactMap):
                return self._known
            filling = CompactMap()
            with self._changing:  # what is noted from now on may be missing in what is read
                self._filling = filling
            try:
                filling.add(*self._read())
                with self._changing:
                    self._known, self.loaded = filling, True
                return filling
            finally:
                self._filling = None
