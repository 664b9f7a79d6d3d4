"""Scores as evaluation tools write them: numbers, texts, booleans, nothing."""

import math
from typing import Any

from metajudge.readers.lines import BadLine
from metajudge.types import Grade

_NOTHING = frozenset(["", "nan", "none", "null", "n/a"])
_BOOLEANS = {"true": 1.0, "false": 0.0}
_SHOWN = 60


def grade_of(value: Any, name: str) -> tuple[Grade | None, str | None]:
    """A score as a grade, or why there is none.

    Args:
        value: a number, also as text; true and false, also as text, are 1 and 0; nothing and NaN are no grade.
        name: of the field, for messages.

    Raises:
        BadLine: an infinite number, or no number at all.
    """
    text = str(value).strip().casefold()
    if value is None or text in _NOTHING:
        return None, f"{name!r} has no value"
    if text in _BOOLEANS:
        return Grade(_BOOLEANS[text]), None
    try:
        number = float(text) if isinstance(value, int | float | str) else None
    except ValueError:
        number = None
    if number is None:
        raise BadLine(f"{name!r} must be a number, not {str(value)[:_SHOWN]!r}")
    if math.isinf(number):
        raise BadLine(f"{name!r} is infinite, which is no grade")
    return Grade(number), None
