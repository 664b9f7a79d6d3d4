"""A table inside a JSON object: ``{"results": [{...}, ...], "config": ...}``."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import orjson

from metajudge.errors import InputError
from metajudge.readers.conversations import is_chat
from metajudge.readers.guessing import is_text_name
from metajudge.readers.json_object import read_object
from metajudge.readers.lines import Line, Reject, Source
from metajudge.readers.mapping import FieldMap
from metajudge.readers.tables import Table, columns_of_objects

DEPTH: Final = 3
"""Objects inside each other that are looked at for lists."""
SPREAD: Final = "half a JSON object"
"""How the reject of a first line begins, where an object is spread over lines."""


@dataclass(slots=True)
class WrappedTable:
    """The objects of a list inside a file that is one JSON object, held in memory.

    Attributes:
        path: keys that lead to the list, with dots.
        others: paths of further lists of objects, which are not read.
    """

    source: Source
    path: str
    entries: list[Any] = field(repr=False)
    others: tuple[str, ...] = ()
    format: str = ""

    def __post_init__(self) -> None:
        self.format = f"JSON list {self.path!r}"

    def columns(self) -> tuple[str, ...]:
        """The keys of the first objects."""
        return columns_of_objects(self.rows())

    def rows(self) -> Iterator[Line | Reject]:
        """Every object of the list; ``number`` is 1 for the first one."""
        for number, entry in enumerate(self.entries, start=1):
            raw = orjson.dumps(entry, default=str)
            if isinstance(entry, dict):
                yield Line(number, raw, entry)
            else:
                yield self.source.reject(number, "the entry is no JSON object", raw)


def wrapped_table(
    table: Table, written: Callable[[dict[str, Any]], bool], mapping: FieldMap | None = None
) -> WrappedTable | None:
    """The longest list of objects in a file that is one JSON object, the first one of several as long.

    Args:
        table: of the file's lines.
        written: whether another tool writes such an object; that is read in its own way.
        mapping: which column is what; an object that has these columns is itself a row.

    Returns:
        None where the file is no single object, where the object is itself a row, or contains no list of objects.
    """
    if table.format != "JSONL":
        return None
    first = list(islice(table.rows(), 2))
    spread = bool(first) and isinstance(first[0], Reject) and first[0].reason.startswith(SPREAD)
    if not spread and len(first) != 1:
        return None
    try:
        data = read_object(table.source)
    except InputError:
        return None
    if written(data) or (not spread and _is_row(data, mapping)):
        return None
    found = dict(_lists(data, "", DEPTH))
    if not found:
        return None
    longest = max(found, key=lambda path: len(found[path]))
    return WrappedTable(table.source, longest, found[longest], tuple(one for one in found if one != longest))


def _is_row(data: Mapping[str, Any], mapping: FieldMap | None) -> bool:
    """Whether an object on one line is a record of its own, and not what is around a list of them."""
    if mapping is not None and any(column.split(".")[0] in data for column in mapping.columns.values()):
        return True
    return any(is_text_name(key) for key in data)


def _lists(data: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, list[Any]]]:
    for key, value in data.items():
        if isinstance(value, list) and any(isinstance(one, dict) for one in value) and not is_chat(value):
            yield f"{prefix}{key}", value
        elif isinstance(value, dict) and depth > 1:
            yield from _lists(value, f"{prefix}{key}.", depth - 1)
