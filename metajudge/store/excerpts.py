"""What a stored text begins with, and whether it contains what is searched for. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from metajudge.store.redaction import FORGOTTEN

LONGEST: Final = 160
"""Characters of an excerpt."""


def excerpt(text: str, longest: int = LONGEST) -> str:
    """The first words of a text on one line, with an ellipsis if there are more."""
    words = " ".join(text[: 4 * longest].split())
    if len(words) <= longest and len(text) <= 4 * longest:
        return words
    cut = words[:longest]
    return f"{cut.rpartition(' ')[0] or cut}…"


def plain(text: str) -> str:
    """A text without JSON around it: of plain data the texts within, one after the other; any other text unchanged."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return ", ".join(texts_in(orjson.loads(text))) or text
    except orjson.JSONDecodeError:
        return text


def question_of(item: str | None) -> str | None:
    """The question in an item's payload; None if it is missing or was deleted."""
    found = None if item is None else orjson.loads(item).get("question")
    return found if isinstance(found, str) and found.strip() and found != FORGOTTEN else None


def as_in_json(text: str) -> str:
    """A text as it is written within JSON."""
    return orjson.dumps(text).decode()[1:-1]


def contains(text: str, wanted: str) -> bool:
    """Whether a text contains another one, upper and lower case alike."""
    return wanted.casefold() in text.casefold()


def texts_in(data: Any) -> Iterator[str]:
    """Every text within plain data; names of fields are none."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from texts_in(value)
    elif isinstance(data, list):
        for value in data:
            yield from texts_in(value)
