"""CSV files that this package writes, and their cells as they were.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula and runs it, also behind blanks
and quotes (CWE-1236). Such a text is written behind an apostrophe, which reading takes off again.
"""

import csv
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

import orjson

from metajudge.errors import InputError

T = TypeVar("T")

# An apostrophe is among what may come first: so no text that stays as it is looks like one that was escaped.
_FORMULA: Final = re.compile(r"""[\s'"`\u200b-\u200f\u2060\ufeff\0]*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]""")
_OWN: Final = (
    {"item_id", "label", "annotator", "question_text"},
    {"review_id", "subject_id", "outcome", "reviewer"},
    {"event_id", "subject_id", "outcome", "reviewers"},
)


def is_own(columns: Collection[str]) -> bool:
    """Whether a table is one of ours, by its columns: to-label.csv, reviews, outcomes. Others' cells are left alone."""
    return any(columns >= own for columns in (set(columns),) for own in _OWN)


def escaped(value: Any) -> Any:
    """A cell's value: data as JSON, a text that begins like a formula behind an apostrophe, all else as it is."""
    if isinstance(value, dict | list):
        value = orjson.dumps(value).decode()
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def unescaped(cell: str) -> str:
    """The text of a cell that :func:`escaped` made: for every text the text itself."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell, 1) else cell


def csv_writer(stream: TextIO, columns: Sequence[str]) -> Callable[[Mapping[str, Any]], object]:
    """Writes the header to a stream that translates no line ends; returns what writes a row. None is an empty cell."""
    assert is_own(columns), "its readers must know the table"
    writer = csv.writer(stream)
    writer.writerow(map(escaped, columns))
    return lambda row: writer.writerow([escaped(row.get(name)) for name in columns])


def write_table(
    records: Iterable[T],
    path: Path,
    columns: Sequence[str],
    row: Callable[[T], Mapping[str, Any]],
    line: Callable[[T], bytes],
) -> int:
    """Writes records as rows of CSV (``.csv``) or as lines of JSON; returns their number.

    Raises:
        InputError: the file cannot be written.
    """
    count = 0
    try:
        with path.open("w", encoding="utf-8", newline="") as stream:
            write = csv_writer(stream, columns) if path.suffix == ".csv" else None
            for record in records:
                count += 1
                if write is None:
                    stream.write(line(record).decode() + "\n")
                else:
                    write(row(record))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    return count
