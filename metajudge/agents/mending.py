"""Mends replies where mending needs no guess: the object asked for is there, once, and says what it says.

What is mended: text or a fence around the object, the same object twice, an object or a list around it, a trailing
comma, JSON within a JSON string, ``"5"`` for 5, names in other letters (``Accuracy``), full-width characters in a
choice (``A＞B``), properties that were not asked for. What is not: a score off the scale, a range, a missing or doubled
name, a text that was torn, two objects that differ.
"""  # noqa: RUF002 - the full-width character is the example

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from metajudge.agents.parse import DECODER, ReplyProblemsError
from metajudge.providers.thoughts import split_thoughts

_NUMBER: Final = re.compile(r"\s*[+-]?\d+(?:\.\d+)?\s*\Z")
_STRING: Final = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
"""A string, which may lack its end."""
_COMMA: Final = re.compile(rf"({_STRING})|,(?=\s*+[}}\]])", re.DOTALL)
_BRACKET: Final = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
_CLOSING: Final = re.compile(r"\s*+[}\]]")
_OPENING: Final = re.compile(r'\{\s*"')
_BEGIN: Final = re.compile(r'[{\[]|"\{')
_OBJECTS, _PLACES = 50, 500
"""Objects, and places where one might begin, that are looked at in a reply; one with more is not mended."""
_ABSENT: Final = object()


def mend(text: str, schema: Mapping[str, Any]) -> str | None:
    """The object of a reply that fits a schema after mending, as JSON; None where there is not exactly one."""
    found: dict[str, None] = {}
    for value in _values(split_thoughts(text).answer):
        if value is _ABSENT:
            return None
        if (fitted := _fitted(value, schema)) is not _ABSENT:
            found[json.dumps(fitted, ensure_ascii=False)] = None
    return next(iter(found)) if len(found) == 1 else None


def _values(text: str) -> Iterator[Any]:
    """The JSON objects and lists in a text, outermost first; ``_ABSENT`` where one is torn or says a name twice."""
    at, seen, places = 0, 0, 0
    while found := _BEGIN.search(text, at):
        places += 1
        try:
            value, at = _decoded(text, found.start())
        except ReplyProblemsError:
            yield _ABSENT
            return
        except (ValueError, RecursionError):
            at = found.start() + 1
            if places > _PLACES or _torn(text, found.start()):
                yield _ABSENT
                return
            continue
        seen += 1
        if seen > _OBJECTS:
            yield _ABSENT
            return
        yield json_within(value) if isinstance(value, str) else value


def json_within(text: str) -> Any:
    """The value of JSON that stands in a JSON string; the text itself where it is none."""
    try:
        return DECODER.decode(text.strip())
    except (ValueError, RecursionError):
        return text


def _decoded(text: str, at: int) -> tuple[Any, int]:
    try:
        return DECODER.raw_decode(text, at)
    except ReplyProblemsError:
        raise
    except json.JSONDecodeError as error:
        # A trailing comma is outside strings where the text without it is JSON; within one it is the sentence's own.
        if not _CLOSING.match(text, error.pos) or (end := _end(text, at)) is None:
            raise
        return DECODER.decode(_COMMA.sub(r"\1", text[at:end])), end


def _end(text: str, at: int) -> int | None:
    """Where the brackets that open at a place are closed again, strings apart; None where they are not."""
    depth = 0
    for found in _BRACKET.finditer(text, at):
        depth += (found[0] in "{[") - (found[0] in "}]")
        if depth == 0 and found[0] in "}]":
            return found.end()
    return None


def _torn(text: str, at: int) -> bool:
    """Whether an object begins here and does not end."""
    return _OPENING.match(text, at) is not None and _end(text, at) is None


def is_torn(text: str) -> bool:
    """Whether a reply begins an object and ends within it."""
    answer = split_thoughts(text).answer
    at = answer.find("{")
    return at >= 0 and _torn(answer, at)


def _fitted(value: Any, schema: Mapping[str, Any], depth: int = 0) -> Any:
    """A value as a schema wants it, ``_ABSENT`` where it cannot be."""
    if "anyOf" in schema:
        fits = [one for one in (_fitted(value, part, depth) for part in schema["anyOf"]) if one is not _ABSENT]
        return fits[0] if fits else _ABSENT
    if "enum" in schema:
        return _chosen(value, schema["enum"])
    match schema.get("type"):
        case "object":
            return _object(value, schema, depth)
        case "array":
            if not isinstance(value, list):
                return _ABSENT
            items = [_fitted(one, schema.get("items", {}), depth + 1) for one in value]
            return _ABSENT if any(one is _ABSENT for one in items) else items
        case "string":
            return value if isinstance(value, str) else _ABSENT
        case "integer" | "number":
            return _number(value)
        case "null":
            return None if value is None else _ABSENT
        case "boolean":
            return value if isinstance(value, bool) else _ABSENT
        case _:
            return value


def _object(value: Any, schema: Mapping[str, Any], depth: int) -> Any:
    if isinstance(value, list) and len(value) == 1 and depth == 0:
        return _fitted(value[0], schema, depth)
    if not isinstance(value, dict):
        return _ABSENT
    wanted: Mapping[str, Any] = schema.get("properties", {})
    given: dict[str, Any] = {}
    for name, one in value.items():
        near = [name] if name in wanted else [known for known in wanted if _bare(known) == _bare(name)]
        if len(near) != 1:
            continue  # what was not asked for
        if near[0] in given:
            return _ABSENT
        given[near[0]] = _fitted(one, wanted[near[0]], depth + 1)
    if all(name in given for name in schema.get("required", wanted)):
        fits = all(one is not _ABSENT for one in given.values())
        return {name: given[name] for name in wanted if name in given} if fits else _ABSENT
    inner = [one for one in value.values() if isinstance(one, dict | list)]
    return _fitted(inner[0], schema, depth) if depth == 0 and not given and len(inner) == 1 else _ABSENT


def _bare(name: str) -> str:
    """A name without what writers vary: letter case, blanks, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def _number(value: Any) -> Any:
    if isinstance(value, str) and _NUMBER.match(value):
        return json.loads(value.strip().removeprefix("+"))
    return value if isinstance(value, int | float) and not isinstance(value, bool) else _ABSENT


def _chosen(value: Any, choices: list[Any]) -> Any:
    """The choice that a value is, written exactly or as a text of the same characters."""
    if isinstance(value, bool):
        return _ABSENT
    if isinstance(value, str):
        bare = re.sub(r"\s", "", unicodedata.normalize("NFKC", value)).casefold()
        near = [one for one in choices if isinstance(one, str) and re.sub(r"\s", "", one).casefold() == bare]
        if len(near) == 1:
            return near[0]
        value = _number(value)
    return next((value for one in choices if not isinstance(one, str | None) and one == value), _ABSENT)
