"""Tables in: rows of CSV, TSV, JSON and Parquet files and of datasets on disk, all as a number and named cells."""

from collections.abc import Iterator
from itertools import islice
from typing import Protocol

from metajudge.readers.json_elements import read_elements
from metajudge.readers.lines import ByteSpan, Line, RawLine, Reject, Source, raw_lines, read_lines

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
        return read_lines(self.source, self._span, nan_is_null=True)

    def raw_lines(self) -> Iterator[RawLine | Reject]:
        """Every line, not parsed yet."""
        return raw_lines(self.source, self._span)


class JsonListTable:
    """One JSON list of objects."""

    format = "JSON list"

    def __init__(self, source: Source) -> None:
        self.source = source

    def columns(self) -> tuple[str, ...]:
        return columns_of_objects(self.rows())

    def rows(self) -> Iterator[Line | Reject]:
        return read_elements(self.source, nan_is_null=True)


def columns_of_objects(rows: Iterator[Line | Reject]) -> tuple[str, ...]:
    """The keys of the first objects, in order of their first appearance."""
    keys: dict[str, None] = {}
    for row in islice(rows, SURVEYED_ROWS):
        if isinstance(row, Line):
            keys.update(dict.fromkeys(row.data))
    return tuple(keys)
