"""What passes over an input have met: items that records contradict each other about, repeated ids, counts.

Evidence compares verdicts on the same item, so an item's id must have one content. Of several contents the one that
most judgments have is kept; where as many have another one, the first one read is. That takes a pass over the input
before judgments are given, of which only hashes are held (some 100 bytes a record); a second pass counts, and is made
only where contents differ at all. The pass that follows need look for repeated judgments only among ids that come
twice. Items are compared without what may differ from record to record (:data:`~metajudge.types.judgment.BESIDE`).
"""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, TypeVar

import orjson

from metajudge.reading.containers.lines import Reject
from metajudge.reading.jsonl import to_line
from metajudge.reading.people import PeopleCount
from metajudge.reading.reader import Found, FoundJudgment
from metajudge.reading.seen import plural
from metajudge.types import Item, Judgment
from metajudge.types.judgment import BESIDE

BLOCK: Final = 256
"""Records that are read together."""
KEPT_REJECTS = 1 << 20
"""Bytes of rejects held, so that writing them needs no further pass; of more, none is held."""


class Earlier(NamedTuple):
    """The first judgment of an id, by its content, and where it stands."""

    digest: str
    file: str
    line: int


class Screen:
    """Takes no exception to any record, and notes what may contradict: for a pass that may be in vain.

    Attributes:
        suspects: hashes of the ids of items that seem to have several contents.
        twice: hashes of the ids that came twice, or seem to.
    """

    def __init__(self) -> None:
        self.suspects: set[int] = set()
        self.twice: set[int] = set()
        self._digests: dict[int, int] = {}
        self._ids: set[int] = set()
        self._last: Item | None = None

    def settled(self, found: FoundJudgment, _: dict[str, Earlier]) -> Judgment:
        """The judgment, always."""
        judgment = found.judgment
        item, name = judgment.item, hash(judgment.id)
        if name in self._ids:
            self.twice.add(name)
        self._ids.add(name)
        if item is not self._last:
            self._last = item
            content = hash(item.digest)
            if self._digests.setdefault(hash(item.id), content) != content:
                self.suspects.add(hash(item.id))
        return judgment


@dataclass(slots=True)
class _Content:
    """One content of an item: where it stands first, which judgments have it, and its fields' values as hashes."""

    place: str
    fields: dict[str, int]
    judgments: set[int]

    @classmethod
    def of(cls, judgment: Judgment, place: str) -> "_Content":
        data = judgment.item.model_dump(mode="json", exclude={"id", *BESIDE})
        fields: dict[str, int] = {}
        for name, value in data.items():  # responses and models one by one
            parts = {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {name: value}
            fields.update({part: hash(orjson.dumps(one, default=str)) for part, one in parts.items()})
        return cls(place, fields, {hash(judgment.id)})


class ItemContents:
    """The contents of items that have several, and which one of them is kept; without any, it is false.

    Args:
        judgments: in their order, each with its place.
        repeated: hashes of the only ids that two records may have.
    """

    def __init__(self, judgments: Iterable[tuple[Judgment, str]] = (), repeated: Set[int] = frozenset()) -> None:
        contents: dict[str, dict[str, _Content]] = {}
        for judgment, place in judgments:
            several = contents.setdefault(judgment.item.id, {})
            if (known := several.get(judgment.item.digest)) is None:
                several[judgment.item.digest] = _Content.of(judgment, place)
            else:
                known.judgments.add(hash(judgment.id))
        self._contents = {name: several for name, several in contents.items() if len(several) > 1}
        self._kept = {
            name: max(several, key=lambda one: len(several[one].judgments)) for name, several in self._contents.items()
        }
        self._repeated = repeated

    def __len__(self) -> int:
        return len(self._contents)

    @classmethod
    def among(cls, judgments: Iterable[Judgment]) -> "ItemContents":
        """The contents in judgments that are at hand, in their order."""
        return cls((one, f"judgment {one.id!r}") for one in judgments)

    def objection(self, judgment: Judgment) -> str | None:
        """Why a judgment is left out; None for a judgment on the content that is kept."""
        item = judgment.item
        kept = self._kept.get(item.id)
        if kept is None or kept == item.digest:
            return None
        several = self._contents[item.id]
        here, there = several.get(item.digest) or _Content.of(judgment, ""), several[kept]
        names = [name for name in {**there.fields, **here.fields} if here.fields.get(name) != there.fields.get(name)]
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        as_many = len(here.judgments) == len(there.judgments)
        why = "as many: the first one read is kept" if as_many else "the majority is kept"
        return (
            f"item {item.id!r} has another {', '.join(names[:4])}{more} at {there.place}: that content stands in "
            f"{plural('judgment', len(there.judgments))}, this one in {plural('judgment', len(here.judgments))} "
            f"({why}); repair the record, or give each content its own item id"
        )

    def settled(self, found: FoundJudgment, met: dict[str, Earlier]) -> Judgment | Reject | None:
        """The record to give: None for a repeated judgment, a Reject for an id that means two of them or two items.

        Args:
            met: the judgments of this pass whose ids may come again; a new one is added.
        """
        judgment = found.judgment
        reason = self.objection(judgment)
        if reason is None and hash(judgment.id) in self._repeated:
            earlier = met.get(judgment.id)
            if earlier is None:
                met[judgment.id] = Earlier(judgment.digest, found.file, found.line)
            elif earlier.digest == judgment.digest:
                return None
            else:
                other = earlier.file != found.file
                fix = "--prefix-ids puts each file's name before its ids" if other else "give each judgment its own id"
                place = f"{earlier.file}:{earlier.line}"
                reason = f"id {judgment.id!r} is already used for another judgment at {place}; {fix}"
        if reason is None:
            return judgment
        return Reject(found.file, found.line, reason, to_line(judgment).decode().rstrip("\n"))


def find_contents(read: Callable[[], Iterable[Found]], screen: Screen | None = None) -> ItemContents:
    """What the records of an input contradict each other about.

    Args:
        read: begins a pass over the input.
        screen: what a whole pass noted; None to make one.
    """
    if screen is None:
        screen = Screen()
        for found in read():
            if isinstance(found, FoundJudgment):
                screen.settled(found, {})
    suspected = (
        (found.judgment, f"{found.file}:{found.line}")
        for found in (read() if screen.suspects else ())
        if isinstance(found, FoundJudgment) and hash(found.judgment.item.id) in screen.suspects
    )
    return ItemContents(suspected, screen.twice)


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
        thinking: judgments with a model's thoughts beside a text.
        kept: the rejects as lines; None where they are too large to be held.
    """

    rows: int = 0
    judgments: int = 0
    wanted: int = 0
    thinking: int = 0
    rejects: int = 0
    duplicates: int = 0
    people: PeopleCount = field(default_factory=PeopleCount)
    kept: list[str] | None = field(default_factory=list)
    _size: int = 0

    def keep(self, reject: Reject) -> None:
        """Counts a reject."""
        self.rejects += 1
        if self.kept is not None:
            self.kept.append(reject.to_json() + "\n")
            self._size += len(self.kept[-1])
            if self._size > KEPT_REJECTS:
                self.kept = None

    @property
    def total(self) -> int:
        return self.judgments + self.rejects + self.duplicates
