"""Caches in front of the database: the known keys, and the assessments looked up last."""

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from metajudge.store.compact_map import CompactMap
from metajudge.types import Assessment

Pairs = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]
MAX_ASSESSMENTS: Final = 1_000


def key_hash(key: str) -> int:
    """First 64 bits of the BLAKE2b digest of a key."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")


class KnownKeys:
    """Which keys are stored, and in which row, without asking the database.

    Uses 16 bytes per key, whether read from the file or added since. Any thread may use it.

    Args:
        load: reads the stored hashes and the numbers of their rows (uint64, in the order of the numbers); called at the
            first look-up.
    """

    def __init__(self, load: Callable[[], Pairs]) -> None:
        self._load = load
        self._rows = CompactMap()
        self._pending: Counter[int] = Counter()
        self._counting = threading.Lock()
        self.loaded = False

    def acknowledge(self, hashed: int) -> None:
        """Notes that a row with this key is being written."""
        with self._counting:
            self._pending[hashed] += 1

    def retract(self, hashed: int) -> None:
        """Takes an acknowledgement back."""
        with self._counting:
            self._pending[hashed] -= 1
            if not self._pending[hashed]:
                del self._pending[hashed]

    def commit(self, rows: Iterable[tuple[int, int]]) -> None:
        """Notes the numbers of acknowledged rows that are now in the file, as (hash, number)."""
        for hashed, number in rows:
            self._rows.put(hashed, number)
            self.retract(hashed)  # only now: a concurrent reader finds it in one of them

    def pending(self, hashed: int) -> bool:
        """Whether an acknowledged row of this key is not in the file yet."""
        return hashed in self._pending

    def load(self) -> None:
        """Reads the stored keys; safe to call twice."""
        if not self.loaded:
            self._rows.add(*self._load())
            self.loaded = True

    def may_contain(self, hashed: int) -> bool:
        """False where the key is certainly not stored."""
        return not self.loaded or hashed in self._pending or hashed in self._rows

    def stored(self, hashes: Sequence[int]) -> list[bool]:
        """Which keys may be in the file, once the keys are loaded."""
        there: list[bool] = self._rows.get_many(np.array(hashes, dtype=np.uint64))[1].tolist()
        return there

    def add(self, rows: Sequence[tuple[int, int]]) -> None:
        """Notes the numbers of rows that are now in the file and were not acknowledged before, as (hash, number)."""
        self._rows.update((hashed for hashed, _ in rows), (number for _, number in rows))

    def row(self, hashed: int) -> int | None:
        """The number of the newest row of a key, None if unknown."""
        return self._rows.get(hashed)


class RecentAssessments:
    """The assessments looked up last by a key of their own, bounded by number.

    A look-up takes its ``turn`` before it reads; what it read is kept only if nothing was written meanwhile, so that
    an older assessment never outlives a newer one, nor a text its redaction.
    """

    def __init__(self) -> None:
        self._found: OrderedDict[str, Assessment] = OrderedDict()
        self.turn = 0

    def get(self, key: str) -> Assessment | None:
        found = self._found.get(key)
        if found is not None:
            self._found.move_to_end(key)
        return found

    def put(self, key: str, assessment: Assessment, turn: int) -> None:
        """Keeps what was read under a key since ``turn``."""
        if turn != self.turn:
            return
        self._found[key] = assessment
        self._found.move_to_end(key)
        if len(self._found) > MAX_ASSESSMENTS:
            self._found.popitem(last=False)

    def written(self, key: str) -> None:
        """Drops a key that is being written, or was."""
        self.turn += 1
        self._found.pop(key, None)

    def clear(self) -> None:
        self.turn += 1
        self._found.clear()
