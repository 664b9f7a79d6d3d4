"""Changes of a policy that labelled cases suggest; whether they are better is the backtest's to say."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
from pydantic import ValidationError

from metajudge.decision.adjustment import Adjustment, Recalibration
from metajudge.decision.policy import Policy
from metajudge.feedback.cases import (
    APPROVED,
    REJECTED,
    DecidedCase,
    Direction,
    actions,
    bounds_of,
    shifts_of,
    values_of,
)
from metajudge.feedback.metrics import DEFINITIONS
from metajudge.stats.arrays import Floats

FEWEST_KEPT = 20
"""A threshold is never moved to where fewer cases than this would stay approved (or rejected)."""
SHARE_KEPT = 0.5
"""... nor fewer than this share of those that were; held-out cases may fall short of it by :data:`SLACK`."""
SLACK = 0.1
FEWEST_CORRECTIONS = 5
"""A criterion's offset needs so many corrected scores."""
FEWEST_FOR_WEIGHTS = 100
RIDGE = 1.0
_STEPS = 50


class ChangeKind(StrEnum):
    """What is changed about a policy."""

    THRESHOLD = "threshold"
    RECALIBRATION = "recalibration"
    OFFSETS = "offsets"
    WEIGHTS = "weights"


Fit = Callable[[Policy, Sequence[DecidedCase], Direction], Policy | None]


def moved_threshold(policy: Policy, cases: Sequence[DecidedCase], direction: Direction) -> Policy | None:
    """The bound of approval raised, or that of rejection lowered, as little as reaches the target error rate.

    Where no bound reaches it, as far as :data:`SHARE_KEPT` allows. Errors are smoothed by isotonic regression: the
    surer side is taken to be no worse, so that luck at one value moves nothing. None where there is no such bound, or
    too few cases to move it.
    """
    lenient = direction is Direction.TOO_LENIENT
    action, end = (APPROVED, "at_least") if lenient else (REJECTED, "below")
    bounds = bounds_of(policy.bands, action, end)
    if not bounds:
        return None
    old = bounds[0] if lenient else bounds[-1]
    done = np.array(actions(policy, cases), dtype=object) == action
    known = np.array([case.right is not None for case in cases], dtype=bool)
    at: list[int] = np.flatnonzero(done & known).tolist()
    if len(at) < 2 * FEWEST_KEPT:
        return None
    value = values_of(policy, cases)[at]
    wrong = np.array([cases[row].right is not lenient for row in at], dtype=np.float64)
    weight = np.array([cases[row].weight for row in at])
    new = _bound(value if lenient else -value, wrong, weight, DEFINITIONS[_RATE[direction]].target)
    if new is None:
        return None
    return _with_bound(policy, old, new if lenient else -new)


_RATE: Mapping[Direction, Any] = {
    Direction.TOO_LENIENT: "false_approve_rate",
    Direction.TOO_STRICT: "false_reject_rate",
}


def _bound(value: Floats, wrong: Floats, weight: Floats, target: float) -> float | None:
    """The lowest value such that the error rate of what lies at or above it reaches the target."""
    from sklearn.isotonic import IsotonicRegression

    order = np.argsort(-value, kind="stable")
    value, wrong, weight = value[order], wrong[order], weight[order]
    fitted = IsotonicRegression(increasing=False).fit_transform(value, wrong, sample_weight=weight)
    rate = np.cumsum(fitted * weight) / np.cumsum(weight)
    last = np.append(value[1:] != value[:-1], False)  # a bound cannot part equal values, and keeping all is no change
    kept = np.arange(1, len(value) + 1)
    allowed = last & (kept >= max(FEWEST_KEPT, SHARE_KEPT * len(value)))
    if not allowed.any():
        return None
    reached = np.flatnonzero(allowed & (rate <= target))
    best = reached[-1] if len(reached) else np.flatnonzero(allowed)[0]
    return float(round((value[best] + value[best + 1]) / 2, 6))


def _with_bound(policy: Policy, old: float, new: float) -> Policy | None:
    """The policy with one bound moved wherever it appears in its bands; None where that breaks another band."""

    def moved(data: dict[str, Any]) -> dict[str, Any]:
        value = {end: new if bound == old else bound for end, bound in data["value"].items()}
        return {**data, "value": value}

    data = policy.model_dump(mode="json")
    for name in ("bands", "without_confidence"):
        data[name] = [moved(band) for band in data[name]]
    return validated(data, policy)


def recalibrated(policy: Policy, cases: Sequence[DecidedCase], _direction: Direction) -> Policy | None:
    """Probabilities corrected by a logistic fit on people's decisions, inversely weighted by inclusion."""
    if policy.basis != "probability":
        return None
    plain = policy.model_copy(update={"adjustment": None})
    value = values_of(plain, cases)
    at = [row for row, case in enumerate(cases) if case.right is not None and not np.isnan(value[row])]
    right = np.array([bool(cases[row].right) for row in at], dtype=np.float64)
    if len(at) < 2 * FEWEST_KEPT or right.all() or not right.any():
        return None
    p = np.clip(value[at], 1e-6, 1 - 1e-6)
    weight = np.array([cases[row].weight for row in at])
    found = logistic(np.log(p / (1 - p))[:, None], right, weight * len(weight) / weight.sum(), np.array([1.0]))
    if found is None or found[1] <= 0.01:
        return None
    fitted = Recalibration(intercept=round(float(found[0]), 6), slope=round(float(found[1]), 6))
    return adjusted(policy, recalibration=fitted)


def with_offsets(policy: Policy, cases: Sequence[DecidedCase], _direction: Direction) -> Policy | None:
    """Each criterion moved by the mean difference between people's corrected scores and the machine's."""
    if policy.basis != "score":
        return None
    offsets = {
        name: round(sum(found) / len(found), 3)
        for name, found in sorted(shifts_of(cases).items())
        if len(found) >= FEWEST_CORRECTIONS and abs(sum(found)) > 0
    }
    return adjusted(policy, offsets=offsets) if offsets else None


def with_weights(policy: Policy, cases: Sequence[DecidedCase], _direction: Direction) -> Policy | None:
    """Weights of criteria by a ridge logistic fit towards the present ones; negative ones become small."""
    if policy.basis != "score":
        return None
    known = [case for case in cases if case.right is not None and case.criteria and case.criterion_weights]
    names = sorted(set.intersection(*(set(case.criteria) for case in known))) if known else []
    if len(known) < FEWEST_FOR_WEIGHTS or len(names) < 2:
        return None
    right = np.array([bool(case.right) for case in known], dtype=np.float64)
    if right.all() or not right.any():
        return None
    scores = np.array([[case.criteria[name] for name in names] for case in known])
    present = np.array([known[0].criterion_weights.get(name, 0.0) for name in names])
    present = present / present.sum() if present.sum() > 0 else np.full(len(names), 1 / len(names))
    weight = np.array([case.weight for case in known])
    spread = float((scores @ present).std()) or 1.0
    found = logistic((scores - scores.mean(axis=0)) / spread, right, weight * len(weight) / weight.sum(), present)
    if found is None:
        return None
    fitted = np.maximum(found[1:], 0.0)
    if fitted.sum() <= 0:
        return None
    shares = np.maximum(fitted / fitted.sum(), 0.01)
    return adjusted(policy, weights={name: round(float(w), 4) for name, w in zip(names, shares, strict=True)})


FITS: Mapping[ChangeKind, Fit] = {
    ChangeKind.THRESHOLD: moved_threshold,
    ChangeKind.RECALIBRATION: recalibrated,
    ChangeKind.OFFSETS: with_offsets,
    ChangeKind.WEIGHTS: with_weights,
}


def logistic(x: Floats, y: Floats, weight: Floats, prior: Floats) -> Floats | None:
    """Intercept and coefficients by Newton's method with halved steps, shrunk towards ``prior``.

    Returns:
        None where it does not converge.
    """
    design = np.column_stack([np.ones(len(x)), x])
    centre = np.concatenate([[0.0], prior])
    penalty = np.diag(np.concatenate([[1e-6], np.full(x.shape[1], RIDGE)]))
    beta = centre.copy()

    def loss(at: Floats) -> float:
        odds = design @ at
        misfit = weight * (np.logaddexp(0.0, odds) - y * odds)
        return float(misfit.sum() + (at - centre) @ penalty @ (at - centre) / 2)

    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        gradient = design.T @ (weight * (y - p)) - penalty @ (beta - centre)
        hessian = design.T @ (design * (weight * p * (1 - p))[:, None]) + penalty
        step = np.linalg.solve(hessian, gradient)
        while loss(beta + step) > loss(beta) and np.abs(step).max() >= 1e-8:
            step = step / 2
        beta = beta + step
        if np.abs(step).max() < 1e-8:
            return np.asarray(beta)
    return None


def adjusted(policy: Policy, **changes: Any) -> Policy | None:
    """The policy with learned corrections of the names given; None where nothing changes or it would be invalid."""
    before = policy.adjustment or Adjustment()
    data = policy.model_dump(mode="json")
    data["adjustment"] = before.model_copy(update=changes).model_dump(mode="json")
    return validated(data, policy)


def validated(data: Mapping[str, Any], before: Policy) -> Policy | None:
    """The policy of some data; None where it is invalid or the same as before."""
    try:
        found = Policy.model_validate(data)
    except ValidationError:
        return None
    return None if found.digest == before.digest else found
