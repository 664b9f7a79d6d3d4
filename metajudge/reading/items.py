"""Items in: a file of items, any table of questions and responses, or the items of any source of judgments.

A line of an items file is an :class:`~metajudge.types.Item`: ``{"id", "question", "responses": {"A": ..., "B": ...}}``
and, where known, ``category``, ``label``, ``reference`` and ``models``. A table (CSV, Parquet, a dataset on disk, ...)
needs a column of questions and one for each response, by the names of a mapping's fields or by a mapping.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

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


class _FoundItem(NamedTuple):
    """An item and its position: for judgments, ``line`` counts records."""

    item: Item
    file: str
    line: int


_Read: TypeAlias = Callable[[], Iterator[_FoundItem | Reject]]
"""Reads one input anew at each call."""


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
        self, inputs: Sequence[_Read], formats: dict[str, str], responses: int | None, limit: int | None
    ) -> None:
        self.items = self.responses = 0
        self.rejects: list[Reject] = []
        self.formats = formats
        self._inputs = inputs
        self._wanted = responses
        self._limit = limit

    def __iter__(self) -> Iterator[Item]:
        seen: dict[str, tuple[str, str]] = {}
        self.items, self.responses, self.rejects = 0, 0, []
        for found in (one for read in self._inputs for one in read()):
            if isinstance(found, Reject):
                self._reject(found)
                continue
            item, where = found.item, f"{found.file}:{found.line}"
            if item.id in seen:
                digest, first = seen[item.id]
                if digest != item.digest:
                    raise InputError(
                        f"item {item.id!r} has one content at {first} and another at {where}: give different items "
                        "different ids, or leave one of them out"
                    )
                continue
            seen[item.id] = item.digest, where
            count = len(item.responses)
            if self._wanted is not None and count != self._wanted:
                reason = f"item {item.id!r} has {count} responses, {self._wanted} are needed"
                self._reject(Reject(found.file, found.line, reason, item.model_dump_json()))
                continue
            if self._limit is not None and self.items >= self._limit:
                return
            self.items += 1
            self.responses += count
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
        responses: how many responses an item must have; others are rejected, with the reason.
        limit: how many items to give at most.
        mapping: which column of a table is what; None for the mapping kept for the file, where there is one.
        prefix_ids: for judgments, put the file's name before every judgment's id.

    Raises:
        InputError: a path is missing or of no known format, or contains no record that can be read.
    """
    if not paths:
        raise InputError("no input given: name at least one file of items or of judgments")
    inputs = [_input(path, mapping, prefix_ids) for path in paths]
    formats = {path: title for path, (title, _) in zip(paths, inputs, strict=True)}
    return ItemSource([read for _, read in inputs], formats, responses, limit)


def _input(path: str, mapping: FieldMap | None, prefix_ids: bool) -> tuple[str, _Read]:
    """The name of a path's format, and what reads its items."""
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

    return next(iter(judgments.formats.values())), read


def _items_of(tables: Sequence[Table], mapping: FieldMap | None) -> tuple[str, _Read] | None:
    """What reads tables that contain items and no verdicts; None for what may contain judgments."""
    table = tables[0]
    first = next((line for line in table.rows() if isinstance(line, Line)), None)
    if first is None:
        return None
    is_item = "question" in first.data and isinstance(first.data.get("responses"), dict) and "item" not in first.data
    if is_item and len(tables) == 1:
        return f"{table.format} of items", lambda: _read(table, table.rows(), _as_item)
    given = mapping if mapping is not None and mapping.columns else saved_map(table.source.path)
    known = format_of(first.data)
    if known is not None and (given is None or not known.by_columns):
        return None
    used = given or FieldMap(columns=own_columns(table.columns()))
    if "verdict" in {*used.columns, *used.constants} or used.missing(ASKED):
        return None
    mapped = [MappedTable(one, used, survey=False, needed=ASKED) for one in tables]
    title = f"{table.format}, mapped"
    return title, lambda: (found for one in mapped for found in _read(one.table, one.rows_of_judges(), one.item))


def _as_item(row: Line) -> Item:
    return Item.model_validate(row.data)


def _read(table: Table, rows: Iterator[Line | Reject], item: Callable[[Line], Item]) -> Iterator[_FoundItem | Reject]:
    source = table.source
    return each(source, rows, lambda row: _FoundItem(item(row), source.name, row.number))
