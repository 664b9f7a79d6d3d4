"""Where the answer itself is in a reply that is one JSON object: character offsets."""

import re
from dataclasses import dataclass

_FENCE = re.compile(r"```(?:json|JSON)?\s*")


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Characters ``start`` to ``end`` (exclusive) of a text."""

    start: int
    end: int


def body_span(text: str) -> TextSpan:
    """The span of the answer itself: without white space and a code fence around it."""
    span = _stripped(text, 0, len(text))
    return _unfenced(text, span) or span


def _unfenced(text: str, span: TextSpan) -> TextSpan | None:
    """The lines between a fence's first and last line; None without a fence.

    By hand, because one pattern for it all would be cubic in the empty lines of a reply.
    """
    opening = _FENCE.match(text, span.start, span.end)
    if opening is None or not text.endswith("```", opening.start() + 3, span.end):
        return None
    inside = _stripped(text, span.start, span.end - 3)
    end = text.rfind("\n", max(inside.end, opening.start() + 3), span.end - 3)
    first = text.rfind("\n", opening.start() + 3, min(opening.end(), end)) + 1 if end >= 0 else 0
    return TextSpan(first, end) if first else None


def _stripped(text: str, start: int, end: int) -> TextSpan:
    part = text[start:end]
    return TextSpan(start + len(part) - len(part.lstrip()), start + len(part.rstrip()))
