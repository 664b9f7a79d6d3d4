"""What a policy would have decided on past cases."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metajudge.decision.bands import Band
from metajudge.decision.interval import DECIMALS, Interval
from metajudge.decision.policy import Policy
from metajudge.feedback.cases import DecidedCase
from metajudge.stats.arrays import Bools, Floats


def replayed(policy: Policy, cases: Sequence[DecidedCase]) -> list[DecidedCase]:
    """The cases as the policy would have decided them, with people's decisions."""
    return [replace(case, action=action) for case, action in zip(cases, actions(policy, cases), strict=True)]


def actions(policy: Policy, cases: Sequence[DecidedCase]) -> list[str]:
    """The action for each case, as :func:`metajudge.decision.deciding.decide` gives it."""
    value, confidence = values_of(policy, cases), _array([case.confidence for case in cases])
    found = np.full(len(cases), policy.missing.value.action.value, dtype=object)
    there, sure = ~np.isnan(value), ~np.isnan(confidence)
    for band in policy.bands:
        found[there & sure & _within(band.value, value) & _within(band.confidence, confidence)] = band.action.value
    unsure = there & ~sure
    if policy.without_confidence:
        for band in policy.without_confidence:
            found[unsure & _within(band.value, value)] = band.action.value
    else:
        for row in np.flatnonzero(unsure):
            found[row] = _without_confidence(policy, float(value[row]))
    return [str(action) for action in found]


def values_of(policy: Policy, cases: Sequence[DecidedCase]) -> Floats:
    """[n] what the policy decides on, its adjustment made; NaN inside this array alone where there is nothing."""
    given = [case.score if policy.basis == "score" else case.probability for case in cases]
    adjustment = policy.adjustment
    if adjustment is not None:
        given = [
            None if one is None else adjustment.apply(one, policy.scale, case.criteria, case.criterion_weights)
            for one, case in zip(given, cases, strict=True)
        ]
    return _array(given)


def _without_confidence(policy: Policy, value: float) -> str:
    possible = {band.action for band in policy.bands if band.value.contains(value)}
    return (possible.pop() if len(possible) == 1 else policy.missing.confidence.action).value


def _array(values: Sequence[float | None]) -> Floats:
    found = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return np.round(found, DECIMALS)


def _within(interval: Interval, values: Floats) -> Bools:
    inside = np.ones(len(values), dtype=bool)
    with np.errstate(invalid="ignore"):
        if interval.at_least is not None:
            inside &= values >= round(interval.at_least, DECIMALS)
        if interval.below is not None:
            inside &= values < round(interval.below, DECIMALS)
    return inside


def bounds_of(bands: Sequence[Band], action: str, end: str) -> list[float]:
    """The bounds (``at_least`` or ``below``) of the bands that lead to an action, ascending."""
    found = {getattr(band.value, end) for band in bands if band.action.value == action}
    return sorted(bound for bound in found if bound is not None)
