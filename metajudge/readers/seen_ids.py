"""Which ids of judgments were met in a pass, and whether a repeated one is the same record."""

import hashlib
import struct
from collections.abc import Set
from dataclasses import dataclass

from metajudge.readers.reader import FoundJudgment

_PLACE = struct.Struct(">16sIQ")


@dataclass(frozen=True, slots=True)
class Earlier:
    """Where an id stood first, and whether the record there is the same one."""

    file: str
    line: int
    same: bool


class SeenIds:
    """Which ids were met, with a digest of each record: some 180 bytes a judgment.

    Args:
        among: hashes of the only ids that can come twice, others are not held; None where any can.
    """

    def __init__(self, among: Set[int] | None = None) -> None:
        self._among = among
        self._seen: dict[bytes, bytes] = {}
        self._files: dict[str, int] = {}
        self.unique = True
        """Whether no id was met twice."""

    def enter(self, found: FoundJudgment) -> Earlier | None:
        """Records a judgment; returns the earlier one of the same id, where there is one."""
        if self._among is not None and hash(found.judgment.id) not in self._among:
            return None
        key = hashlib.blake2b(found.judgment.id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        content = bytes.fromhex(found.judgment.digest)
        earlier = self._seen.get(key)
        if earlier is None:
            file = self._files.setdefault(found.file, len(self._files))
            self._seen[key] = _PLACE.pack(content, file, found.line)
            return None
        self.unique = False
        digest, file, line = _PLACE.unpack(earlier)
        return Earlier(list(self._files)[file], line, digest == content)
