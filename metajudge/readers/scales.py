"""Scales as a mapping or a column declares them: ``1..5`` for grades, ``poor<fair<good`` for ordered categories."""

import math
import re
from typing import Any

import orjson

from metajudge.readers.lines import BadLine
from metajudge.types import AnyVerdict, Category, Grade
from metajudge.types.judgment import Scale

_RANGE = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*(?:\.\.|-)\s*([+-]?\d+(?:\.\d+)?)\s*")
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


def parse_scale(value: Any) -> Scale | None:
    """Reads a scale: the lowest and the highest grade, or all categories, worst first.

    Args:
        value: ``1..5`` (or ``1-5``), ``poor<fair<good``, or a list of two numbers or of names, also as JSON text; None
            and the empty text are no scale.

    Raises:
        BadLine: it is none of these.
    """
    given = value
    if isinstance(value, str):
        if not value.strip():
            return None
        found = _RANGE.fullmatch(value)
        if found is not None:
            return _range(float(found[1]), float(found[2]), given)
        if value.lstrip().startswith("["):
            try:
                value = orjson.loads(value)
            except orjson.JSONDecodeError:
                raise BadLine(_fault(given)) from None
        else:
            value = [name.strip() for name in value.split("<")]
    if value is None:
        return None
    names = tuple(value) if isinstance(value, list | tuple) else ()
    if len(names) == 2 and all(isinstance(one, int | float) and not isinstance(one, bool) for one in names):
        return _range(float(names[0]), float(names[1]), given)
    if len(names) < 2 or len(set(names)) < len(names) or not all(isinstance(one, str) and one.strip() for one in names):
        raise BadLine(_fault(given))
    return names


def scale_text(scale: Scale) -> str:
    """A scale as :func:`parse_scale` reads it."""
    low, high = scale[0], scale[-1]
    if isinstance(low, str) or isinstance(high, str):
        names = [str(one) for one in scale]
        return orjson.dumps(names).decode() if any("<" in one for one in names) else "<".join(names)
    return f"{low:g}..{high:g}"


def on_scale(verdict: AnyVerdict, scale: Scale | None) -> AnyVerdict:
    """A category in the spelling of its scale, whatever its case; anything else as it is."""
    if scale is None or not isinstance(verdict, Category) or not isinstance(verdict.value, str):
        return verdict
    spelt = [one for one in scale if isinstance(one, str) and one.casefold() == verdict.value.casefold()]
    return Category(spelt[0]) if len(spelt) == 1 else verdict


def _range(low: float, high: float, given: Any) -> Scale:
    if not low < high:
        raise BadLine(_fault(given))
    return (low, high)


def _fault(value: Any) -> str:
    return (
        f"scale: {str(value)[:60]!r} is no scale: give the lowest and the highest grade (1..5), or all categories, "
        "worst first (poor<fair<good)"
    )
