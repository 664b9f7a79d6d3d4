"""Text as a reader sees it: look-alike letters, invisible characters and emphasis undone, every place kept. Pure."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТХУаеѕіјорсхуԛԝһո" + "ΑΒΕΖΗΙΚΜΝΟΡΤΧΥαινορτυχ" + "ıƖɑɡ",  # noqa: RUF001
    "ABESIJKMHOPCTXYaesijopcxyqwhn" + "ABEZHIKMNOPTXYaivoptux" + "ilag",
)
"""Cyrillic, Greek and other letters that look like Latin ones; each maps to one letter."""
_DASHES = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d\u00b7\u2027")
_QUOTES = dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4`", "'") | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
_LONGEST = 3
"""The most letters one character expands to, as in the ligature ffi; it bounds the length of a folded text."""
_LEFT_OUT = re.compile(r"[*`~\\]|</?(?:b|i|u|em|strong|code|mark|span|sub|sup)>", re.IGNORECASE)
"""Emphasis in Markdown and HTML. It may occur inside a name and is not part of it."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A text to be searched.

    Attributes:
        text: what is left of the original, in Latin letters where it is drawn with such.
        places: for each character of ``text`` its place in the original.
    """

    text: str
    places: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place in the original of a piece of ``text`` that is not empty."""
        return self.places[start], self.places[end - 1] + 1


def fold(text: str) -> Folded:
    """Folds a text, in time linear in its length.

    Example:
        >>> fold("**Open\u200bAI**\u2019s GPT\u20114").text
        "OpenAI's GPT-4"
    """
    if text.isascii() and _LEFT_OUT.search(text) is None:
        return Folded(text, range(len(text)))
    pieces: list[str] = []
    places: list[int] = []
    last = 0
    for left_out in _LEFT_OUT.finditer(text):
        _add(text, last, left_out.start(), pieces, places)
        last = left_out.end()
    _add(text, last, len(text), pieces, places)
    return Folded("".join(pieces), places)


def _add(text: str, start: int, end: int, pieces: list[str], places: list[int]) -> None:
    for place in range(start, end):
        folded = _character(text[place])
        pieces.append(folded)
        places.extend([place] * len(folded))


@lru_cache(maxsize=65536)
def _character(one: str) -> str:
    """A character in Latin letters; nothing for one that is not seen, such as an accent or a joiner of no width."""
    if one.isascii():
        return one
    if one in _DASHES:
        return "-"
    if one in _QUOTES:
        return _QUOTES[one]
    if one.isspace():
        return "\n" if one in "\u2028\u2029\u0085" else " "
    kept = [part for part in unicodedata.normalize("NFKD", one) if unicodedata.category(part) not in ("Mn", "Cf", "Me")]
    return "".join(kept[:_LONGEST]).translate(_LOOKALIKES)
