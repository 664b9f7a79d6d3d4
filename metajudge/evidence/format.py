"""Length, form and what a judge states beside its verdict: what can be told without reading."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from metajudge.evidence.comparison import decided_verdict
from metajudge.types import AnyVerdict, Pairwise, Ranking, SignalValue
from metajudge.types.judgment import count_words

EXPLANATION_WORDS = 20
"""From how many words on a rationale counts as an explanation (as the JudgeBench records are counted)."""

_NO_RATIONALE = SignalValue(value=None, state="no_rationale", detail="no rationale was recorded")


def words_signal(words: int) -> SignalValue:
    """The words of a rationale (runs between white space); absent as ``no_rationale`` where there are none."""
    if not words:
        return _NO_RATIONALE
    return SignalValue(value=float(words), state="counted", detail=f"{words} words")


def explanation_signal(words: int) -> SignalValue:
    """1 ``explained`` from 20 words on, 0 ``brief`` below; absent as ``no_rationale`` where there are none."""
    if not words:
        return _NO_RATIONALE
    if words >= EXPLANATION_WORDS:
        return SignalValue(value=1.0, state="explained", detail=f"{words} words")
    return SignalValue(value=0.0, state="brief", detail=f"{words} words, fewer than {EXPLANATION_WORDS}")


def ratio_signal(verdict: AnyVerdict | None, own: int, mean: float) -> SignalValue:
    """Compares the length of the preferred response with the others': judges are known to favour long ones.

    Args:
        own, mean: words by :func:`compared_lengths`.

    Returns:
        ``ln((1 + words of the winner) / (1 + mean words of the others shown))``: above 0 ``longer``, below 0
        ``shorter``, 0 ``equal``; absent as ``own_tied``, ``grade`` or ``no_verdict`` where there is no winner,
        as ``no_texts`` where the responses are not known.
    """
    decided = decided_verdict(verdict)
    if isinstance(decided, SignalValue):
        return decided
    if math.isnan(mean):
        return SignalValue(value=None, state="no_texts", detail="no texts")
    value = math.log((1 + own) / (1 + mean))
    state = "equal" if own == mean else "longer" if own > mean else "shorter"
    return SignalValue(value=value, state=state, detail=f"{own} words against {mean:g}")


def compared_lengths(verdict: AnyVerdict | None, words: Mapping[str, int]) -> tuple[int, float]:
    """Words of the response that a verdict prefers and mean words of the others it compares; -1 and NaN without one.

    Args:
        words: of every response, by id.
    """
    winner = None if verdict is None else verdict.winner
    if verdict is None or winner is None:
        return -1, math.nan
    own, lengths = words[winner], [words[name] for name in verdict.ids]
    return own, (sum(lengths) - own) / (len(lengths) - 1)


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


_STATES = {0: "tied", 1: "plain", 2: "strong"}


def stated_strength(verdict: AnyVerdict | None) -> SignalValue:
    """Reads the strength off a pairwise verdict.

    Judges that know only ``A>B`` and ``B>A`` are always ``plain``: then the signal says nothing.

    Returns:
        2 ``strong`` (``>>``), 1 ``plain`` (``>``) or 0 ``tied`` (``=``); absent as ``not_stated`` for rankings,
        ``grade`` for grades, ``category`` for categories and ``no_verdict``.
    """
    if isinstance(verdict, Pairwise):
        return SignalValue(value=float(verdict.strength), state=_STATES[verdict.strength], detail=f"verdict {verdict}")
    why = None if isinstance(verdict, Ranking) else decided_verdict(verdict)
    if isinstance(why, SignalValue):
        return why
    return SignalValue(value=None, state="not_stated", detail="a ranking states no strength")


def stated_confidence(given: object) -> float | None:
    """What ``meta["confidence"]`` states, on whatever scale the judge used; None where it is no finite number."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        return None
    return float(given)
