"""Stated strength: how sure the judge's own verdict sounds."""

from metajudge.types import AnyVerdict, Category, Pairwise, SignalValue

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
    if verdict is None:
        return SignalValue(value=None, state="no_verdict", detail="the judge gave no verdict")
    if verdict.ids:
        return SignalValue(value=None, state="not_stated", detail="a ranking states no strength")
    if isinstance(verdict, Category):
        return SignalValue(value=None, state="category", detail="a category compares no responses")
    return SignalValue(value=None, state="grade", detail="a grade compares no responses")
