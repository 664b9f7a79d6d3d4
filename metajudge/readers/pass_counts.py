"""What one pass over an input has met."""

import hashlib
import struct
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from metajudge.readers.lines import Reject
from metajudge.readers.people import PeopleCount
from metajudge.readers.reader import FoundJudgment
from metajudge.types import Judgment

KEPT_REJECTS = 1 << 20
"""Bytes of rejects held, so that writing them needs no further pass; of more, none is held."""
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


class Collector(Protocol):
    """Takes records one by one."""

    def add(self, record: Judgment | Reject, /) -> None: ...


@runtime_checkable
class BlockCollector(Protocol):
    """Takes some records at a time: steps that are done for all of them, one after the other, cost less."""

    def add_block(self, block: Sequence[Judgment | Reject], /) -> None: ...


C = TypeVar("C", bound=Collector)


def give(collector: Collector, block: Sequence[Judgment | Reject]) -> None:
    """Gives some records to a collector."""
    if isinstance(collector, BlockCollector):
        collector.add_block(block)
        return
    for record in block:
        collector.add(record)


@dataclass(slots=True)
class PassCounts:
    """What one pass has met so far.

    Attributes:
        wanted: judgments by the judges asked for.
        kept: the rejects as lines; None where they are too large to be held.
    """

    judgments: int = 0
    wanted: int = 0
    rejects: int = 0
    duplicates: int = 0
    people: PeopleCount = field(default_factory=PeopleCount)
    kept: list[str] | None = field(default_factory=list)
    _size: int = 0

    def add(self, record: Judgment | Reject | None, judges: frozenset[str] | None) -> None:
        """Counts what a line gave; None for a repeated judgment."""
        if record is None:
            self.duplicates += 1
        elif isinstance(record, Reject):
            self.rejects += 1
            self._keep(record)
        else:
            self.judgments += 1
            self.wanted += judges is None or record.judge in judges

    def _keep(self, reject: Reject) -> None:
        if self.kept is None:
            return
        line = reject.to_json() + "\n"
        self._size += len(line)
        self.kept.append(line)
        if self._size > KEPT_REJECTS:
            self.kept = None

    @property
    def total(self) -> int:
        return self.judgments + self.rejects + self.duplicates
