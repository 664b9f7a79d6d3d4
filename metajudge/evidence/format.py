"""Length and form: what can be counted without reading."""

import math
from collections.abc import Mapping

from metajudge.evidence.comparison import decided_verdict
from metajudge.types import AnyVerdict, Judgment, SignalValue

EXPLANATION_WORDS = 20
"""From how many words on a rationale counts as an explanation (as the JudgeBench records are counted)."""

_NO_RATIONALE = SignalValue(value=None, state="no_rationale", detail="no rationale was recorded")


def rationale_words(judgment: Judgment) -> SignalValue:
    """Counts the rationale's words (runs between white space); absent as ``no_rationale`` where it is empty."""
    return words_signal(judgment.words)


def words_signal(words: int) -> SignalValue:
    """:func:`rationale_words` of so many words."""
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


def length_ratio(judgment: Judgment) -> SignalValue:
    """Compares the length of the preferred response with the others': judges are known to favour long ones.

    Returns:
        ``ln((1 + words of the winner) / (1 + mean words of the others shown))``: above 0 ``longer``, below 0
        ``shorter``, 0 ``equal``; absent as ``own_tied``, ``grade`` or ``no_verdict`` where there is no winner.
    """
    return ratio_signal(judgment.verdict, *compared_lengths(judgment.verdict, judgment.item.words))


def ratio_signal(verdict: AnyVerdict | None, own: int, mean: float) -> SignalValue:
    """:func:`length_ratio` of a verdict with so many words of its winner and of the others; -1 and NaN without one."""
    decided = decided_verdict(verdict)
    if isinstance(decided, SignalValue):
        return decided
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


def response_words(judgment: Judgment) -> SignalValue:
    """``ln(1 + words)`` of the one response that was graded; absent as ``several`` where more were shown."""
    if len(judgment.order) > 1:
        return SignalValue(value=None, state="several", detail=f"{len(judgment.order)} responses were shown")
    words = judgment.item.words[judgment.order[0]]
    return SignalValue(value=math.log1p(words), state="counted", detail=f"{words} words")
