"""Tables: rows as a number and named cells, and how they are read from JSON files."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, BinaryIO, Final

from metajudge.reading.containers.cells import cell, key_of, parsed
from metajudge.reading.containers.lines import (
    BOM,
    EXCERPT,
    MAX_LINE_BYTES,
    NAN_IS_NULL,
    OF_TABLES,
    Constants,
    Line,
    RawLine,
    Reject,
    Source,
    TableRow,
    open_bytes,
    parsed_line,
    read_lines,
)
from metajudge.reading.containers.unpacking import DAMAGE

HEAD: Final = 20
"""Rows that are looked at for what they have in common, such as a header."""
SURVEYED_ROWS = 1_000
"""How many rows are looked at for the columns and values of a table."""
LINES: Final = "JSONL"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows in one format.

    Attributes:
        format: what it is, for people.
        source: where it is; the name is used in messages.
        rows: every row, anew at each call, with a bounded part of the file in memory; ``number`` is the line, or the
            row where the format has no lines (1 for the first).
        header: names of the columns; None for the keys of the first :data:`SURVEYED_ROWS` objects.
    """

    format: str
    source: Source
    rows: Callable[[], Iterator[Line | Reject]]
    header: Callable[[], tuple[str, ...]] | None = None

    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        if self.header is not None:
            return self.header()
        return tuple(dict.fromkeys(key for row in self.survey().rows for key in row.data))

    def survey(self) -> "Survey":
        """The first :data:`SURVEYED_ROWS` rows, without those that cannot be read."""
        return Survey([row for row in islice(self.rows(), SURVEYED_ROWS) if isinstance(row, Line)])


@dataclass(frozen=True, slots=True)
class Survey:
    """Some rows of a table, by column: a path as :func:`~metajudge.reading.containers.cells.cell` takes it."""

    rows: Sequence[Line]

    def cells(self, column: str) -> list[Any]:
        """A column's values."""
        return [cell(row.data, column) for row in self.rows]

    def keys(self, column: str) -> list[str]:
        """A column's values as the texts they are looked up by."""
        return list(map(key_of, self.cells(column)))

    def texts(self, column: str) -> list[str]:
        """A column's texts, an empty one in place of any other value."""
        return [value if isinstance(value, str) else "" for value in self.cells(column)]


def json_lines(source: Source, constants: Constants = OF_TABLES) -> Table:
    """One object a line; arguments as for :func:`~metajudge.reading.containers.lines.read_lines`."""
    return Table(LINES, source, partial(read_lines, source, constants))


def json_list(source: Source, constants: Constants = OF_TABLES) -> Table:
    """One JSON list of objects; see :func:`read_elements`."""
    return Table("JSON list", source, partial(read_elements, source, constants))


def read_elements(source: Source, constants: Constants = NAN_IS_NULL) -> Iterator[Line | Reject]:
    """Parses the objects of a file that contains one JSON list; ``number`` is 1 for the first one.

    An element that is no object, or a damaged one, is a :class:`Reject`; the others are read as long as brackets and
    quotes balance. Memory: one element.
    """
    number = 0
    with open_bytes(source) as stream:
        try:
            for number, (raw, too_long) in enumerate(_elements(stream), start=1):
                if too_long:
                    reason = f"the entry is longer than {MAX_LINE_BYTES // 2**20} MiB"
                    yield source.reject(number, reason, raw[:EXCERPT])
                    continue
                found = parsed_line(source, RawLine(number, 0, raw), constants)
                if isinstance(found, Reject):
                    found = replace(found, reason=found.reason.replace("the line ", "the entry "))
                yield found
        except DAMAGE as error:
            reason = f"the file is damaged or ends early; nothing after this entry can be read ({error})"
            yield source.reject(number + 1, reason)


_CHUNK = 1 << 20
_LONGEST_STRING = 4 * MAX_LINE_BYTES
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["\[\]{},]', re.S)
"""A whole string, the opening quote of one that continues past the buffer, or one sign of structure."""
_SPACE = b" \t\r\n"


def _elements(stream: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """The bytes of each element of the outermost list, and whether it is too long: then some of its bytes are left out.

    Raises EOFError: the list does not end, or text follows it.
    """
    held = stream.read(_CHUNK).removeprefix(BOM).lstrip(_SPACE)
    if not held.startswith(b"["):
        raise EOFError("no list")
    depth, begin, at, cut = 1, 1, 1, False
    while depth:
        found = _TOKEN.search(held, at)
        if found is None or found[0] == b'"':
            at = len(held) if found is None else found.start()
            if len(held) - at > _LONGEST_STRING:
                raise EOFError("a text in quotes does not end")
            more = stream.read(_CHUNK)
            if not more:
                raise EOFError("the list does not end")
            kept = held[begin:at]
            if len(held) - begin > MAX_LINE_BYTES:
                kept, cut = kept[:EXCERPT], True
            held, begin, at = kept + held[at:] + more, 0, len(kept)
            continue
        at, sign = found.end(), found[0]
        if sign in b"[{":
            depth += 1
        elif sign in b"]}":
            depth -= 1
        if (sign == b"," and depth == 1) or not depth:
            piece = held[begin : found.start()].strip(_SPACE)
            if piece or sign == b",":
                yield piece, cut or len(piece) > MAX_LINE_BYTES
            begin, cut = at, False
    if held[at:].strip(_SPACE) or stream.read(_CHUNK).strip(_SPACE):
        raise EOFError("text follows the list")


_NESTED = frozenset(("item", "verdict", "order", "labels", "meta"))
"""Fields of a record that are no text where they look like JSON."""


def records_in(table: Table) -> Table:
    """Records of our own in a table with types, such as Parquet: as they were written as JSON.

    Such a table has every field in every row, null where a record has none, and may have objects as JSON text.
    """

    def rows() -> Iterator[Line | Reject]:
        for row in table.rows():
            if isinstance(row, Line) and row.data.get("verdict") in ("inf", "-inf"):
                reason = "verdict is an infinite number, which is no grade"
                yield table.source.reject(row.number, reason, row.raw)
            else:
                yield TableRow(row.number, _record_of(row.data)) if isinstance(row, Line) else row

    return Table(table.format, table.source, rows, table.columns)


def _record_of(row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"verdict": None}
    for name, given in row.items():
        is_json = name in _NESTED and isinstance(given, str) and given.startswith(("{", "["))
        value = _without_nulls(parsed(given) if is_json else given)
        if value is not None and not (name == "version" and value == 1):  # the only version, which is the default
            found[name] = value
    return found


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
