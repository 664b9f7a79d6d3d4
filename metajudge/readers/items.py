"""Items in: a JSONL file of items, or the items of whatever holds judgments.

A line of an items file is an :class:`~metajudge.types.Item`: ``{"id", "question", "responses": {"A": ..., "B": ...}}``
and, where known, ``category``, ``label``, ``reference`` and ``models``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.readers.containers import Container, container_of
from metajudge.readers.lines import EXCERPT, Line, Reject, Source, read_lines
from metajudge.readers.reasons import reason_of
from metajudge.readers.source import open_judgments
from metajudge.types import Item, Judgment


@dataclass(frozen=True, slots=True)
class _FoundItem:
    """An item, and where it stands: for judgments, ``line`` counts records."""

    item: Item
    file: str
    line: int

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    def reject(self, reason: str) -> Reject:
        return Reject(self.file, self.line, reason, self.item.model_dump_json())


class ItemSource:
    """Different items of files and folders, in order of their first appearance; read anew at every iteration.

    Attributes:
        items: how many there are, after one pass.
        responses: how many responses these have together.
        rejects: lines that could not be read, and items with another number of responses than asked for.

    Iterating raises :class:`~metajudge.errors.InputError` where one id stands for two different items: whatever
    was judged, it could not be told which.
    """

    def __init__(self, paths: Sequence[str], *, responses: int | None = None, limit: int | None = None) -> None:
        self.items = self.responses = 0
        self.rejects: list[Reject] = []
        self._inputs = [_input(path) for path in paths]
        self._wanted = responses
        self._limit = limit

    def __iter__(self) -> Iterator[Item]:
        seen: dict[str, tuple[str, str]] = {}
        self.items, self.responses, self.rejects = 0, 0, []
        for found in self._found():
            if isinstance(found, Reject):
                self._reject(found)
                continue
            item = found.item
            earlier = seen.get(item.id)
            if earlier is not None:
                _require_same(item, earlier, found.where)
                continue
            seen[item.id] = item.digest, found.where
            if self._wanted is not None and len(item.responses) != self._wanted:
                count = len(item.responses)
                self._reject(found.reject(f"item {item.id!r} has {count} responses, {self._wanted} are needed"))
                continue
            if self._limit is not None and self.items >= self._limit:
                return
            self.items += 1
            self.responses += len(item.responses)
            yield item

    def _reject(self, reject: Reject) -> None:
        self.rejects.append(replace(reject, text=reject.text[:EXCERPT]))

    def _found(self) -> Iterator[_FoundItem | Reject]:
        for one in self._inputs:
            yield from one.read()


def open_items(paths: Sequence[str], *, responses: int | None = None, limit: int | None = None) -> ItemSource:
    """Opens files of items, and files or folders of judgments for their items.

    Args:
        paths: what to read.
        responses: how many responses an item must have; others are rejected, with the reason.
        limit: how many items to give at most.

    Raises:
        InputError: a path is missing or of no known format, or holds no record that can be read.
    """
    if not paths:
        raise InputError("no input given: name at least one file of items or of judgments")
    return ItemSource(paths, responses=responses, limit=limit)


class _ItemLines:
    def __init__(self, source: Source) -> None:
        self.source = source

    def read(self) -> Iterator[_FoundItem | Reject]:
        for line in read_lines(self.source):
            if isinstance(line, Reject):
                yield line
                continue
            try:
                item = Item.model_validate(line.data)
            except ValidationError as error:
                yield self.source.reject(line.number, reason_of(error), line.raw)
            else:
                yield _FoundItem(item, self.source.name, line.number)


class _JudgedItems:
    """The items of judgments, in any format that holds judgments."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._judgments = open_judgments([path])

    def read(self) -> Iterator[_FoundItem | Reject]:
        for number, found in enumerate(self._judgments.scan(), start=1):
            yield _FoundItem(found.item, self.path, number) if isinstance(found, Judgment) else found


def _input(path: str) -> "_ItemLines | _JudgedItems":
    source = Source(Path(path), path)
    if path != "-" and source.path.is_file() and container_of(source) is Container.LINES:
        first = next((line for line in read_lines(source) if isinstance(line, Line)), None)
        if first is not None and _is_item(first):
            return _ItemLines(source)
    try:
        return _JudgedItems(path)
    except InputError as error:
        if not source.path.exists():
            raise
        raise InputError(f"{error}; or items, one object a line with id, question and responses") from None


def _is_item(line: Line) -> bool:
    return "question" in line.data and "responses" in line.data and "item" not in line.data


def _require_same(item: Item, earlier: tuple[str, str], where: str) -> None:
    digest, first = earlier
    if digest != item.digest:
        raise InputError(
            f"item {item.id!r} has one content at {first} and another at {where}: give different items different "
            "ids, or leave one of them out"
        )
