"""Records given in Python, as objects or as plain data."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from metajudge.errors import InputError
from metajudge.readers.reasons import reason_of
from metajudge.types import Item, Judgment

M = TypeVar("M", bound=BaseModel)

JudgmentLike = Judgment | Mapping[str, Any]
"""A judgment, or plain data of the same shape (``metajudge schema judgment`` prints it)."""

ItemLike = Item | Mapping[str, Any]
"""An item, or plain data of the same shape."""


def as_judgment(given: JudgmentLike, *, place: str = "the judgment") -> Judgment:
    """The judgment itself, or the one that plain data describes; see :func:`as_record`."""
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
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise InputError(f"{place} is not valid: {reason_of(error)}") from None
