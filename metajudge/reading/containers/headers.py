"""Rows of cells under a header, of CSV files and sheets: which of the first rows name the columns."""

import csv
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, takewhile
from typing import Any, Final, NamedTuple

import orjson

from metajudge.errors import InputError
from metajudge.reading.containers.lines import EXCERPT, Line, Reject, Source, TableRow, undamaged
from metajudge.reading.containers.unpacking import DAMAGE

HEAD: Final = 20
"""Rows that are looked at for the header."""
_LONGEST_NAME: Final = 60
_SOME_ROWS: Final = 4
"""Rows in which a value would have come again, were it none of the header's."""
_NUMBER: Final = re.compile(r"[\d.,:%+/-]+")


class Cells(NamedTuple):
    """A row of a table that has no names yet.

    Attributes:
        number: of its first line, or of the row of a sheet.
        raw: as written in the file; empty in a sheet, and where the file is damaged.
        cells: none where the row is blank, or cannot be read.
        fault: what is wrong with the row; None where nothing is.
    """

    number: int
    raw: bytes
    cells: list[Any]
    fault: Exception | None


class Header(NamedTuple):
    """The names of the columns, empty for columns that are not read, how many rows they take, and what is told."""

    names: tuple[str, ...]
    height: int
    notes: list[str]


def header_of(name: str, rows: Sequence[Cells]) -> Header:
    """The header among the first rows: the first one, one below a title, or two rows of groups and names.

    Args:
        name: of the file, for messages.
        rows: the first rows that are not blank.

    Raises:
        InputError: there is none, two columns have one name, or two rows may name the columns.
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
    notes = [_left_out(name, row.number, top) for row, top in zip(rows[:above], tops, strict=False)]
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
    return Header(tuple(names), height, notes)


def _left_out(name: str, line: int, top: Sequence[str]) -> str:
    return f"{name}: line {line} stands above the header and is not read ({', '.join(filter(None, top))[:60]!r})"


def _is_blank(cells: Sequence[Any]) -> bool:
    return all(cell == "" for cell in cells)


def _filled(rows: Sequence[Sequence[str]], place: int) -> list[str]:
    """The values of a column that are not empty."""
    return [row[place] for row in rows if len(row) > place and row[place]]


def _are_names(tops: Sequence[Sequence[str]], at: int) -> bool:
    """Whether the cells of a row can be names: short, no numbers, and no values of the rows below."""
    return all(
        len(one) <= _LONGEST_NAME and "\n" not in one and not _NUMBER.fullmatch(one) and one not in below
        for place, one in enumerate(tops[at])
        for below in [_filled(tops[at + 1 :], place)]
        if one
    )


def _is_below_titles(tops: Sequence[Sequence[str]], at: int, written: Sequence[Any]) -> bool:
    """Whether a row is the header, and those above it are a title, or notes of a name and a value."""
    names, below = tops[at], tops[at + 1 :]
    count = len([one for one in names if one])
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
    """The names of a row of groups and a row of names; None where the first row alone is the header.

    Raises:
        InputError: it may be either.
    """
    if len(tops) < 3:
        return None
    (groups, names), rest = tops[:2], tops[2:]
    width = max(len(groups), len(names))
    groups, names = [[*row, *[""] * (width - len(row))] for row in (groups, names)]
    given = [one for one in groups if one]
    bare = [place for place in range(1, width) if names[place] and not groups[place]]
    same = len(set(given)) < len(given)
    if len(given) < 2 or not (same or bare) or not _are_names(tops, 1):
        return None
    below = [_filled(rest, place) for place in range(width)]
    columns = [values for one, values in zip(names, below, strict=True) if one and len(values) > 1]
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


class _Widths(NamedTuple):
    """How many cells most of the first rows have, and how many all but one have at least, without empty ones.

    One row says neither.
    """

    usual: int
    least: int

    @classmethod
    def of(cls, rows: Sequence[Cells]) -> "_Widths":
        sound = [row.cells for row in rows if row.fault is None]
        if len(sound) < 2:
            return cls(sys.maxsize, sys.maxsize)
        counts = [len(cells) for cells in sound]
        filled = sorted(max(place for place, one in enumerate(cells, 1) if one != "") for cells in sound)
        return cls(max(counts, key=lambda one: (counts.count(one), one)), filled[1])


def headed(
    source: Source, rows: Callable[[], Iterator[Cells]], *, ragged: bool = False
) -> tuple[Callable[[], Iterator[Line | Reject]], Callable[[], tuple[str, ...]]]:
    """The rows of a table by the names of its columns, and these names.

    A row whose last cells are missing has empty ones, where two of the first rows have nothing in them; another short
    row, one with more cells than the header, one that a line break divided, and one with a fault are rejects.

    Args:
        source: the file.
        rows: its rows, anew at each call.
        ragged: whether empty cells at the end of a row are never written.
    """

    def parts() -> tuple[tuple[str, ...], _Widths, Iterator[Cells]]:
        with undamaged(source):
            found = rows()
            top = list(islice((row for row in found if row.fault is not None or not _is_blank(row.cells)), HEAD))
            if top and isinstance(top[0].fault, DAMAGE):
                raise top[0].fault
        header = header_of(source.name, top)
        for note in header.notes:
            source.tell(note)
        return header.names, _Widths.of(top[header.height :]), chain(top[header.height :], found)

    def read() -> Iterator[Line | Reject]:
        names, widths, left = parts()
        width, nameless = len(names), "" in names
        row = next(left, None)
        while row is not None:
            number, raw, cells, fault = row
            row = next(left, None)
            count = len(cells)
            if fault is not None:
                yield source.reject(number, _fault(fault), raw[:EXCERPT] if isinstance(fault, csv.Error) else raw)
                continue
            if not any(cells) and _is_blank(cells):
                continue
            if count < width:
                after = 0 if row is None or row.fault is not None or ragged or count >= widths.usual else len(row.cells)
                if row is not None and after < width and count + after == width + 1:
                    lines = f"lines {number} and {row.number}"
                    reason = f"the row has {count} cells, the header {width}: a line break may divide {lines}"
                    yield source.reject(number, reason, raw)
                    yield source.reject(row.number, reason, row.raw)
                    row = next(left, None)
                    continue
                if ragged or count >= widths.usual or (count >= widths.least and 2 * count > width):
                    cells = [*cells, *[""] * (width - count)]
            if len(cells) != width:
                text = raw or orjson.dumps(cells, default=str)
                yield source.reject(number, f"the row has {count} cells, the header {width}", text)
                continue
            data = dict(zip(names, cells, strict=True))
            if nameless:
                del data[""]
            yield Line(number, raw, data) if raw else TableRow(number, data)

    return read, lambda: tuple(filter(None, parts()[0]))


def _fault(fault: Exception) -> str:
    """Why a row cannot be read."""
    if isinstance(fault, UnicodeDecodeError):
        return f"not UTF-8: byte 0x{fault.object[fault.start]:02x}"
    if not isinstance(fault, csv.Error):
        return f"the file is damaged or ends early; nothing after this line can be read ({fault})"
    if "unexpected end of data" in str(fault) or "field larger" in str(fault):
        return "a quote opens here and is not closed: the rest of the file would be read as its text"
    return f"not CSV: {fault}"
