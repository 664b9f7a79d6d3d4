"""Scales as a mapping or a column declares them: ``1..5`` for grades, ``poor<fair<good`` for ordered categories."""

import re
from typing import Any

import orjson

from metajudge.reading.containers.cells import key_of, parsed
from metajudge.reading.containers.lines import BadLine
from metajudge.types import AnyVerdict, Category, Grade
from metajudge.types.judgment import Scale
from metajudge.types.written import written

_RANGE = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*(?:\.\.|-)\s*([+-]?\d+(?:\.\d+)?)\s*")
_NOTHING = frozenset(["", "nan", "none", "null", "n/a"])
_BOOLEANS = {"true": "1", "false": "0"}
_SHOWN = 60


def grade_of(value: Any, name: str) -> tuple[Grade | None, str | None]:
    """A score as a grade, or why there is none.

    Args:
        value: a number, also as text and as people write it (``4/5``); true and false, also as text, are 1 and 0;
            nothing and NaN are no grade.
        name: of the field, for messages.

    Raises:
        BadLine: an infinite number, or no number at all.
    """
    text = key_of(value)
    if text.casefold() in _NOTHING:
        return None, f"{name!r} has no value"
    number = written(_BOOLEANS.get(text.casefold(), text)) if isinstance(value, int | float | str) else None
    if number is None or number.decimals is not None:
        infinite = text.lstrip("+-").casefold() in ("inf", "infinity")
        fault = "is infinite, which is no grade" if infinite else f"must be a number, not {text[:_SHOWN]!r}"
        raise BadLine(f"{name!r} {fault}")
    return Grade(number.value), None


def parse_scale(value: Any) -> Scale | None:
    """Reads a scale: the lowest and the highest grade, or all categories, worst first.

    Args:
        value: ``1..5`` (or ``1-5``), ``poor<fair<good``, or a list of two numbers or of names, also as JSON text; None
            and the empty text are no scale.

    Raises:
        BadLine: it is none of these.
    """
    found = value
    if isinstance(value, str):
        if not value.strip():
            return None
        ends = _RANGE.fullmatch(value)
        names = parsed(value) if value.lstrip().startswith("[") else [name.strip() for name in value.split("<")]
        found = names if ends is None else [float(ends[1]), float(ends[2])]
    if found is None:
        return None
    several = tuple(found) if isinstance(found, list | tuple) else ()
    if len(several) == 2 and all(isinstance(one, int | float) and not isinstance(one, bool) for one in several):
        if several[0] < several[1]:
            return float(several[0]), float(several[1])
    elif 1 < len(several) == len(set(several)) and all(isinstance(one, str) and one.strip() for one in several):
        return several
    raise BadLine(
        f"scale: {str(value)[:60]!r} is no scale: give the lowest and the highest grade (1..5), or all categories, "
        "worst first (poor<fair<good)"
    )


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
