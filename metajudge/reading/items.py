"""Items in: a file of items, any table of questions and responses, or the items of any source of judgments.

A line of an items file is an :class:`~metajudge.types.Item`: ``{"id", "question", "responses": {"A": ..., "B": ...}}``
and, where known, ``category``, ``label``, ``reference`` and ``models``. A table (CSV, Parquet, a dataset on disk, ...)
needs a column of questions and one for each response, by the names of a mapping's fields or by a mapping.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from metajudge.errors import InputError
from metajudge.reading.containers.kinds import tables_in
from metajudge.reading.containers.lines import EXCERPT, Line, Reject, Source
from metajudge.reading.containers.tables import Table
from metajudge.reading.formats.known import format_of
from metajudge.reading.mapped import MappedTable
from metajudge.reading.mapping import ASKED, FieldMap, own_columns
from metajudge.reading.reader import each
from metajudge.reading.saved_maps import saved_map
from metajudge.reading.source import open_judgments
from metajudge.types import Item, Judgment


@dataclass(frozen=True, slots=True)
class _FoundItem:
    """An item and its position: for judgments, ``line`` counts records."""

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
        formats: the path as given -> the name of the format it is read as.
        items: how many there are, after one pass.
        responses: how many responses these have together.
        rejects: lines that could not be read, and items with another number of responses than asked for.

    Iterating raises :class:`~metajudge.errors.InputError` where one id is used for two different items: whatever
    was judged, it could not be told which.
    """

    def __init__(
        self, paths: Sequence[str], responses: int | None, limit: int | None, mapping: FieldMap | None, prefix_ids: bool
    ) -> None:
        self.items = self.responses = 0
        self.rejects: list[Reject] = []
        self._inputs = [_input(path, mapping, prefix_ids) for path in paths]
        self.formats = {path: one.format for path, one in zip(paths, self._inputs, strict=True)}
        self._wanted = responses
        self._limit = limit

    def __iter__(self) -> Iterator[Item]:
        seen: dict[str, tuple[str, str]] = {}
        self.items, self.responses, self.rejects = 0, 0, []
        for found in (one for source in self._inputs for one in source.read()):
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


def open_items(
    paths: Sequence[str],
    *,
    responses: int | None = None,
    limit: int | None = None,
    mapping: FieldMap | None = None,
    prefix_ids: bool = False,
) -> ItemSource:
    """Opens files of items, tables of questions and responses, and files or folders of judgments for their items.

    Args:
        paths: what to read.
        responses: how many responses an item must have; others are rejected, with the reason.
        limit: how many items to give at most.
        mapping: which column of a table is what; None for the mapping kept for the file, where there is one.
        prefix_ids: for judgments, put the file's name before every judgment's id.

    Raises:
        InputError: a path is missing or of no known format, or contains no record that can be read.
    """
    if not paths:
        raise InputError("no input given: name at least one file of items or of judgments")
    return ItemSource(paths, responses, limit, mapping, prefix_ids)


@dataclass(frozen=True, slots=True)
class _Input:
    """One path: the name of its format, and its items, read anew at each call."""

    format: str
    read: Callable[[], Iterator[_FoundItem | Reject]]


def _read(source: Source, rows: Iterable[Line | Reject], item: Callable[[Line], Item]) -> Iterator[_FoundItem | Reject]:
    return each(source, rows, lambda row: _FoundItem(item(row), source.name, row.number))


def _input(path: str, mapping: FieldMap | None, prefix_ids: bool) -> _Input:
    source = Source(Path(path), path)
    readable = source.path.is_dir() or (path != "-" and source.path.is_file())
    tables = tables_in(source) if readable else []
    found = _items_of(tables, mapping) if tables else None
    if found is not None:
        return found
    try:
        judgments = open_judgments([path], mapping=mapping, prefix_ids=prefix_ids)
    except InputError as error:
        if not source.path.exists():
            raise
        columns = "--map question=COLUMN,responses.A=COLUMN,responses.B=COLUMN"
        raise InputError(
            f"{error}; or items: one object a line with id, question and responses, or a table with {columns}"
        ) from None

    def read() -> Iterator[_FoundItem | Reject]:
        for number, one in enumerate(judgments.scan(), start=1):
            yield _FoundItem(one.item, path, number) if isinstance(one, Judgment) else one

    return _Input(next(iter(judgments.formats.values())), read)


def _items_of(tables: Sequence[Table], mapping: FieldMap | None) -> _Input | None:
    """A reader for tables that contain items and no verdicts; None for what may contain judgments."""
    table = tables[0]
    first = next((line for line in table.rows() if isinstance(line, Line)), None)
    if first is None:
        return None
    is_item = "question" in first.data and isinstance(first.data.get("responses"), dict) and "item" not in first.data
    if is_item and len(tables) == 1:
        made = partial(_read, table.source, item=lambda row: Item.model_validate(row.data))
        return _Input(f"{table.format} of items", lambda: made(table.rows()))
    given = mapping if mapping is not None and mapping.columns else saved_map(table.source.path)
    known = format_of(first.data)
    if known is not None and (given is None or not known.by_columns):
        return None
    used = given or FieldMap(columns=own_columns(table.columns()))
    judged = "verdict" in used.columns or "verdict" in used.constants
    if judged or used.missing(ASKED):
        return None
    mapped = [MappedTable(one, used, survey=False, needed=ASKED) for one in tables]
    return _Input(
        f"{table.format}, mapped",
        lambda: (found for one in mapped for found in _read(one.source, one.rows_of_judges(), one.item)),
    )


def _require_same(item: Item, earlier: tuple[str, str], where: str) -> None:
    digest, first = earlier
    if digest != item.digest:
        raise InputError(
            f"item {item.id!r} has one content at {first} and another at {where}: give different items different "
            "ids, or leave one of them out"
        )
