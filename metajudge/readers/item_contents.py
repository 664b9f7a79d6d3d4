"""Items that records contradict each other about: which content counts, and why a record with another one is left out.

Evidence compares verdicts on the same item, so an item's id must have one content. Of several contents the one that
most judgments have is kept; where as many have another one, the first one read is. That takes a pass over the input
before judgments are given, of which only hashes are held (some 100 bytes a record); a second pass counts, and is made
only where contents differ at all. The pass that follows need look for repeated judgments only among ids that come
twice: for metajudge JSONL that saves what the first one costs. Items are compared without what may differ from record
to record (:data:`~metajudge.types.judgment.BESIDE`).
"""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from itertools import islice
from typing import Final

import orjson

from metajudge.readers.jsonl import JudgmentLines
from metajudge.readers.lines import Line, Reject
from metajudge.readers.pass_counts import PassCounts
from metajudge.readers.reader import FoundJudgment, Reader
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

    @property
    def count(self) -> int:
        return len(self.judgments)

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
        self._kept = {name: max(several, key=lambda one: several[one].count) for name, several in contents.items()}

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
        why = "as many: the first one read is kept" if here.count == there.count else "the majority is kept"
        return (
            f"item {item.id!r} has another {_listed(names)} at {there.place}: that content stands in "
            f"{_judgments(there)}, this one in {_judgments(here)} ({why}); repair the record, or give each content its "
            "own item id"
        )


class Screen(ItemContents):
    """Takes no exception to any record, and notes whether they contradict each other: for a pass that may be in vain.

    Attributes:
        several: whether an item was met with two contents.
        twice: hashes of the ids that came twice, or seem to.
    """

    def __init__(self) -> None:
        super().__init__({}, repeated=frozenset())
        self.several = False
        self.twice: set[int] = set()
        self._digests: dict[str, str] = {}
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
            if self._digests.setdefault(item.id, item.digest) != item.digest:
                self.several = True
        return None

    def blocks(
        self, readers: Iterable[JudgmentLines], tally: PassCounts, judges: frozenset[str] | None
    ) -> Iterator[list[Judgment | Reject]]:
        """The records of plain files of metajudge JSONL, to which nothing is added, screened and counted.

        Args:
            judges: those asked for, None for all.
        """
        for reader in readers:
            parse, lines = reader.parser(), reader.raw_lines()
            while some := list(islice(lines, BLOCK)):
                block = [line if isinstance(line, Reject) else parse(line) for line in some]
                for found in block:
                    if isinstance(found, Judgment):
                        self.objection(found)
                    tally.add(found, judges)
                yield block


def find_contents(readers: Iterable[Reader]) -> ItemContents:
    """Reads the input for items with several contents."""
    inputs = list(readers)
    suspects, repeated = _suspects(inputs)
    if not suspects:
        return ItemContents({}, repeated=repeated)
    contents: dict[str, dict[str, _Content]] = {}
    for reader in inputs:
        for found in reader.read():
            if isinstance(found, FoundJudgment) and hash(found.judgment.item.id) in suspects:
                _count(found.judgment, f"{found.file}:{found.line}", contents)
    return ItemContents(_several(contents), repeated=repeated)


def _several(contents: dict[str, dict[str, _Content]]) -> dict[str, dict[str, _Content]]:
    return {name: several for name, several in contents.items() if len(several) > 1}


def _suspects(readers: Iterable[Reader]) -> tuple[set[int], set[int]]:
    """Hashes of the ids of items that records seem to contradict each other about, and of ids that come twice."""
    seen: dict[int, int] = {}
    ids: set[int] = set()
    suspects: set[int] = set()
    repeated: set[int] = set()
    for reader in readers:
        for judgment, item, content in _screened(reader):
            if judgment in ids:
                repeated.add(judgment)
            ids.add(judgment)
            if seen.setdefault(item, content) != content:
                suspects.add(item)
    return suspects, repeated


def _screened(reader: Reader) -> Iterator[tuple[int, int, int]]:
    """Hashes of each record's id, item id and item's content; our own records are not validated for it."""
    if isinstance(reader, JudgmentLines):
        for row in reader.rows():
            item = row.data.get("item") if isinstance(row, Line) else None
            if isinstance(row, Line) and isinstance(item, dict):
                content = {name: value for name, value in item.items() if name not in BESIDE}
                known = orjson.dumps(content, default=str, option=orjson.OPT_SORT_KEYS)
                yield hash(str(row.data.get("id"))), hash(str(item.get("id"))), hash(known)
        return
    for found in reader.read():
        if isinstance(found, FoundJudgment):
            judgment = found.judgment
            yield hash(judgment.id), hash(judgment.item.id), hash(judgment.item.digest)


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
    return "1 judgment" if content.count == 1 else f"{content.count:,} judgments"
