"""Caches in front of the database: the known keys, and the assessments looked up last."""

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from metajudge.store.stored_map import Pairs, StoredMap
from metajudge.types import Assessment

Hashes: TypeAlias = npt.NDArray[np.uint64]

MAX_ASSESSMENTS: Final = 1_000


def key_hash(key: str) -> int:
    """First 64 bits of the BLAKE2b digest of a key."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")


def key_hashes(keys: Sequence[str]) -> Hashes:
    """[n] hashes of keys; see :func:`key_hash`."""
    made = b"".join([hashlib.blake2b(key.encode(), digest_size=8).digest() for key in keys])
    return np.frombuffer(made, dtype=">u8").astype(np.uint64)


class KnownKeys:
    """Which keys are stored, and in which row, without asking the database; see :class:`StoredMap` for its memory.

    Any thread may use it.

    Args:
        load: reads the stored hashes and the numbers of their rows (uint64, in the order of the numbers).
    """

    def __init__(self, load: Callable[[], Pairs]) -> None:
        self._rows = StoredMap(load)
        self._pending: Counter[int] = Counter()
        self._counting = threading.Lock()

    @property
    def loaded(self) -> bool:
        """Whether the stored keys were read."""
        return self._rows.loaded

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

    def commit(self, rows: Sequence[tuple[int, int]]) -> None:
        """Notes the numbers of acknowledged rows that are now in the file, as (hash, number)."""
        self.add([hashed for hashed, _ in rows], [number for _, number in rows])
        for hashed, _ in rows:
            self.retract(hashed)  # only now: a concurrent reader finds it in one of them

    def pending(self, hashed: int) -> bool:
        """Whether an acknowledged row of this key is not in the file yet."""
        return hashed in self._pending

    def load(self) -> None:
        """Reads the stored keys; safe to call twice."""
        self._rows.load()

    def may_contain(self, hashed: int) -> bool:
        """False where the key is certainly not stored."""
        return not self.loaded or hashed in self._pending or hashed in self._rows

    def numbers(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        """The newest rows that may have these keys, once the keys are loaded; 0 where none has."""
        return self._rows.find(hashes)[0].astype(np.int64)

    def add(self, hashes: Sequence[int], numbers: Sequence[int]) -> None:
        """Notes the numbers of rows that are now in the file and were not acknowledged before."""
        self._rows.update(hashes, numbers)

    def row(self, hashed: int) -> int | None:
        """The number of the newest row of a key, None if unknown."""
        return self._rows.values().get(hashed)


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
