"""Whether a judge's quote stands in a text: whole words and whole numbers, and enough of them to prove something."""

import re
import unicodedata
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

FEWEST: Final = 3
"""Words and numbers from which on a quote proves something; a number with its unit is enough as well."""
TOO_SHORT: Final = "too short to prove anything"

_GAP: Final = re.compile(r"(?:\[\s*)?(?:\.{3,}|…)(?:\s*\])?")
# A power, the mark of a footnote or a fraction is not the next digit of a number.
_RAISED: Final = re.compile("([⁰¹²³⁴-⁹₀-₉ªº¼½¾⅐-⅞]+)")
_SAME: Final = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u2039\u203a"), "'"),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2212"), "-"),
    **dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff")),
}
"""Quotation marks, hyphens and a minus that are retyped; characters without a width."""
_MONEY: Final = "$£¥€₩₹₽₺₴₫฿¢"
_SIGNS: Final = f"%‰°<>=≤≥≠≈±+×÷{_MONEY}"  # noqa: RUF001
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # noqa: E501
"""Scripts that put no blanks between words: every character is a token, and two of them count as a word."""
_JOINTS: Final = ("", "-", "_")


class QuoteCount(NamedTuple):
    """Quotes given as evidence: ``found`` of them stand in the texts, ``short`` ones prove nothing."""

    given: int
    found: int
    short: int

    @property
    def share(self) -> float | None:
        """The share that stands in the texts, in [0, 1]; None where none was given."""
        return self.found / self.given if self.given else None

    @property
    def invented(self) -> int:
        """Quotes that stand in none of the texts."""
        return self.given - self.found - self.short

    @property
    def warning(self) -> str | None:
        """What to say of quotes that are not verified; None where each is."""
        invented = self.invented
        short = f"{self.short} of {self.given} quotes given as evidence are {TOO_SHORT}."
        if invented <= 0:
            return short if self.short else None
        return (
            f"{invented} of {self.given} quotes given as evidence are invented: they stand neither in a stage's output "
            f"nor in what it was given.{f' {short}' if self.short else ''}"
        )


def too_short(quote: str) -> bool:
    """Whether no part of a quote has three words or numbers, nor a number with its unit."""
    for part in _GAP.split(quote):
        kinds = [_kind(one) for one in _tokens(part)]
        words = kinds.count("w") + kinds.count("n") + kinds.count("u") // 2
        if words >= FEWEST or any(a + b in ("nw", "nu", "ns", "nm", "mn") for a, b in pairwise(kinds)):
            return False
    return True


def is_quoted(quote: str, text: str) -> bool:
    """Whether a text contains a quote's words and numbers, whole, in order and with no others between them.

    White space, letter case, punctuation and dashes do not matter; signs (``%``, ``-5``, ``<``, ``$``) and separators
    within a number do. An ellipsis (``...``) marks omitted words. A quote that begins or ends within a hyphenated word,
    a range or a grouped number is not in the text, and one that is too short is in no text.
    """
    if too_short(quote):
        return False
    line, joints = _line(text)
    at = 0
    for part in filter(None, map(_tokens, _GAP.split(quote))):
        at = _end(f" {' '.join(part)} ", line, joints, at)
        if at < 0:
            return False
    return True


def _end(words: str, line: str, joints: frozenset[int], start: int) -> int:
    """Where words end in a line, from an offset on; -1 where they do not stand there whole."""
    at = line.find(words, start)
    while at >= 0 and (at in joints or at + len(words) - 1 in joints):
        at = line.find(words, at + 1)
    return at if at < 0 else at + len(words) - 1


@lru_cache(maxsize=16)
def _line(text: str) -> tuple[str, frozenset[int]]:
    """The tokens between blanks, and the offsets of the blanks at which no quote may begin or end."""
    plain, parts, joints, at, before = _plain(text), [""], set(), 0, None
    for found in _pattern().finditer(plain):
        if before is not None and _joined(before, plain[before.end() : found.start()], found):
            joints.add(at)
        parts.append(found[0])
        at, before = at + 1 + len(found[0]), found
    return " ".join([*parts, ""]), frozenset(joints)


def _joined(before: re.Match[str], between: str, after: re.Match[str]) -> bool:
    if (before["word"] is None and before["number"] is None) or (after["word"] is None and after["number"] is None):
        return False
    if before["number"] and after["number"]:
        thousands = between == " " and len(after[0]) == 3 and len(before[0].lstrip("-")) <= 3
        return thousands or between in ("-", "–")  # noqa: RUF001
    return between in _JOINTS


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(found[0] for found in _pattern().finditer(_plain(text)))


def _kind(word: str) -> str:
    """n(umber), m(oney), s (another sign that can be a unit), u(nspaced) or w(ord)."""
    if word[-1].isnumeric():
        return "n"
    if word in _SIGNS:
        return "m" if word in _MONEY else "s" if word in "%‰°" else "-"
    return "u" if re.match(f"[{_UNSPACED}]", word) else "w"


def _plain(text: str) -> str:
    apart = _RAISED.sub(r" \1 ", text)
    return unicodedata.normalize("NFKC", apart).translate(_SAME).casefold()


@cache
def _pattern() -> re.Pattern[str]:
    """A number with its sign, a character of a script without blanks, a word with its accents, or a sign."""
    marks = "".join(mark for mark in map(chr, range(0x300, 0x11A00)) if unicodedata.category(mark)[0] == "M")
    letter = f"(?:[^\\W\\d_{_UNSPACED}][{marks}]*)"
    return re.compile(
        "(?P<number>(?:(?<![\\w)\\]%.,])-)?\\d+(?:[.,:/'\u2044]\\d+)*)"
        f"|(?P<single>[{_UNSPACED}][{marks}]*)|(?P<word>{letter}+(?:'{letter}+)*)|[{_SIGNS}]"
    )
