"""Length and form: what can be counted without reading."""

import math

from metajudge.evidence.comparison import decided_verdict
from metajudge.types import Judgment, SignalValue

EXPLANATION_WORDS = 20
"""From how many words on a rationale counts as an explanation (as the JudgeBench records are counted)."""

_NO_RATIONALE = SignalValue(value=None, state="no_rationale", detail="no rationale was recorded")


def rationale_words(judgment: Judgment) -> SignalValue:
    """Counts the rationale's words (runs between white space); absent as ``no_rationale`` where it is empty."""
    words = judgment.words
    if not words:
        return _NO_RATIONALE
    return SignalValue(value=float(words), state="counted", detail=f"{words} words")


def has_explanation(judgment: Judgment) -> SignalValue:
    """1 ``explained`` from 20 words on, 0 ``brief`` below; absent as ``no_rationale`` where it is empty."""
    words = judgment.words
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
    verdict = decided_verdict(judgment)
    if isinstance(verdict, SignalValue):
        return verdict
    lengths = {name: judgment.item.words[name] for name in verdict.ids}
    own = sum(length for name, length in lengths.items() if name == verdict.winner)
    mean = (sum(lengths.values()) - own) / (len(lengths) - 1)
    value = math.log((1 + own) / (1 + mean))
    state = "equal" if own == mean else "longer" if own > mean else "shorter"
    return SignalValue(value=value, state=state, detail=f"{own} words against {mean:g}")


def response_words(judgment: Judgment) -> SignalValue:
    """``ln(1 + words)`` of the one response that was graded; absent as ``several`` where more were shown."""
    if len(judgment.order) > 1:
        return SignalValue(value=None, state="several", detail=f"{len(judgment.order)} responses were shown")
    words = judgment.item.words[judgment.order[0]]
    return SignalValue(value=math.log1p(words), state="counted", detail=f"{words} words")
