"""Tables in: rows of CSV, TSV, JSON and Excel files, and what all tables have: rows as a number and named cells."""

import csv
import datetime
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import orjson

from metajudge.errors import InputError
from metajudge.installation import install_command
from metajudge.readers.cells import parsed
from metajudge.readers.lines import (
    EXCERPT,
    MAX_LINE_BYTES,
    BadLine,
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

    def __init__(self, source: Source, *, infinite_is_text: bool = True) -> None:
        self.source = source
        self._infinite_is_text = infinite_is_text

    def columns(self) -> tuple[str, ...]:
        return columns_of_objects(self.rows())

    def rows(self) -> Iterator[Line | Reject]:
        return read_lines(self.source, nan_is_null=True, infinite_is_text=self._infinite_is_text)

    def raw_lines(self) -> Iterator[RawLine | Reject]:
        """Every line, not parsed yet."""
        return raw_lines(self.source)


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


SUFFIXES = (".csv", ".tsv")
_DELIMITERS = (",", "\t", ";", "|")


class CsvTable:
    """Rows of a CSV file (RFC 4180); the delimiter is a tab in ``.tsv`` files, else what mostly divides the header.

    A row with another number of cells than the header, with a quote in the wrong place or with bytes that are not
    UTF-8 is a :class:`Reject`. A quote that is never closed swallows what follows: it is reported where it opens.
    """

    format = "CSV"

    def __init__(self, source: Source) -> None:
        self.source = source

    def columns(self) -> tuple[str, ...]:
        with open_bytes(self.source) as stream:
            return self._header(_Lines(stream))[1]

    def rows(self) -> Iterator[Line | Reject]:
        # The limit is the module's, for the whole process; it only ever grows here.
        csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
        with open_bytes(self.source) as stream:
            lines = _Lines(stream)
            reader, header = self._header(lines)
            while True:
                lines.begin()
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    yield self._broken(lines, error)
                    continue
                except (EOFError, OSError, zlib.error) as error:
                    reason = f"the file is damaged or ends early; nothing after this line can be read ({error})"
                    yield Reject(self.source.name, lines.first, reason, "")
                    return
                if cells and any(cells):
                    yield self._row(lines, header, cells)

    def _header(self, lines: "_Lines") -> tuple[Iterator[list[str]], tuple[str, ...]]:
        name = self.source.name
        lines.begin()
        try:
            first = next(lines, "")
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"{name} is a damaged gzip file: {error}") from error
        if not first.strip():
            raise InputError(f"{name} has no header: the first line of a CSV file names its columns")
        delimiter = "\t" if ".tsv" in self.source.path.suffixes else max(_DELIMITERS, key=first.count)
        reader = csv.reader(lines.from_(first), delimiter=delimiter, strict=True)
        try:
            header = tuple(cell.strip() for cell in next(reader))
        except csv.Error as error:
            raise InputError(f"{name}:1: the header cannot be read as CSV: {error}") from None
        repeated = sorted({cell for cell in header if header.count(cell) > 1})
        if repeated:
            raise InputError(f"{name} has several columns named {', '.join(map(repr, repeated))}: rename them")
        return reader, header

    def _row(self, lines: "_Lines", header: tuple[str, ...], cells: list[str]) -> Line | Reject:
        if lines.undecodable:
            return self.source.reject(lines.first, f"not UTF-8: {lines.undecodable}", lines.text)
        if len(cells) != len(header):
            reason = f"the row has {len(cells)} cells, the header {len(header)}"
            return self.source.reject(lines.first, reason, lines.text)
        return Line(lines.first, lines.text, dict(zip(header, cells, strict=True)))

    def _broken(self, lines: "_Lines", error: csv.Error) -> Reject:
        if "unexpected end of data" in str(error) or "field larger" in str(error):
            reason = "a quote opens here and is not closed: the rest of the file would be read as its text"
        else:
            reason = f"not CSV: {error}"
        return self.source.reject(lines.first, reason, lines.text[:EXCERPT])


class _Lines:
    """Decoded lines for the csv module, which remember what the current row is made of."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._number = 0
        self._pieces: list[bytes] = []
        self.first = 1
        self.undecodable = ""

    def begin(self) -> None:
        """A new row begins with the next line."""
        self._pieces.clear()
        self.first = self._number + 1
        self.undecodable = ""

    @property
    def text(self) -> bytes:
        """The row as written in the file."""
        return b"".join(self._pieces).rstrip(b"\r\n")

    def from_(self, line: str) -> Iterator[str]:
        yield line
        yield from self

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        raw = self._stream.readline(MAX_LINE_BYTES + 1)
        if not raw:
            raise StopIteration
        self._number += 1
        if self._number == 1:
            raw = raw.removeprefix(_BOM)
        if sum(map(len, self._pieces)) <= MAX_LINE_BYTES:
            self._pieces.append(raw)
        try:
            return raw.decode("utf-8").replace("\0", "")
        except UnicodeDecodeError as error:
            self.undecodable = f"byte 0x{raw[error.start]:02x}"
            return raw.decode("utf-8", "replace").replace("\0", "")


def looks_like_csv(path: Path, head: bytes) -> bool:
    """Whether a file is a table of this kind, by its name, or by a first line of several short names."""
    names = [suffix.lower() for suffix in path.suffixes]
    names = names[:-1] if names and names[-1] == ".gz" else names
    if head[:1] in (b"{", b"["):
        return False
    if names and names[-1] in SUFFIXES:
        return True
    if names and names[-1] in (".json", ".jsonl", ".ndjson"):
        return False
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    delimiter = max(_DELIMITERS, key=first.count)
    cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
    return len(cells) > 1 and len(set(cells)) == len(cells) and all(0 < len(cell) <= 40 for cell in cells)


_SHEETS: Final = "xl/workbook.xml"


def is_workbook(source: Source) -> bool:
    """Whether a zip archive is an Excel workbook."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            return _SHEETS in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


class WorkbookTable:
    """Rows of a sheet; its first row that is not empty names the columns.

    Numbers without a fraction are whole numbers, times are ISO 8601 texts, and a formula gives the value that was
    saved with it. Rows are read one at a time; ``number`` is the row of the sheet.

    Raises:
        InputError: openpyxl is not installed, or the file cannot be read.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.format = "Excel sheet"

    def columns(self) -> tuple[str, ...]:
        """The cells of the header."""
        for _, cells in self._rows():
            return self._header(cells)
        raise InputError(f"{self.source.name} has no row: the first row of a sheet names its columns")

    def rows(self) -> Iterator[Line | Reject]:
        """Every row below the header that is not empty."""
        header: tuple[str, ...] | None = None
        for number, cells in self._rows():
            if header is None:
                header = self._header(cells)
                continue
            beyond = [cell for cell in cells[len(header) :] if cell not in (None, "")]
            values = [*cells[: len(header)], *([""] * (len(header) - len(cells)))]
            data = {name: "" if value is None else value for name, value in zip(header, values, strict=True) if name}
            raw = orjson.dumps(data, default=str)
            if beyond:
                yield self.source.reject(number, f"the row has {len(beyond)} more cells than the header", raw)
            else:
                yield Line(number, raw, data)

    def _header(self, cells: list[Any]) -> tuple[str, ...]:
        names = tuple("" if cell is None else str(cell).strip() for cell in cells)
        repeated = sorted({name for name in names if name and names.count(name) > 1})
        if repeated:
            raise InputError(
                f"{self.source.name} has several columns named {', '.join(map(repr, repeated))}: rename them"
            )
        return names

    def _rows(self) -> Iterator[tuple[int, list[Any]]]:
        """Rows that are not empty, with their numbers, of the first sheet that has any."""
        try:
            import openpyxl
        except ImportError:
            raise InputError(
                f"{self.source.name} is an Excel workbook: {install_command('inputs')}, or save the sheet as CSV"
            ) from None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # on styles and validations, which are not read
                book = openpyxl.load_workbook(self.source.path, read_only=True, data_only=True)
                with closing(book):
                    for sheet in book.worksheets:
                        empty = True
                        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
                            if any(cell not in (None, "") for cell in row):
                                empty = False
                                yield number, _trimmed([_plain(cell) for cell in row])
                        if not empty:
                            return
        except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
            raise InputError(f"{self.source.name} cannot be read as an Excel workbook: {error}") from None


def _trimmed(cells: list[Any]) -> list[Any]:
    """Without empty cells at the end."""
    while cells and cells[-1] in (None, ""):
        cells.pop()
    return cells


def _plain(cell: Any) -> Any:
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return str(cell)
    return cell
