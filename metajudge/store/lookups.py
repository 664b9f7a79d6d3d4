"""What keeps look-ups away from the database: the known keys, and the newest replies and assessments."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from metajudge.types import Assessment, Reply

MAX_KEYS: Final = 20_000_000
MAX_ASSESSMENTS: Final = 1_000
MAX_REPLIES: Final = 4_096
MAX_REPLY_CHARS: Final = 8_000_000


def key_hash(key: str) -> int:
    """First 64 bits of the BLAKE2b digest of a key."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")


class KnownKeys:
    """Says at once that a key is not stored; a "maybe" is then asked of the database.

    Holds 8 bytes for each key found in the file and a set of those added since. Above ``MAX_KEYS`` it keeps
    none and every answer is "maybe".

    Args:
        load: reads the stored hashes (uint64, any order), or None where there are too many; called once, at
            the first question.
    """

    def __init__(self, load: Callable[[], npt.NDArray[np.uint64] | None]) -> None:
        self._load = load
        self._stored: npt.NDArray[np.uint64] | None = None
        self._added: set[int] = set()
        self.loaded = False

    def add(self, hashed: int) -> None:
        self._added.add(hashed)

    def added(self, hashed: int) -> bool:
        """Whether the key was added since the file was opened."""
        return hashed in self._added

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
        if not self.loaded or hashed in self._added or self._stored is None:
            return True
        value = np.uint64(hashed)
        place = int(self._stored.searchsorted(value))
        return place < len(self._stored) and bool(self._stored[place] == value)


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
