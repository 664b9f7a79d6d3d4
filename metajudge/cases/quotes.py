"""Whether a quote appears in a text: evidence is verified."""

import re
import unicodedata

_GAP = re.compile(r"(?:\[\s*)?(?:\.{3,}|…)(?:\s*\])?")  # white space around it goes with _plain()
_QUOTES = str.maketrans({**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’‚‹›", "'"), **dict.fromkeys("‐‑–—", "-")})  # noqa: RUF001 - the characters judges retype
_OUTER = "\"' \t\r\n.,;:"


def is_quoted(quote: str, text: str) -> bool:
    """Whether a text contains a quote's words, in order and without other words between them.

    White space, letter case, the style of quotation marks and dashes, and punctuation at the ends do not matter; an
    ellipsis (``...``) marks omitted words. A quote without a letter or digit is in no text.
    """
    parts = [part for part in (_plain(piece).strip(_OUTER) for piece in _GAP.split(quote)) if part]
    if not any(character.isalnum() for part in parts for character in part):
        return False
    inside, start = _plain(text), 0
    for part in parts:
        found = inside.find(part, start)
        if found < 0:
            return False
        start = found + len(part)
    return True


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold().split())
