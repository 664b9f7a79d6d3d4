"""Positions of the values in a reply that is one JSON object: character offsets, to be matched with tokens."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

Path = tuple[str | int, ...]

_FENCE = re.compile(r"```(?:json|JSON)?\s*")
_THOUGHT = re.compile(r"\A<think>.*?</think>", re.DOTALL)
_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NUMBER_OR_WORD = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Characters ``start`` to ``end`` (exclusive) of a text."""

    start: int
    end: int


def body_span(text: str) -> TextSpan:
    """The span of the answer itself: without white space, a leading ``<think>`` block and a code fence around it."""
    span = _stripped(text, 0, len(text))
    if thought := _THOUGHT.match(text[span.start : span.end]):
        span = _stripped(text, span.start + thought.end(), span.end)
    return _unfenced(text, span) or span


def value_spans(text: str) -> dict[Path, TextSpan]:
    """The spans of all numbers, strings (quotes included), booleans and nulls of a reply, by path.

    Empty where the reply is not one JSON value; of a name given twice the last one counts.
    """
    span = body_span(text)
    try:
        found = dict(_Scanner(text[: span.end]).values(span.start, ()))
    except (ValueError, IndexError, RecursionError):
        return {}
    return found


class _Scanner:
    """Walks over JSON; what comes after the first value is not looked at (the parser of replies refuses it)."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def values(self, at: int, path: Path) -> Iterator[tuple[Path, TextSpan]]:
        self._at = at
        yield from self._value(path)

    def _value(self, path: Path) -> Iterator[tuple[Path, TextSpan]]:
        match self._peek():
            case "{":
                yield from self._members(path, "}")
            case "[":
                yield from self._members(path, "]")
            case '"':
                yield path, self._string()[1]
            case _:
                found = _NUMBER_OR_WORD.match(self._text, self._at)
                if found is None:
                    raise ValueError(f"no JSON value at character {self._at}")
                self._at = found.end()
                yield path, TextSpan(found.start(), found.end())

    def _members(self, path: Path, closing: str) -> Iterator[tuple[Path, TextSpan]]:
        self._at += 1
        index = 0
        while self._peek() != closing:
            if index and not self._skip(","):
                raise ValueError(f"no comma at character {self._at}")
            name: str | int = index
            if closing == "}":
                self._peek()
                name = self._string()[0]
                if not self._skip(":"):
                    raise ValueError(f"no colon at character {self._at}")
            yield from self._value((*path, name))
            index += 1
        self._at += 1

    def _string(self) -> tuple[str, TextSpan]:
        found = _STRING.match(self._text, self._at)
        if found is None:
            raise ValueError(f"no string at character {self._at}")
        self._at = found.end()
        return json.loads(found[0]), TextSpan(found.start(), found.end())

    def _peek(self) -> str:
        space = _SPACE.match(self._text, self._at)
        if space is not None:
            self._at = space.end()
        return self._text[self._at]

    def _skip(self, sign: str) -> bool:
        if self._peek() != sign:
            return False
        self._at += 1
        return True


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
