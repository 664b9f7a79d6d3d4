"""What passes over an input have met: items that records contradict each other about, repeated ids, counts.

Evidence compares verdicts on the same item, so an item's id must have one content. Of several contents the one that
most judgments have is kept; where as many have another one, the first one read is. That takes a pass over the input
before judgments are given, of which only hashes are held (some 100 bytes a record); a second pass counts, and is made
only where contents differ at all. The pass that follows need look for repeated judgments only among ids that come
twice. Items are compared without what may differ from record to record (:data:`~metajudge.types.judgment.BESIDE`).
"""

import hashlib
import struct
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

import orjson

from metajudge.reading.containers.lines import Reject
from metajudge.reading.jsonl import to_line
from metajudge.reading.people import PeopleCount
from metajudge.reading.reader import FoundJudgment, Reader
from metajudge.types import Item, Judgment
from metajudge.types.judgment import BESIDE

BLOCK: Final = 256
"""Records that are read together."""


@dataclass(slots=True)
class _Content:
    """One content of an item: where it stands first, which judgments have it, and its fields' values as hashes."""

    place: str
    fields: dict[str, int]
    judgments: set[int]

    @classmethod
    def of(cls, judgment: Judgment, place: str) -> "_Content":
        return cls(place, _fields(judgment.item), {hash(judgment.id)})


class ItemContents:
    """The contents of the items that have several; empty where no records contradict each other.

    Attributes:
        repeated: hashes of the ids that two records may have; None where any two may have one.
    """

    def __init__(self, contents: dict[str, dict[str, _Content]], *, repeated: Set[int] | None = None) -> None:
        self.repeated = repeated
        self._contents = contents
        self._kept = {
            name: max(several, key=lambda one: len(several[one].judgments)) for name, several in contents.items()
        }

    def __len__(self) -> int:
        return len(self._contents)

    @classmethod
    def among(cls, judgments: Iterable[Judgment]) -> "ItemContents":
        """The contents in judgments that are at hand, in their order."""
        contents: dict[str, dict[str, _Content]] = {}
        for judgment in judgments:
            _count(judgment, f"judgment {judgment.id!r}", contents)
        return cls(_several(contents))

    def objection(self, judgment: Judgment) -> str | None:
        """Why a judgment is left out; None for a judgment on the content that is kept."""
        item = judgment.item
        kept = self._kept.get(item.id)
        if kept is None or kept == item.digest:
            return None
        several = self._contents[item.id]
        here, there = several.get(item.digest) or _Content.of(judgment, ""), several[kept]
        names = [name for name in {**there.fields, **here.fields} if here.fields.get(name) != there.fields.get(name)]
        as_many = len(here.judgments) == len(there.judgments)
        why = "as many: the first one read is kept" if as_many else "the majority is kept"
        return (
            f"item {item.id!r} has another {_listed(names)} at {there.place}: that content stands in "
            f"{_judgments(there)}, this one in {_judgments(here)} ({why}); repair the record, or give each content its "
            "own item id"
        )


class Screen(ItemContents):
    """Takes no exception to any record, and notes whether they contradict each other: for a pass that may be in vain.

    Attributes:
        several: whether an item was met with two contents.
        suspects: hashes of the ids of items that seem to have several contents.
        twice: hashes of the ids that came twice, or seem to.
    """

    def __init__(self) -> None:
        super().__init__({}, repeated=frozenset())
        self.several = False
        self.suspects: set[int] = set()
        self.twice: set[int] = set()
        self._digests: dict[int, int] = {}
        self._ids: set[int] = set()
        self._last: Item | None = None

    def objection(self, judgment: Judgment) -> str | None:
        """None, always."""
        item = judgment.item
        name = hash(judgment.id)
        if name in self._ids:
            self.twice.add(name)
        self._ids.add(name)
        if item is not self._last:
            self._last = item
            content = hash(item.digest)
            if self._digests.setdefault(hash(item.id), content) != content:
                self.several = True
                self.suspects.add(hash(item.id))
        return None


def find_contents(readers: Iterable[Reader]) -> ItemContents:
    """Reads the input for items with several contents."""
    inputs, screen = list(readers), Screen()
    for found in (one for reader in inputs for one in reader.read()):
        if isinstance(found, FoundJudgment):
            screen.objection(found.judgment)
    contents: dict[str, dict[str, _Content]] = {}
    for found in (one for reader in inputs if screen.several for one in reader.read()):
        if isinstance(found, FoundJudgment) and hash(found.judgment.item.id) in screen.suspects:
            _count(found.judgment, f"{found.file}:{found.line}", contents)
    return ItemContents(_several(contents), repeated=screen.twice)


def _several(contents: dict[str, dict[str, _Content]]) -> dict[str, dict[str, _Content]]:
    return {name: several for name, several in contents.items() if len(several) > 1}


def _count(judgment: Judgment, place: str, contents: dict[str, dict[str, _Content]]) -> None:
    item = judgment.item
    several = contents.setdefault(item.id, {})
    if item.digest in several:
        several[item.digest].judgments.add(hash(judgment.id))
    else:
        several[item.digest] = _Content.of(judgment, place)


def _fields(item: Item) -> dict[str, int]:
    """Hashes of the values by field; responses, models one by one."""
    data = item.model_dump(mode="json", exclude={"id", *BESIDE})
    flat: dict[str, int] = {}
    for name, value in data.items():
        parts = {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {name: value}
        flat.update({part: hash(orjson.dumps(one, default=str)) for part, one in parts.items()})
    return flat


def _listed(names: list[str]) -> str:
    shown = names[:4]
    return ", ".join(shown) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _judgments(content: _Content) -> str:
    count = len(content.judgments)
    return "1 judgment" if count == 1 else f"{count:,} judgments"


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


def settled(found: FoundJudgment | Reject, ledger: SeenIds | None, contents: ItemContents) -> Judgment | Reject | None:
    """The record to give: None for a repeated judgment, a Reject for an id that means two of them or two items."""
    if isinstance(found, Reject):
        return found
    objection = contents.objection(found.judgment)
    if objection is not None:
        return _rejected(found, objection)
    earlier = ledger.enter(found) if ledger is not None else None
    if earlier is None:
        return found.judgment
    if earlier.same:
        return None
    other = earlier.file != found.file
    fix = "--prefix-ids puts each file's name before its ids" if other else "give each judgment its own id"
    place = f"{earlier.file}:{earlier.line}"
    return _rejected(found, f"id {found.judgment.id!r} is already used for another judgment at {place}; {fix}")


def _rejected(found: FoundJudgment, reason: str) -> Reject:
    return Reject(found.file, found.line, reason, to_line(found.judgment).decode().rstrip("\n"))


class Collector(Protocol):
    """Takes some records at a time: steps that are done for all of them, one after the other, cost less."""

    def add_block(self, block: Sequence[Judgment | Reject], /) -> None: ...


C = TypeVar("C", bound=Collector)


class Kept(list[Judgment]):
    """The judgments among records."""

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        """Takes some records."""
        self.extend(record for record in block if isinstance(record, Judgment))


@dataclass(slots=True)
class PassCounts:
    """What one pass has met so far.

    Attributes:
        rows: of the input; one may give several judgments.
        wanted: judgments by the judges asked for.
        kept: the rejects as lines; None where they are too large to be held.
    """

    rows: int = 0
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
