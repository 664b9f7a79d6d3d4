"""Tables in: rows of CSV, TSV, JSON and Parquet files and of datasets on disk, all as a number and named cells."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

import orjson

from metajudge.readers.json_elements import read_elements
from metajudge.readers.lines import ByteSpan, Line, RawLine, Reject, Source, raw_lines, read_lines
from metajudge.readers.parquet_table import TableRow

SURVEYED_ROWS = 1_000
"""How many rows are looked at for the columns and values of a table."""


class Table(Protocol):
    """Rows in one format. ``rows`` starts anew at each call and keeps a bounded part of the file in memory.

    Attributes:
        format: what it is, for people.
        source: where it is; the name is used in messages.
    """

    format: str
    source: Source

    def columns(self) -> tuple[str, ...]:
        """Names of the columns; of JSON, the keys of the first :data:`SURVEYED_ROWS` objects."""

    def rows(self) -> Iterator[Line | Reject]:
        """Every row; ``number`` is the line, or the row where the format has no lines (1 for the first)."""


class JsonLineTable:
    """One object a line."""

    format = "JSONL"

    def __init__(self, source: Source, span: ByteSpan | None = None) -> None:
        self.source = source
        self._span = span

    def columns(self) -> tuple[str, ...]:
        return columns_of_objects(self.rows())

    def rows(self) -> Iterator[Line | Reject]:
        return read_lines(self.source, self._span, nan_is_null=True, infinite_is_text=True)

    def raw_lines(self) -> Iterator[RawLine | Reject]:
        """Every line, not parsed yet."""
        return raw_lines(self.source, self._span)


class JsonListTable:
    """One JSON list of objects."""

    format = "JSON list"

    def __init__(self, source: Source, *, infinite_is_text: bool = True) -> None:
        self.source = source
        self._infinite_is_text = infinite_is_text

    def columns(self) -> tuple[str, ...]:
        return columns_of_objects(self.rows())

    def rows(self) -> Iterator[Line | Reject]:
        return read_elements(self.source, nan_is_null=True, infinite_is_text=self._infinite_is_text)


class RecordTable:
    """Records of our own in a table with types, such as Parquet: as they were written as JSON.

    Such a table has every field in every row, null where a record has none, and may have objects as JSON text.
    """

    def __init__(self, table: Table) -> None:
        self.format = table.format
        self.source = table.source
        self._table = table

    def columns(self) -> tuple[str, ...]:
        return self._table.columns()

    def rows(self) -> Iterator[Line | Reject]:
        given, known, item = None, b"", None
        for row in self._table.rows():
            if isinstance(row, Reject):
                yield row
                continue
            data = row.data
            if data.get("verdict") in ("inf", "-inf"):
                yield self.source.reject(row.number, "verdict is an infinite number, which is no grade", row.raw)
                continue
            found: dict[str, Any] = {"verdict": None}
            for name, cell in data.items():
                if cell is None or (name == "version" and cell == 1):  # the only one, which is the default
                    continue
                if name == "item":  # rows of one item mostly follow each other, and then share it
                    # Bytes say what equality does not: the order of keys, and 1 from true.
                    if cell != given or orjson.dumps(cell, default=str) != known:
                        given, known = cell, orjson.dumps(cell, default=str)
                        item = _without_nulls(_parsed(cell))
                    cell = item
                elif name in _NESTED:
                    cell = _without_nulls(_parsed(cell))
                elif type(cell) is not str:
                    cell = _without_nulls(cell)
                if cell is not None:
                    found[name] = cell
            yield TableRow(row.number, found)


_NESTED = frozenset(("item", "verdict", "order", "labels", "meta"))
"""Fields of a record that are no text where they look like JSON."""


def _parsed(cell: Any) -> Any:
    """A cell that is JSON text as what it says; anything else as it is."""
    if not isinstance(cell, str) or not cell.startswith(("{", "[")):
        return cell
    try:
        return orjson.loads(cell)
    except orjson.JSONDecodeError:
        return cell


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def columns_of_objects(rows: Iterator[Line | Reject]) -> tuple[str, ...]:
    """The keys of the first objects, in order of their first appearance."""
    keys: dict[str, None] = {}
    for row in islice(rows, SURVEYED_ROWS):
        if isinstance(row, Line):
            keys.update(dict.fromkeys(row.data))
    return tuple(keys)
