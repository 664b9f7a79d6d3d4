"""Stated confidence: how sure a judge says it is."""

import math

from metajudge.types import Judgment, SignalValue


def stated_confidence(judgment: Judgment) -> SignalValue:
    """Reads ``meta["confidence"]``, on whatever scale the judge used.

    Returns:
        The number as ``stated``; absent as ``not_stated``, or as ``no_number`` where it is no finite number.
    """
    given = judgment.meta.get("confidence")
    if given is None:
        return SignalValue(value=None, state="not_stated", detail="meta.confidence is missing")
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        return SignalValue(value=None, state="no_number", detail=f"meta.confidence is no number: {str(given)[:40]!r}")
    return SignalValue(value=float(given), state="stated", detail=f"confidence {given:g}")
