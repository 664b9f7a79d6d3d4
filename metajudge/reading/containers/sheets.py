"""Sheets: rows of cells, of which the first name the columns, in CSV files and Excel workbooks."""

import csv
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, count, islice, takewhile, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import orjson

from metajudge.errors import InputError
from metajudge.installation import install_command
from metajudge.reading.containers.lines import (
    BOM,
    EXCERPT,
    MAX_LINE_BYTES,
    DamagedError,
    Line,
    Reject,
    Source,
    TableRow,
    head_of,
    older_text,
    open_bytes,
    undamaged,
)
from metajudge.reading.containers.tables import HEAD, Table
from metajudge.reading.containers.typed_tables import plain
from metajudge.reading.containers.unpacking import DAMAGE

_LONGEST_NAME: Final = 60
_SOME_ROWS: Final = 4
"""Rows in which a value would have come again, were it none of the header's."""
_NUMBER: Final = re.compile(r"[\d.,:%+/-]+")


class Cells(NamedTuple):
    """A row without names yet: the number of its first line, its bytes and cells, and what is wrong with it.

    There are no bytes in a workbook, and where the file is damaged.
    """

    number: int
    raw: bytes
    cells: list[Any]
    fault: Exception | None

    def is_blank(self) -> bool:
        return self.cells.count("") == len(self.cells)


class Header(NamedTuple):
    """The names of the columns, empty for columns that are not read, how many rows they take, and what is told."""

    names: list[str]
    height: int
    notes: list[str]


def header_of(name: str, rows: Sequence[Cells]) -> Header:
    """The header among the first rows that are not blank: the first one, one below a title, or groups and names.

    Raises:
        InputError: there is no header, two columns have the same name, or two rows may be the header.
    """
    if not rows:
        raise InputError(f"{name} has no header: the first line of a table names its columns")
    if rows[0].fault is not None and not isinstance(rows[0].fault, UnicodeDecodeError):
        raise InputError(f"{name}:{rows[0].number}: the header cannot be read as CSV: {rows[0].fault}")
    tops = [["" if cell is None else str(cell).strip() for cell in row.cells] for row in rows]
    above = next((at for at in range(1, len(tops)) if _is_below_titles(tops, at, rows[at].cells)), 0)
    names, height = tops[above], above + 1
    if not above:
        titles = len(list(takewhile(lambda top: sum(map(bool, top)) == 1, tops)))
        joined = _joined(name, rows[titles:], tops[titles:])
        if joined is not None:
            above, names, height = titles, joined, titles + 2
    notes = [
        f"{name}: line {row.number} stands above the header and is not read ({', '.join(filter(None, top))[:60]!r})"
        for row, top in zip(rows[:above], tops, strict=False)
    ]
    if height > above + 1:
        lines = f"lines {rows[above].number} and {rows[above + 1].number}"
        notes.append(f"{name}: {lines} name the columns together: {', '.join(names)[:200]}")
    repeated = sorted({one for one in names if one and names.count(one) > 1})
    if repeated:
        raise InputError(f"{name} has several columns named {', '.join(map(repr, repeated))}: rename them")
    nameless = [place for place, one in enumerate(names) if not one and place and _filled(tops[height:], place)]
    if nameless:
        places = ", ".join(str(place + 1) for place in nameless)
        notes.append(f"{name}: nothing in the header names column {places}, which is not read")
    return Header(names, height, notes)


def _filled(rows: Sequence[Sequence[str]], place: int) -> list[str]:
    """The values of a column that are not empty."""
    return [row[place] for row in rows if len(row) > place and row[place]]


def _are_names(tops: Sequence[Sequence[str]], at: int) -> bool:
    """Whether the cells of a row can be names: short, no numbers, and no values of the rows below."""
    return not any(
        len(one) > _LONGEST_NAME or "\n" in one or _NUMBER.fullmatch(one) or one in _filled(tops[at + 1 :], place)
        for place, one in enumerate(tops[at])
        if one
    )


def _is_below_titles(tops: Sequence[Sequence[str]], at: int, written: Sequence[Any]) -> bool:
    """Whether a row is the header, and those above it are a title, or notes of a name and a value."""
    names, below = tops[at], tops[at + 1 :]
    count = sum(map(bool, names))
    padded = all(len(top) >= len(names) for top in tops[:at])
    spaced = any(isinstance(cell, str) and cell.startswith(" ") for cell in written)
    if len({*filter(None, names)}) < count or (spaced and not padded) or not _are_names(tops, at):
        return False
    if any(not one and _filled(below, place) for place, one in enumerate(names) if place):
        return False
    for top in tops[:at]:
        filled = [one for one in top if one]
        titled = len(filled) == 1 and top[0] and count >= (2 if padded else 3)
        noted = len(filled) == 2 and count >= 4 and all(top[:2]) and (padded or filled[0].endswith(":"))
        if not titled and not noted:
            return False
    return len(below) > 1 and sum(1 < len(row) <= len(names) for row in below) * 2 >= len(below)


def _joined(name: str, rows: Sequence[Cells], tops: Sequence[list[str]]) -> list[str] | None:
    """The names of a row of groups and a row of names; None where the first row alone is the header."""
    if len(tops) < 3:
        return None
    rest, width = tops[2:], max(map(len, tops[:2]))
    groups, names = ([*row, *[""] * (width - len(row))] for row in tops[:2])
    given = [one for one in groups if one]
    bare = [place for place in range(1, width) if names[place] and not groups[place]]
    same = len(set(given)) < len(given)
    if len(given) < 2 or not (same or bare) or not _are_names(tops, 1):
        return None
    columns = [values for place in range(width) if names[place] and len(values := _filled(rest, place)) > 1]
    numeric = any(all(map(_NUMBER.fullmatch, values)) for values in columns)
    again = any(one and names.count(one) > 1 for one in names)
    several = same or len(bare) > 1
    if not (again or numeric or (several and len(rest) >= _SOME_ROWS)):
        if several:
            lines = f"lines {rows[0].number} and {rows[1].number}"
            raise InputError(f"{name}: {lines} may both name the columns: write one line of names, without empty cells")
        return None
    found, group = [], ""
    for above, one in zip(groups, names, strict=True):
        group = above or group
        found.append(above if not one else one if names.count(one) == 1 or not group else f"{group}.{one}")
    return found


def _widths(rows: Sequence[Cells]) -> tuple[int, int]:
    """How many cells most of some rows have, and how many all but one have at least, without empty ones."""
    sound = [row.cells for row in rows if row.fault is None]
    if len(sound) < 2:
        return sys.maxsize, sys.maxsize  # one row says neither
    counts = [len(cells) for cells in sound]
    filled = sorted(max(place for place, one in enumerate(cells, 1) if one != "") for cells in sound)
    return max(counts, key=lambda one: (counts.count(one), one)), filled[1]


def _headed(form: str, source: Source, rows: Callable[[], Iterator[Cells]], *, ragged: bool = False) -> Table:
    """A table of rows under a header.

    A row whose last cells are missing has empty ones, where two of the first rows have nothing in them; another short
    row, one with more cells than the header, one that a line break divided, and one with a fault are rejects. In a
    ragged table, empty cells at the end of a row are never written.
    """

    def parts() -> tuple[list[str], list[Cells], Iterator[Cells]]:
        """The names of the columns, some rows below them, and the other ones."""
        with undamaged(source):
            found = rows()
            top = list(islice((row for row in found if row.fault is not None or not row.is_blank()), HEAD))
            if top and isinstance(top[0].fault, DAMAGE):
                raise top[0].fault
        header = header_of(source.name, top)
        for note in header.notes:
            source.tell(note)
        return header.names, top[header.height :], found

    def read() -> Iterator[Line | Reject]:
        names, first, rest = parts()
        width = len(names)
        usual, least = _widths(first)
        left = chain(first, rest)
        row = next(left, None)
        while row is not None:
            number, raw, cells, fault = row
            count, following = len(cells), next(left, None)
            after = len(following.cells) if count < usual and following and following.fault is None else 0
            if fault is not None:
                yield source.reject(number, _reason(fault), raw[:EXCERPT] if isinstance(fault, csv.Error) else raw)
            elif not any(cells) and row.is_blank():
                pass
            elif following and count < width and after < width and count + after == width + 1 and not ragged:
                lines = f"lines {number} and {following.number}"
                reason = f"the row has {count} cells, the header {width}: a line break may divide {lines}"
                yield source.reject(number, reason, raw)
                yield source.reject(following.number, reason, following.raw)
                following = next(left, None)
            elif count == width or (
                count < width and (ragged or count >= usual or count >= max(least, width // 2 + 1))
            ):
                data = dict(zip_longest(names, cells, fillvalue=""))
                data.pop("", None)  # columns without a name
                yield Line(number, raw, data) if raw else TableRow(number, data)
            else:
                reason = f"the row has {count} cells, the header {width}"
                yield source.reject(number, reason, raw or orjson.dumps(cells, default=str))
            row = following

    return Table(form, source, read, lambda: tuple(filter(None, parts()[0])))


def _reason(fault: Exception) -> str:
    """Why a row cannot be read."""
    if isinstance(fault, UnicodeDecodeError):
        return f"not UTF-8: byte 0x{fault.object[fault.start]:02x}"
    if not isinstance(fault, csv.Error):
        return f"the file is damaged or ends early; nothing after this line can be read ({fault})"
    if "unexpected end of data" in str(fault) or "field larger" in str(fault):
        return "a quote opens here and is not closed: the rest of the file would be read as its text"
    return f"not CSV: {fault}"


_DELIMITERS: Final = (",", "\t", ";", "|")
_SEPARATOR: Final = re.compile(rb'"?sep=(.)"?\r?\n', re.IGNORECASE)
"""The first line of a file that says what divides its cells."""
_HEAD_BYTES: Final = 1 << 16


def csv_table(source: Source) -> Table:
    """Rows of a CSV file under a header; a row with a fault, as of :func:`csv_rows`, is a reject."""
    return _headed("CSV", source, partial(csv_rows, source))


def csv_rows(source: Source, delimiter: str | None = None) -> Iterator[Cells]:
    """Every row of a CSV file (RFC 4180), the header and blank ones among them.

    A fault is a ``csv.Error`` (a quote in the wrong place, or one that is never closed and swallows what follows), a
    ``UnicodeDecodeError`` where the file has no older encoding, or what reading a damaged file raises: then nothing
    follows. The delimiter is found in the file where it is None. Rows are numbered as a spreadsheet numbers them: one
    with several lines is one, and ``sep=;`` is none.
    """
    # The limit is the module's, for the whole process; it only ever grows here.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    found = delimiter or _delimiter(source)
    first, pieces = True, list[bytes]()
    fault: Exception | None = None

    def lines(stream: BinaryIO) -> Iterator[str]:
        nonlocal first, fault
        while raw := stream.readline(MAX_LINE_BYTES + 1):
            raw, first, begins = raw.removeprefix(BOM) if first else raw, False, first
            if begins and delimiter is None and _SEPARATOR.fullmatch(raw):
                continue
            if not pieces or sum(map(len, pieces)) <= MAX_LINE_BYTES:
                pieces.append(raw)
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                older = older_text(source, raw)
                text = raw.decode("utf-8", "replace") if older is None else older
                fault = error if older is None else fault
            yield text.replace("\0", "")

    with open_bytes(source) as stream:
        reader = csv.reader(lines(stream), delimiter=found, strict=True)
        for number in count(1):
            cells: list[str] = []
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                fault = error
            except DAMAGE as error:
                yield Cells(number, b"", [], error)
                return
            yield Cells(number, b"".join(pieces).rstrip(b"\r\n"), cells, fault)
            pieces.clear()
            fault = None


def _delimiter(source: Source) -> str:
    """What divides cells: the file says it in its first line or its name, or it mostly divides the lines."""
    try:
        head = head_of(source, _HEAD_BYTES)
    except DamagedError:
        return ","
    if said := _SEPARATOR.match(head):
        return said[1].decode()
    if ".tsv" in source.path.suffixes:
        return "\t"
    text = head.decode("utf-8", "replace").replace("\r", "")
    several = b"\n" in head[:-1]
    lines = [line + "\n" for line in text.split("\n")[: HEAD if several else 1] if line.strip()]
    usual = max(_DELIMITERS, key=lines[0].count) if lines else ","
    agreed = {}
    for delimiter in (usual, *_DELIMITERS):
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        width = max(widths, key=widths.count, default=1)
        if delimiter == usual and widths and widths[0] == width > 1:
            return usual
        agreed[delimiter] = widths.count(width) if width > 1 else 0
    return max(agreed, key=lambda one: agreed[one])


def looks_like_csv(path: Path, head: bytes) -> bool:
    """Whether a file is a table of this kind, by its name, or by a first line of several short names."""
    names = [suffix.lower() for suffix in path.suffixes]
    ending = (names[:-1] if names and names[-1] in (".gz", ".zst") else names)[-1:]
    if head[:1] in (b"{", b"["):
        return False
    if ending in ([".csv"], [".tsv"]) or _SEPARATOR.match(head):
        return True
    if ending in ([".json"], [".jsonl"], [".ndjson"]):
        return False
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    delimiter = max(_DELIMITERS, key=first.count)
    cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
    return len(cells) > 1 and len(set(cells)) == len(cells) and all(0 < len(cell) <= 40 for cell in cells)


_LONGEST_PART: Final = 1 << 29
"""Bytes of a part of a workbook that is held in memory, as its texts are."""


def workbook_table(source: Source) -> Table:
    """Rows of the first sheet with the most of a table among the first rows of all.

    Numbers without a fraction are whole numbers, times are ISO 8601 texts, and a formula gives the value that was
    saved with it. Rows are read one at a time. Reading raises InputError where openpyxl is missing, too.
    """
    return _headed("Excel sheet", source, partial(_workbook_rows, source), ragged=True)


def _workbook_rows(source: Source) -> Iterator[Cells]:
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            f"{source.name} is an Excel workbook: {install_command('inputs')}, or save the sheet as CSV"
        ) from None
    try:
        with zipfile.ZipFile(source.path) as archive:
            for part in archive.infolist():
                if part.file_size > _LONGEST_PART and not part.filename.startswith("xl/worksheets/"):
                    raise ValueError(f"{part.filename} is longer than {_LONGEST_PART // 2**20} MiB")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on styles and validations, which are not read
            with closing(openpyxl.load_workbook(source.path, read_only=True, data_only=True)) as book:
                worth = {sheet: found for sheet in book.worksheets if (found := _worth(source, sheet))}
                chosen: Any = max(worth, key=lambda sheet: worth[sheet], default=None)
                if len(worth) > 1:
                    others = ", ".join(repr(sheet.title) for sheet in worth if sheet is not chosen)
                    source.tell(f"{source.name}: the sheet {chosen.title!r} is read, and not {others}")
                if chosen is not None:
                    yield from _sheet_rows(chosen)
    except (*DAMAGE, zipfile.BadZipFile, KeyError, ValueError, TypeError, SyntaxError) as error:
        raise InputError(f"{source.name} cannot be read as an Excel workbook: {error}") from None


def _sheet_rows(sheet: Any) -> Iterator[Cells]:
    """Rows that are not empty, without empty cells at the end."""
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        whole = (int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in row)
        cells = ["" if cell is None else plain(cell) for cell in whole]
        while cells and cells[-1] == "":
            cells.pop()
        if cells:
            yield Cells(number, b"", cells, None)


def _worth(source: Source, sheet: Any) -> int:
    """How much of a table the first rows of a sheet are: 0 for none at all, 3 for rows under three columns or more."""
    top = list(islice(_sheet_rows(sheet), HEAD))
    try:
        header = header_of(source.name, top)
    except InputError:
        return min(max(len(row.cells) for row in top), 3) if top else 0
    columns = sum(map(bool, header.names))
    return min(columns, 3) if len(top) > header.height else min(len(top), 1)
