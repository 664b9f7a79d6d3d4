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
    kind, value, given = detail["type"], detail["input"], detail.get("ctx", {})
    field = ".".join(str(part) for part in detail["loc"] if part != "[key]")
    match kind:
        case "missing":
            hint = " (null, with the reason in 'no_verdict', where the judge gave none)" if field == "verdict" else ""
            return f"missing field '{field}'{hint}"
        case "extra_forbidden":
            return f"unknown field '{field}' (data of your own belongs in 'meta')"
        case "literal_error" if field == "version":
            return f"unknown version {_shown(value)}: this metajudge reads version {given['expected']}"
        case "literal_error":
            return f"'{field}' must be {given['expected']}, not {_shown(value)}"
        case "too_short" if field.endswith("responses"):
            return "the item has no responses"
        case "too_short":
            return f"'{field}' has too few entries (at least {given['min_length']}): {given['actual_length']}"
        case "too_long":
            return f"'{field}' has too many entries (at most {given['max_length']}): {given['actual_length']}"
        case "string_too_short" | "string_pattern_mismatch" if "[key]" in detail["loc"] or field.startswith("order"):
            return f"{_shown(value)} is no response id: use letters, digits, '_', '.', '-'"
        case "string_too_short" | "string_pattern_mismatch":
            return f"'{field}' is empty" if not str(value).strip() else f"'{field}' cannot be {_shown(value)}"
    if kind in _EXPECTED:
        return f"'{field}' must be {_EXPECTED[kind]}, not {_shown(value)}"
    # A validator's own words name the field already ("verdict names ..."), unless they are about a value.
    message = detail["msg"].removeprefix("Value error, ")
    if message.startswith("not a verdict"):
        return f"'{field}' is {message}"
    return message if not field or field == "item" else f"'{field}': {message[:1].lower()}{message[1:]}"


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
        wanted = f"an {kind.__name__}" if kind.__name__[0] in "AEIOU" else f"a {kind.__name__}"
        raise InputError(f"{place} is a {type(given).__name__}; give {wanted}, or a dict with its fields")
    read = cast("Callable[[Any], M]", JUDGMENTS.validate_python if kind is Judgment else kind.model_validate)
    try:
        return read(given)
    except ValidationError as error:
        raise InputError(f"{place} is not valid: {reason_of(error)}") from None
