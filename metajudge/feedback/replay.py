"""What a policy would have decided on past cases."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metajudge.decision.bands import Band
from metajudge.decision.deciding import decide
from metajudge.decision.interval import DECIMALS, Interval
from metajudge.decision.policy import Policy
from metajudge.feedback.cases import DecidedCase
from metajudge.stats.arrays import Bools, Floats
from metajudge.types.decision import Absent


def replayed(policy: Policy, cases: Sequence[DecidedCase]) -> list[DecidedCase]:
    """The cases as the policy would have decided them, with people's decisions."""
    return [replace(case, action=action) for case, action in zip(cases, actions(policy, cases), strict=True)]


def actions(policy: Policy, cases: Sequence[DecidedCase]) -> list[str]:
    """The action for each case, as :func:`metajudge.decision.deciding.decide` gives it."""
    value, confidence, quotes = values_of(policy, cases), confidences_of(policy, cases), _shares(policy, cases)
    found = np.full(len(cases), policy.missing.value.action.value, dtype=object)
    there, sure = ~np.isnan(value), ~np.isnan(confidence)
    quoted = np.ones(len(cases), dtype=bool) if quotes is None else ~np.isnan(quotes)
    for band in policy.bands:
        inside = there & sure & quoted & _within(band.value, value) & _within(band.confidence, confidence)
        found[inside if quotes is None else inside & _within(band.quotes, quotes)] = band.action.value
    unsure = there & ~(sure & quoted)
    if policy.without_confidence and quotes is None:
        for band in policy.without_confidence:
            found[unsure & _within(band.value, value)] = band.action.value
    else:
        for row in np.flatnonzero(unsure):
            share = None if quotes is None else quotes[row]
            found[row] = decide(policy, value[row], _known(confidence[row]), _known(share)).action.value
    return [str(action) for action in found]


def confidences_of(policy: Policy, cases: Sequence[DecidedCase]) -> Floats:
    """[n] confidences, calibrated where the policy says so; NaN inside this array alone where there is none."""
    given = [case.confidence for case in cases]
    learned = None if policy.adjustment is None else policy.adjustment.confidence
    if learned is not None:
        given = [None if one is None else learned.apply(one) for one in given]
    return _array(given)


def moved_score(policy: Policy, criterion: str, score: float | None) -> float | None:
    """A criterion's score with the policy's learned offset, on its scale."""
    offset = 0.0 if policy.adjustment is None else policy.adjustment.offsets.get(criterion, 0.0)
    return None if score is None else min(max(score + offset, policy.scale.low), policy.scale.high)


def _shares(policy: Policy, cases: Sequence[DecidedCase]) -> Floats | None:
    """[n] shares of verified quotes, None where the policy does not look at them."""
    return _array([case.quotes for case in cases]) if policy.uses_quotes else None


def _known(number: float | None) -> float | Absent:
    return Absent("not recorded") if number is None or np.isnan(number) else float(number)


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
