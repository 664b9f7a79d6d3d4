"""Tables in: rows of CSV, TSV, JSON and Parquet files and of datasets on disk, all as a number and named cells."""

import re
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO, Protocol

from metajudge.readers.cells import parsed
from metajudge.readers.lines import (
    EXCERPT,
    MAX_LINE_BYTES,
    BadLine,
    ByteSpan,
    Line,
    RawLine,
    Reject,
    Source,
    open_bytes,
    parse_object,
    raw_lines,
    read_lines,
)
from metajudge.readers.parquet_table import TableRow

SURVEYED_ROWS = 1_000
"""How many rows are looked at for the columns and values of a table."""
_CHUNK = 1 << 20
_LONGEST_STRING = 4 * MAX_LINE_BYTES
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["\[\]{},]', re.S)
"""A whole string, the opening quote of one that continues past the buffer, or one sign of structure."""

_SPACE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


def read_elements(source: Source, *, infinite_is_text: bool = False) -> Iterator[Line | Reject]:
    """Parses the objects of a file that contains one JSON list; ``number`` is 1 for the first one.

    An element that is no object, or a damaged one, is a :class:`Reject`; the others are read as long as brackets and
    quotes balance. Memory: one element.
    """
    with open_bytes(source) as stream:
        number = 0
        try:
            for raw in _elements(stream):
                number += 1
                if len(raw) > MAX_LINE_BYTES:
                    reason = f"the entry is longer than {MAX_LINE_BYTES // 2**20} MiB"
                    yield source.reject(number, reason, raw[:EXCERPT])
                    continue
                try:
                    data = parse_object(raw, nan_is_null=True, infinite_is_text=infinite_is_text)
                except BadLine as bad:
                    yield source.reject(number, str(bad).replace("the line ", "the entry "), raw)
                else:
                    yield Line(number, raw, data)
        except (EOFError, OSError, zlib.error) as error:
            reason = f"the file is damaged or ends early; nothing after this entry can be read ({error})"
            yield Reject(source.name, number + 1, reason, "")


def _elements(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of each element of the outermost list. Raises EOFError: the list does not end, or text follows it."""
    held = stream.read(_CHUNK).removeprefix(_BOM).lstrip(_SPACE)
    if not held.startswith(b"["):
        raise EOFError("no list")
    depth, begin, at, oversize = 1, 1, 1, False
    while True:
        found = _TOKEN.search(held, at)
        if found is None or found[0] == b'"':
            at = len(held) if found is None else found.start()
            more = stream.read(_CHUNK)
            if len(held) - at > _LONGEST_STRING:
                raise EOFError("a text in quotes does not end")
            if not more:
                raise EOFError("the list does not end")
            held, begin, at, oversize = _joined(held, begin, at, oversize, more)
            continue
        at, sign = found.end(), found[0]
        if sign in b"[{":
            depth += 1
        elif sign in b"]}":
            depth -= 1
        if (sign == b"," and depth == 1) or depth == 0:
            piece = held[begin : found.start()].strip(_SPACE)
            begin = at
            if piece or sign == b",":
                yield piece if not oversize else piece + b" " * (MAX_LINE_BYTES + 1 - len(piece))
            oversize = False
        if depth == 0:
            if held[at:].strip(_SPACE) or stream.read(_CHUNK).strip(_SPACE):
                raise EOFError("text follows the list")
            return


def _joined(held: bytes, begin: int, at: int, oversize: bool, more: bytes) -> tuple[bytes, int, int, bool]:
    """The unread part with more behind it; of an element that is too long only the place is kept."""
    rest = held[begin:]
    if len(rest) > MAX_LINE_BYTES:
        # Kept is the beginning for the report, and what the search has yet to look at (a string may stand open).
        head = rest[:EXCERPT]
        return head + held[at:] + more, 0, len(head), True
    return rest + more, 0, at - begin, oversize


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

    def __init__(self, source: Source, span: ByteSpan | None = None, *, infinite_is_text: bool = True) -> None:
        self.source = source
        self._span = span
        self._infinite_is_text = infinite_is_text

    def columns(self) -> tuple[str, ...]:
        return columns_of_objects(self.rows())

    def rows(self) -> Iterator[Line | Reject]:
        return read_lines(self.source, self._span, nan_is_null=True, infinite_is_text=self._infinite_is_text)

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
        return read_elements(self.source, infinite_is_text=self._infinite_is_text)


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
                if name == "version" and cell == 1:  # the only one, which is the default
                    continue
                is_json = name in _NESTED and isinstance(cell, str) and cell.startswith(("{", "["))
                value = _without_nulls(parsed(cell) if is_json else cell)
                if value is not None:
                    found[name] = value
            yield TableRow(row.number, found)


_NESTED = frozenset(("item", "verdict", "order", "labels", "meta"))
"""Fields of a record that are no text where they look like JSON."""


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
