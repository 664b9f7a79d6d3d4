"""A row's cells: a column's value, or one inside nested data, and the text by which values are looked up."""

import ast
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import orjson

from metajudge.reading.containers.lines import BadLine, require_characters

TURNS: Final = "turns:"
"""Before a column's name: its cells are lists of texts, one for each turn of a conversation, perhaps as JSON text."""
TEXTS: Final = "texts:"
"""Before the names of columns: their texts together, such as an instruction and its input."""
LONGEST_LITERAL: Final = 1_000_000
"""Characters of the longest text that is read as a list or an object of Python."""


def cell(data: Mapping[str, Any], column: str) -> Any:
    """A row's value in a column, or at a dotted path in nested data, also where that is JSON text; None if missing."""
    if column in data:
        return data[column]
    if column.startswith(TURNS):
        return nested(cell(data, column.removeprefix(TURNS)))
    if column.startswith(TEXTS):
        parts = (_passages(cell(data, one)) for one in column.removeprefix(TEXTS).split(","))
        given = [one for one in parts if one not in (None, "", [])]
        return "\n\n".join(map(str, given)) if len(given) > 1 else given[0] if given else None
    value: Any = data
    for part in column.split("."):
        value = nested(value)
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return None
    return value


def _passages(value: Any) -> Any:
    """A list of texts, also as JSON text, as one text; anything else as it is."""
    found = nested(value)
    texts = isinstance(found, list) and bool(found) and all(isinstance(one, str) for one in found)
    return "\n\n".join(found) if texts else value.strip("\n") if isinstance(value, str) else value


def first_of(row: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that is there and not null; None without one."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def object_in(value: Any) -> Mapping[str, Any]:
    """A value that is an object; an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none of anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text_in(value: Any) -> str | None:
    """A cell as text; None where it is empty."""
    return None if value in (None, "") else str(value)


def key_of(value: Any) -> str:
    """A cell as the text it is looked up by: ``1.0`` and ``1`` are one value, ``True`` is ``true``, NaN is empty."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def parsed(value: Any) -> Any:
    """A text that is JSON as what it says; anything else as it is."""
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except orjson.JSONDecodeError:
        return value


def nested(value: Any) -> Any:
    """A text that is a JSON list or object, or one as Python prints it, as data; anything else as it is."""
    return _parsed(value) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else value


@lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    known = parsed(text)
    if known is not text or len(text) > LONGEST_LITERAL:
        return known
    try:
        found = ast.literal_eval(text.strip())
        require_characters(found)
    except (BadLine, SyntaxError, TypeError, ValueError, MemoryError, RecursionError):
        return text  # among them what Python writes and JSON cannot
    return found if isinstance(found, list | dict) else text


def names_in(value: Any) -> tuple[str, ...]:
    """Names in a cell: a list, a JSON list as text, or divided by commas or > signs."""
    if isinstance(value, str) and value.strip().startswith("["):
        given, value = value, parsed(value)
        if value is given:
            return (given,)
    if isinstance(value, list):
        return tuple(map(str, value))
    return tuple(part.strip() for part in re.split(r"[,>]", value) if part.strip()) if isinstance(value, str) else ()
