"""Words of verdicts and labels (``words.json``), and numbers as people and models write them.

``words.json`` has, for English, German, French, Spanish, Italian and Portuguese: words that are no answer anywhere, or
only beside others; words for a pass, a fail, a tie, the first and the second of two responses; what responses are
called (``nouns``), what stands before a verdict (``titles``), and what stands within and behind a number.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

import orjson

WORDS: Final[dict[str, Any]] = orjson.loads(files("metajudge.types").joinpath("words.json").read_bytes())
LONGEST: Final = 200
"""Characters of the longest text that is looked at for a written number or a word."""


def either(words: Iterable[str]) -> str:
    """A pattern for one of some words, with any white space, ``_`` or ``-`` between their parts."""
    return "(?:" + "|".join(re.escape(one).replace(r"\ ", r"[\s_-]") for one in words) + ")"


NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?", re.I)
_DIGITS: Final = r"[+-]?(?:\d{1,15}(?:[.,]\d{0,15})?|[.,]\d{1,15})"
_WRITTEN: Final = re.compile(
    rf"({_DIGITS})(?:\s*(%)|\s*(?:/|{either(WORDS['of'])}\b)\s*({_DIGITS}))?\s*{either(WORDS['units'])}?", re.I
)
_TITLE: Final = re.compile(rf"{either(WORDS['titles'])}\**\s*(?:[:=]|\bis\b)", re.I)


@dataclass(frozen=True, slots=True)
class Written:
    """A number as it is written.

    Attributes:
        value: the number itself: 4 of ``4/5``, 85 of ``85%``.
        of: the highest one, where that is written with it: 5, 100.
        decimals: digits behind a comma in a number without ``of``; None without a comma.
    """

    value: float
    of: float | None = None
    decimals: int | None = None


@lru_cache(maxsize=10_000)
def written(text: str) -> Written | None:
    """The number that a text is: ``4/5``, ``3 out of 5``, ``Rating: [[4]]``, ``85%``, ``**4**``, ``4,5``; else None."""
    found = _WRITTEN.fullmatch(unwrapped(text)) if len(text) <= LONGEST else None
    if found is None:
        return Written(float(text)) if len(text) <= LONGEST and NUMBER.fullmatch(text) else None
    value, of = (None if part is None else float(part.replace(",", ".")) for part in (found[1], found[3]))
    of = 100.0 if found[2] else of
    decimals = len(found[1].partition(",")[2]) if "," in found[1] and of is None else None
    return Written(value or 0.0, of, decimals)


def unwrapped(text: str) -> str:
    """A text without what stands around it: ``[[A]]``, ``**A**``, ``"A"``, ``Verdict: A``."""
    while len(text) <= LONGEST:
        inner = text.strip(" \t\r\n*`\"'")
        if inner[:1] == "[" and inner[-1:] == "]" and not re.search(r"[\"',]", inner):
            inner = inner[1:-1]
        title = _TITLE.match(inner)
        inner = inner if title is None else inner[title.end() :]
        if inner == text:
            break
        text = inner
    return text


def folded(text: str) -> str:
    """A word without case, dots, apostrophes and brackets, with ``_`` between its parts."""
    return re.sub(r"[\s_()-]+", "_", re.sub(r"['\u2019.]", "", text[:LONGEST].casefold()).strip()).strip("_")
