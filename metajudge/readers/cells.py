"""A row's cells: a column's value, or one inside nested data, and the text by which values are looked up."""

from collections.abc import Mapping
from typing import Any


def cell(data: Mapping[str, Any], column: str) -> Any:
    """A row's value in a column, or at a dotted path in nested data; None if missing."""
    if column in data:
        return data[column]
    value: Any = data
    for part in column.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return None
    return value


def key_of(value: Any) -> str:
    """A cell as the text it is looked up by: ``1.0`` and ``1`` are one value, ``True`` is ``true``."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
