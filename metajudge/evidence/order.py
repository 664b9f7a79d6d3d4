"""Order consistency: does the judge say the same when the responses change places?"""

from collections.abc import Iterable

from metajudge.evidence.comparison import RecordedVerdict, decided_verdict, stance
from metajudge.types import Judgment, SignalValue


def order_consistency(judgment: Judgment, recorded: Iterable[RecordedVerdict]) -> SignalValue:
    """Compares the verdict with the same judge's verdict on the same responses in another order.

    For a pair the other order is the reversed one; for more responses any other order of the same ones counts.
    Several verdicts are combined by the majority of their signs (same winner +1, another winner -1, tie 0).
    Strength plays no part.

    Agreement is no proof: a weak judge on adversarial items agrees with itself and is wrong (LLMBar).

    Args:
        judgment: the judgment in question.
        recorded: verdicts on the same item, of any judge; others than the judge's own are passed over.

    Returns:
        1 ``agree``, -1 ``disagree``, 0 ``other_tied``; absent as ``missing`` (never judged in another order),
        ``other_no_verdict`` (judged, without a verdict), ``own_tied``, ``grade`` or ``no_verdict``.
    """
    own = decided_verdict(judgment)
    if isinstance(own, SignalValue):
        return own
    shown = frozenset(judgment.order)
    others = [
        other
        for other in recorded
        if other.judge == judgment.judge and other.order != judgment.order and frozenset(other.order) == shown
    ]
    if not others:
        return SignalValue(value=None, state="missing", detail="the judge was not asked in another order")
    verdicts = [other.verdict for other in others if other.verdict is not None]
    signs = [sign for sign in (stance(own, verdict) for verdict in verdicts) if sign is not None]
    if not signs:
        return SignalValue(
            value=None, state="other_no_verdict", detail="in the other order the judge gave no comparable verdict"
        )
    total = sum(signs)
    detail = f"other order: {verdicts[0]}" if len(signs) == 1 else f"majority of {len(signs)} verdicts"
    if total == 0:
        return SignalValue(value=0.0, state="other_tied", detail=detail)
    return SignalValue(value=1.0 if total > 0 else -1.0, state="agree" if total > 0 else "disagree", detail=detail)
