"""How many words texts have, counted for many of them at once."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from metajudge.types.judgment import count_words

_AT_ONCE: Final = 64
"""Texts of which all bytes are looked at together: more of them leave the processor's cache."""
_ASCII: Final = 128
_IN_A_WORD: Final = bytes(code >= _ASCII or not chr(code).isspace() for code in range(256))
_SPACES: Final = (
    (b"\xc2", re.compile(rb"\xc2[\x85\xa0]")),
    (b"\xe1", re.compile(rb"\xe1\x9a\x80")),
    (b"\xe2", re.compile(rb"\xe2(?:\x80[\x80-\x8a\xa8\xa9\xaf]|\x81\x9f)")),
    (b"\xe3", re.compile(rb"\xe3\x80\x80")),
)
"""White space outside of ASCII, each after the byte that it begins with, which is cheap to look for."""


def word_counts(texts: Sequence[str]) -> list[int]:
    """:func:`~metajudge.types.judgment.count_words` of each text, in half the time."""
    return [count for start in range(0, len(texts), _AT_ONCE) for count in _counts(texts[start : start + _AT_ONCE])]


def _counts(texts: Sequence[str]) -> list[int]:
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError:  # a lone surrogate
        return [count_words(text) for text in texts]
    joined = b"\n".join(encoded)
    if not joined.isascii() and any(byte in joined and space.search(joined) for byte, space in _SPACES):
        return [count_words(text) for text in texts]
    inside = np.frombuffer(b"\0%b\0" % joined.translate(_IN_A_WORD), dtype=np.int8)
    begins = inside[1:] > inside[:-1]
    starts = np.cumsum([0, *(len(text) + 1 for text in encoded)])[:-1]
    counts: list[int] = np.add.reduceat(begins, starts, dtype=np.int64).tolist()
    return counts
