"""Why a record is invalid, in one short line that speaks of the user's fields."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from metajudge.errors import InputError
from metajudge.reading.loose import JUDGMENTS
from metajudge.types import Item, Judgment

_EXPECTED = {
    "string_type": "a string",
    "dict_type": "an object",
    "model_type": "an object",
    "tuple_type": "a list",
    "list_type": "a list",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
}
_MOST = 3
M = TypeVar("M", bound=BaseModel)

JudgmentLike = Judgment | Mapping[str, Any]
"""A judgment, plain data of the same shape (``metajudge schema judgment`` prints it), or loose data
(:class:`~metajudge.reading.loose.LooseJudgment`)."""

ItemLike = Item | Mapping[str, Any]
"""An item, or plain data of the same shape."""


def reason_of(error: ValidationError) -> str:
    """One line for a pydantic error: at most three faults, most of them naming the field."""
    faults = list(dict.fromkeys(_fault(detail) for detail in error.errors(include_url=False)))
    more = len(faults) - _MOST
    return "; ".join(faults[:_MOST]) + (f"; and {more} more" if more > 0 else "")


def _fault(detail: ErrorDetails) -> str:
    kind, value = detail["type"], detail["input"]
    field = ".".join(str(part) for part in detail["loc"] if part != "[key]")
    if kind == "missing":
        return _missing(field)
    if kind == "extra_forbidden":
        return f"unknown field '{field}' (data of your own belongs in 'meta')"
    if kind == "literal_error" and field == "version":
        return f"unknown version {_shown(value)}: this metajudge reads version {detail['ctx']['expected']}"
    if kind == "literal_error":
        return f"'{field}' must be {detail['ctx']['expected']}, not {_shown(value)}"
    if kind == "too_short" and field.endswith("responses"):
        return "the item has no responses"
    if kind in {"too_short", "too_long"}:
        return _wrong_length(field, detail)
    if kind in {"string_too_short", "string_pattern_mismatch"}:
        return _bad_text(field, detail)
    if kind in _EXPECTED:
        return f"'{field}' must be {_EXPECTED[kind]}, not {_shown(value)}"
    # A validator's own words name the field already ("verdict names ..."), unless they are about a value.
    message = detail["msg"].removeprefix("Value error, ")
    if message.startswith("not a verdict"):
        return f"'{field}' is {message}"
    return message if not field or field == "item" else f"'{field}': {message[:1].lower()}{message[1:]}"


def _missing(field: str) -> str:
    if field == "verdict":
        return "missing field 'verdict' (null, with the reason in 'no_verdict', where the judge gave none)"
    return f"missing field '{field}'"


def _wrong_length(field: str, detail: ErrorDetails) -> str:
    given = detail["ctx"]
    if detail["type"] == "too_short":
        return f"'{field}' has too few entries (at least {given['min_length']}): {given['actual_length']}"
    return f"'{field}' has too many entries (at most {given['max_length']}): {given['actual_length']}"


def _bad_text(field: str, detail: ErrorDetails) -> str:
    value = detail["input"]
    if "[key]" in detail["loc"] or field.startswith("order"):
        return f"{_shown(value)} is no response id: use letters, digits, '_', '.', '-'"
    return f"'{field}' is empty" if not str(value).strip() else f"'{field}' cannot be {_shown(value)}"


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def as_judgment(given: JudgmentLike, *, place: str = "the judgment") -> Judgment:
    """The judgment itself, or the one that plain or loose data describes; see :func:`as_record`."""
    return as_record(given, Judgment, place)


def as_record(given: M | Mapping[str, Any], kind: type[M], place: str) -> M:
    """The record itself, or the one that plain data describes.

    Args:
        place: its position, for the error message, e.g. ``"judgment 3 of 10"``.

    Raises:
        InputError: data of another shape; the message names the fields at fault.
    """
    if isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        name = kind.__name__
        article = "an" if name[0] in "AEIOU" else "a"
        raise InputError(f"{place} is a {type(given).__name__}; give {article} {name}, or a dict with its fields")
    read = cast("Callable[[Any], M]", JUDGMENTS.validate_python if kind is Judgment else kind.model_validate)
    try:
        return read(given)
    except ValidationError as error:
        raise InputError(f"{place} is not valid: {reason_of(error)}") from None
