"""Tables in: rows of CSV, TSV and JSON files, and what all tables have: rows as a number and named cells."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from metajudge.reading.containers.cells import cell, key_of, parsed
from metajudge.reading.containers.headers import HEAD, Cells, headed
from metajudge.reading.containers.lines import (
    BOM,
    EXCERPT,
    MAX_LINE_BYTES,
    NAN_IS_NULL,
    OF_TABLES,
    Constants,
    DamagedError,
    Line,
    RawLine,
    Reject,
    Source,
    TableRow,
    head_of,
    older_text,
    open_bytes,
    parsed_line,
    read_lines,
)
from metajudge.reading.containers.unpacking import DAMAGE

SURVEYED_ROWS = 1_000
"""How many rows are looked at for the columns and values of a table."""
_CHUNK = 1 << 20
_LONGEST_STRING = 4 * MAX_LINE_BYTES
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["\[\]{},]', re.S)
"""A whole string, the opening quote of one that continues past the buffer, or one sign of structure."""

_SPACE = b" \t\r\n"


def read_elements(source: Source, constants: Constants = NAN_IS_NULL) -> Iterator[Line | Reject]:
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
                found = parsed_line(source, RawLine(number, 0, raw), constants)
                if isinstance(found, Reject):
                    found = replace(found, reason=found.reason.replace("the line ", "the entry "))
                yield found
        except DAMAGE as error:
            reason = f"the file is damaged or ends early; nothing after this entry can be read ({error})"
            yield Reject(source.name, number + 1, reason, "")


def _elements(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of each element of the outermost list. Raises EOFError: the list does not end, or text follows it."""
    held = stream.read(_CHUNK).removeprefix(BOM).lstrip(_SPACE)
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
        return (
            self.header()
            if self.header
            else tuple(dict.fromkeys(key for row in self.survey().rows for key in row.data))
        )

    def told(self) -> list[str]:
        """Sentences on how the table is read, as far as it was read; see :meth:`Source.tell`."""
        return list(self.source.notes)

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


LINES: Final = "JSONL"


def json_lines(source: Source, constants: Constants = OF_TABLES) -> Table:
    """One object a line; arguments as for :func:`~metajudge.reading.containers.lines.read_lines`."""
    return Table(LINES, source, partial(read_lines, source, constants))


def json_list(source: Source, constants: Constants = OF_TABLES) -> Table:
    """One JSON list of objects."""
    return Table("JSON list", source, partial(read_elements, source, constants))


def records_in(table: Table) -> Table:
    """Records of our own in a table with types, such as Parquet: as they were written as JSON.

    Such a table has every field in every row, null where a record has none, and may have objects as JSON text.
    """

    def rows() -> Iterator[Line | Reject]:
        for row in table.rows():
            if isinstance(row, Reject):
                yield row
                continue
            if row.data.get("verdict") in ("inf", "-inf"):
                reason = "verdict is an infinite number, which is no grade"
                yield table.source.reject(row.number, reason, row.raw)
                continue
            found: dict[str, Any] = {"verdict": None}
            for name, given in row.data.items():
                if name == "version" and given == 1:  # the only one, which is the default
                    continue
                is_json = name in _NESTED and isinstance(given, str) and given.startswith(("{", "["))
                value = _without_nulls(parsed(given) if is_json else given)
                if value is not None:
                    found[name] = value
            yield TableRow(row.number, found)

    return Table(table.format, table.source, rows, table.columns)


_NESTED = frozenset(("item", "verdict", "order", "labels", "meta"))
"""Fields of a record that are no text where they look like JSON."""


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


SUFFIXES = (".csv", ".tsv")
_DELIMITERS = (",", "\t", ";", "|")
_SEPARATOR = re.compile(rb'"?sep=(.)"?\r?\n', re.IGNORECASE)
"""The first line of a file that says what divides its cells."""
_HEAD_BYTES = 1 << 16


def csv_rows(source: Source, delimiter: str | None = None) -> Iterator[Cells]:
    """Every row of a CSV file (RFC 4180), the header and blank ones among them.

    A fault is a ``csv.Error`` (a quote in the wrong place, or one that is never closed and swallows what follows), a
    ``UnicodeDecodeError``, or what reading a damaged file raises: then nothing follows.

    Args:
        source: the file.
        delimiter: of cells; None for a tab in ``.tsv`` files, else for what mostly divides the first line.

    Raises:
        InputError: the file cannot be opened.
    """
    # The limit is the module's, for the whole process; it only ever grows here.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    found = delimiter or _delimiter(source)
    number, first, pieces, faults = 0, 1, list[bytes](), list[Exception]()

    def lines(stream: BinaryIO) -> Iterator[str]:
        nonlocal number, first
        while raw := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if number == 1:
                raw = raw.removeprefix(BOM)
                if delimiter is None and _SEPARATOR.fullmatch(raw):
                    continue
            if not pieces:
                first = number
            if sum(map(len, pieces)) <= MAX_LINE_BYTES:
                pieces.append(raw)
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                older = older_text(source, raw)
                text = raw.decode("utf-8", "replace") if older is None else older
                faults.extend([] if older is not None else [error])
            yield text.replace("\0", "") if "\0" in text else text

    with open_bytes(source) as stream:
        reader = csv.reader(lines(stream), delimiter=found, strict=True)
        while True:
            cells: list[str] = []
            fault = faults
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                fault = [error]
            except DAMAGE as error:
                yield Cells(first if pieces else number + 1, b"", [], error)
                return
            raw = b"".join(pieces)
            yield Cells(first, raw.rstrip(b"\r\n"), cells, fault[-1] if fault else None)
            pieces.clear()
            faults.clear()


def _delimiter(source: Source) -> str:
    """What divides cells: the file says it in its first line or its name, or it mostly divides the lines."""
    try:
        head = head_of(source, _HEAD_BYTES)
    except DamagedError:
        return ","
    first, _, rest = head.partition(b"\n")
    if said := _SEPARATOR.fullmatch(first + b"\n"):
        return said[1].decode()
    if ".tsv" in source.path.suffixes:
        return "\t"
    text = head.decode("utf-8", "replace").replace("\r", "")
    lines = [line + "\n" for line in text.split("\n")[: HEAD if rest else 1] if line.strip()]
    usual = max(_DELIMITERS, key=lines[0].count) if lines else ","
    agreed = {}
    for delimiter in (usual, *_DELIMITERS):
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        width = max(widths, key=widths.count, default=1)
        if delimiter == usual and widths and widths[0] == width > 1:
            return usual
        agreed[delimiter] = widths.count(width) if width > 1 else 0
    return max(agreed, key=lambda one: agreed[one])


def csv_table(source: Source) -> Table:
    """Rows of a CSV file under a header; see :func:`csv_rows` and :func:`~metajudge.reading.containers.headers.headed`.

    A row with bytes that are not UTF-8 is a :class:`Reject` where the file has no older encoding. A quote that is
    never closed is reported where it opens.
    """
    return Table("CSV", source, *headed(source, partial(csv_rows, source)))


def looks_like_csv(path: Path, head: bytes) -> bool:
    """Whether a file is a table of this kind, by its name, or by a first line of several short names."""
    names = [suffix.lower() for suffix in path.suffixes]
    names = names[:-1] if names and names[-1] in (".gz", ".zst") else names
    if head[:1] in (b"{", b"["):
        return False
    if (names and names[-1] in SUFFIXES) or _SEPARATOR.match(head):
        return True
    if names and names[-1] in (".json", ".jsonl", ".ndjson"):
        return False
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    delimiter = max(_DELIMITERS, key=first.count)
    cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
    return len(cells) > 1 and len(set(cells)) == len(cells) and all(0 < len(cell) <= 40 for cell in cells)
