"""Judgments given in Python, as objects or as plain data."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.readers.reasons import reason_of
from metajudge.types import Judgment

JudgmentLike = Judgment | Mapping[str, Any]
"""A judgment, or plain data of the same shape (``metajudge schema judgment`` prints it)."""


def as_judgment(given: JudgmentLike, *, place: str = "the judgment") -> Judgment:
    """The judgment itself, or the one that plain data describes.

    Args:
        place: where it stands, for the error message, e.g. ``"judgment 3 of 10"``.

    Raises:
        InputError: data that is no judgment; the message names the fields at fault.
    """
    if isinstance(given, Judgment):
        return given
    if not isinstance(given, Mapping):
        raise InputError(f"{place} is a {type(given).__name__}; give a Judgment, or a dict with its fields")
    try:
        return Judgment.model_validate(given)
    except ValidationError as error:
        raise InputError(f"{place} is not valid: {reason_of(error)}") from None
