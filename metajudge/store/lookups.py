"""What keeps look-ups away from the database: the known keys, and the newest replies and assessments."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from metajudge.types import Assessment, Reply

MAX_KEYS: Final = 20_000_000
MIN_SETTLED: Final = 4_096
MAX_ASSESSMENTS: Final = 1_000
MAX_REPLIES: Final = 4_096
MAX_REPLY_CHARS: Final = 8_000_000


def key_hash(key: str) -> int:
    """First 64 bits of the BLAKE2b digest of a key."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")


class KnownKeys:
    """Says at once that a key is not stored; a "maybe" is then asked of the database.

    Holds 8 bytes for each key, found in the file or added since, and the newest in a set besides. Above ``MAX_KEYS``
    in the file it keeps none of those and every answer is "maybe". Several threads may use it at once.

    Args:
        load: reads the stored hashes (uint64, any order), or None where there are too many; called once, at
            the first question.
    """

    def __init__(self, load: Callable[[], npt.NDArray[np.uint64] | None]) -> None:
        self._load = load
        self._stored: npt.NDArray[np.uint64] | None = None
        self._settled: npt.NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._newest: set[int] = set()
        self._adding = threading.Lock()
        self.loaded = False

    def add(self, hashed: int) -> None:
        with self._adding:
            self._newest.add(hashed)
            # In a set a key takes ten times the room; sorting them in costs as much as the keys there are.
            if len(self._newest) >= max(MIN_SETTLED, len(self._settled) // 64):
                newest = np.fromiter(self._newest, dtype=np.uint64, count=len(self._newest))
                # Sorted, each once; there before the set goes: who asks meanwhile finds a key in one of them.
                self._settled = np.union1d(self._settled, newest)
                self._newest = set()

    def added(self, hashed: int) -> bool:
        """Whether the key was added since the file was opened."""
        return hashed in self._newest or _holds(self._settled, hashed)

    def load(self) -> None:
        """Reads the stored keys; safe to call twice."""
        if self.loaded:
            return
        stored = self._load()
        if stored is not None:
            stored.sort()
        self._stored = stored
        self.loaded = True

    def may_contain(self, hashed: int) -> bool:
        """False where the key is certainly not stored."""
        if not self.loaded or self._stored is None:
            return True
        return self.added(hashed) or _holds(self._stored, hashed)


def _holds(ordered: npt.NDArray[np.uint64], hashed: int) -> bool:
    if not len(ordered):
        return False
    place = int(ordered.searchsorted(np.uint64(hashed)))
    return place < len(ordered) and int(ordered[place]) == hashed


class RecentReplies:
    """The replies used last, bounded by number and by characters."""

    def __init__(self) -> None:
        self._replies: OrderedDict[str, Reply] = OrderedDict()
        self._chars = 0

    def get(self, key: str) -> Reply | None:
        reply = self._replies.get(key)
        if reply is not None:
            self._replies.move_to_end(key)
        return reply

    def put(self, key: str, reply: Reply) -> None:
        """Keeps a reply as one that comes from the cache: nothing sent, no attempts."""
        old = self._replies.pop(key, None)
        self._chars += len(reply.text) - (0 if old is None else len(old.text))
        self._replies[key] = reply if reply.cached else replace(reply, cached=True, attempts=0)
        while self._chars > MAX_REPLY_CHARS or len(self._replies) > MAX_REPLIES:
            _, dropped = self._replies.popitem(last=False)
            self._chars -= len(dropped.text)

    def clear(self) -> None:
        self._replies.clear()
        self._chars = 0


class RecentAssessments:
    """The assessments looked up last by a key of their own, bounded by number.

    A look-up takes its ``turn`` before it reads; what it read is kept only where nothing was written meanwhile, so that
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
