"""Changes of a policy that labelled cases suggest, and whether they are better on cases they were not fitted on."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from metajudge.calibration.folds import question_folds
from metajudge.decision.policy import Adjustment, Policy, Recalibration
from metajudge.errors import InputError
from metajudge.feedback.cases import (
    APPROVED,
    FEWEST_CORRECTIONS,
    REJECTED,
    DecidedCase,
    Direction,
    actions,
    moved_score,
    replayed,
    shifts_of,
    value_of,
)
from metajudge.feedback.metrics import DEFINITIONS
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.bootstrap import Ratio, bootstrap_difference
from metajudge.types.figure import Figure
from metajudge.types.frozen import Frozen
from metajudge.types.interval import DECIMALS

FOLDS = 5
RESAMPLES = 2_000
CONFIDENCE = 0.99
"""Of the intervals that a change must pass: stricter than usual, since a percentile bootstrap over few questions is a
little narrow, and since a policy should not follow luck."""
FEWEST_QUESTIONS = 20
FEWEST_KEPT = 20
"""A threshold is never moved to where fewer cases than this would stay approved (or rejected)."""
SHARE_KEPT = 0.5
"""... nor fewer than this share of those that were; held-out cases may fall short of it by :data:`SLACK`."""
SLACK = 0.1
FEWEST_FOR_WEIGHTS = 100
RIDGE = 1.0


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
    ends = {getattr(band.value, end) for band in policy.bands if band.action.value == action}
    bounds = sorted(bound for bound in ends if bound is not None)
    if not bounds:
        return None
    old = bounds[0] if lenient else bounds[-1]
    done = np.array(actions(policy, cases), dtype=object) == action
    known = np.array([case.right is not None for case in cases], dtype=bool)
    at: list[int] = np.flatnonzero(done & known).tolist()
    if len(at) < 2 * FEWEST_KEPT:
        return None
    value = _values(policy, cases)[at]
    wrong = np.array([cases[row].right is not lenient for row in at], dtype=np.float64)
    weight = np.array([cases[row].weight for row in at])
    new = _bound(
        value if lenient else -value,
        wrong,
        weight,
        DEFINITIONS["false_approve_rate" if lenient else "false_reject_rate"].target,
    )
    if new is None:
        return None
    data, moved = policy.model_dump(mode="json"), new if lenient else -new
    for band in (*data["bands"], *data["without_confidence"]):  # wherever the bound appears; another band may break
        band["value"] = {end: moved if bound == old else bound for end, bound in band["value"].items()}
    return validated(data, policy)


def _values(policy: Policy, cases: Sequence[DecidedCase]) -> Floats:
    """[n] what the policy decides on; NaN inside this array alone where there is nothing."""
    found = [value_of(policy, case) for case in cases]
    values: Floats = np.array([np.nan if one is None else one for one in found], dtype=np.float64)
    return np.round(values, DECIMALS)


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


def recalibrated(policy: Policy, cases: Sequence[DecidedCase], _direction: Direction) -> Policy | None:
    """Probabilities corrected by a logistic fit on people's decisions, inversely weighted by inclusion."""
    if policy.basis != "probability":
        return None
    plain = policy.model_copy(update={"adjustment": None})
    value = _values(plain, cases)
    at = [row for row, case in enumerate(cases) if case.right is not None and not np.isnan(value[row])]
    right = np.array([bool(cases[row].right) for row in at])
    if len(at) < 2 * FEWEST_KEPT or right.all() or not right.any():
        return None
    weight = np.array([cases[row].weight for row in at])
    p = np.clip(value[at], 1e-6, 1 - 1e-6)
    intercept, (slope,) = _logistic(np.log(p / (1 - p))[:, None], right, weight, np.array([1.0]))
    if slope <= 0.01:
        return None
    return adjusted(policy, recalibration=Recalibration(intercept=round(intercept, 6), slope=round(float(slope), 6)))


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
    right = np.array([bool(case.right) for case in known])
    if right.all() or not right.any():
        return None
    scores = np.array([[case.criteria[name] for name in names] for case in known])
    present = np.array([known[0].criterion_weights.get(name, 0.0) for name in names])
    present = present / present.sum() if present.sum() > 0 else np.full(len(names), 1 / len(names))
    weight = np.array([case.weight for case in known])
    spread = float((scores @ present).std()) or 1.0
    _, fitted = _logistic((scores - scores.mean(axis=0)) / spread, right, weight, present)
    fitted = np.maximum(fitted, 0.0)
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


def _logistic(x: Floats, right: Bools, weight: Floats, prior: Floats) -> tuple[float, Floats]:
    """Intercept and coefficients of a logistic regression, shrunk towards ``prior`` by :data:`RIDGE`."""
    from metajudge.calibration.item_model import logistic

    # The intercept is next to free.
    ridge, whole = np.array([*[RIDGE] * x.shape[1], 1e-6]), np.column_stack([x, np.ones(len(x))])
    found = logistic(whole, right, weight * len(weight) / weight.sum(), ridge, np.zeros(len(ridge)), x @ prior)
    return float(found[-1]), prior + found[:-1]


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


class Difference(Figure):
    """Proposal less active policy in one rate, with a bootstrap interval over questions; None where it is undefined."""

    active_n: int = Field(description="Cases in the rate's denominator under the active policy.")
    proposal_n: int = Field(description="... and under the proposal.")


class Backtest(Frozen):
    """A proposal against the active policy, out of fold by question.

    Offsets are better, too, where scores come nearer to people's beyond noise and neither rate gets worse beyond noise.

    Attributes:
        better: whether the rate the proposal is about improved beyond noise and the other one did not get worse
            beyond noise.
        reason: in words.
        confidence: of each interval; shared among the changes that were tried together (Bonferroni).
    """

    kind: ChangeKind
    direction: Direction
    better: bool
    reason: str
    cases: int
    questions: int
    folds: int
    seed: int
    confidence: float
    false_approve: Difference
    false_reject: Difference
    score_error: Difference | None = Field(
        default=None,
        exclude_if=lambda given: given is None,
        description="Of offsets: mean distance of the moved criteria's scores from people's, proposal less active.",
    )


def backtest(
    kind: ChangeKind,
    direction: Direction,
    policy: Policy,
    cases: Sequence[DecidedCase],
    *,
    seed: int = 0,
    tried: int = 1,
) -> Backtest:
    """Fits the change on all folds but one, decides that one with it, and compares with the active policy.

    The verdict uses the false-approve rate for a policy that is too lenient, and the false-reject rate for one that
    is too strict: the interval of the difference must lie below zero. Rates, and not counts, are compared: a change
    that merely decides less is no better. A fold in which the change cannot be fitted keeps the active policy.

    Args:
        cases: those that the active policy decided, or whose numbers it can decide on.
        tried: how many changes are tried on these cases; each gets its share of the error.

    Raises:
        InputError: too few cases, or about too few questions.
    """
    known = [case for case in cases if case.right is not None]
    questions = [case.question for case in known]
    distinct = len(set(questions))
    if distinct < FEWEST_QUESTIONS:
        raise InputError(
            f"{len(known)} decided cases about {distinct} questions are too few to show that a policy is better: "
            f"at least {FEWEST_QUESTIONS} questions are needed"
        )
    fold = question_folds(questions, FOLDS, [seed])
    fits = [
        FITS[kind](policy, [case for case, at in zip(known, fold, strict=True) if at != part], direction)
        for part in range(FOLDS)
    ]
    changed = sum(fitted is not None for fitted in fits)
    by = [fits[part] or policy for part in fold.tolist()]
    active = replayed(policy, known)
    new = [one for own, case in zip(by, known, strict=True) for one in replayed(own, [case])]
    confidence = 1 - (1 - CONFIDENCE) / tried
    approve, reject = (
        _difference(_ratio(new, action), _ratio(active, action), questions, confidence, seed)
        for action in (APPROVED, REJECTED)
    )
    score = _score_difference(policy, by, known, confidence, seed) if kind is ChangeKind.OFFSETS else None
    better, reason = False, f"the cases allow no such change in {FOLDS - changed} of {FOLDS} folds"
    if changed == FOLDS:
        better, reason = _verdict(direction, approve, reject)
        if not better and score is not None:
            (low, high), moved = score.interval, score.value
            reason = f"score error {moved:+.2g} ({low:+.2g} to {high:+.2g}) on {score.active_n} cases"
            worse = _worse(approve, _RATES[0]) or _worse(reject, _RATES[1])
            better = high < 0 and not worse
            reason += worse if high < 0 else ": not better beyond noise"
    return Backtest(
        kind=kind,
        direction=direction,
        better=better,
        reason=reason,
        cases=len(known),
        questions=distinct,
        folds=FOLDS,
        seed=seed,
        confidence=confidence,
        false_approve=approve,
        false_reject=reject,
        score_error=score,
    )


def _score_difference(
    active: Policy, by: Sequence[Policy], cases: Sequence[DecidedCase], confidence: float, seed: int
) -> Difference | None:
    """Mean distance from people's scores of the criteria that a fold's policy moves; None on too few questions."""
    rows = []
    for own, case in zip(by, cases, strict=True):
        errors = []
        for name in () if own.adjustment is None else own.adjustment.offsets:
            people = case.people_score(name)
            new, old = (moved_score(policy, name, case.criteria.get(name)) for policy in (own, active))
            if people is not None and new is not None and old is not None:
                errors.append((abs(new - people), abs(old - people)))
        if errors:
            rows.append((case, *(sum(side) / len(errors) for side in zip(*errors, strict=True))))
    questions = [case.question for case, *_ in rows]
    if len(set(questions)) < FEWEST_QUESTIONS:
        return None
    weight = np.array([case.weight for case, *_ in rows])
    mine, old_ones = (np.array([row[side] for row in rows], dtype=np.float64) * weight for side in (1, 2))
    return _difference(Ratio(mine, weight), Ratio(old_ones, weight), questions, confidence, seed)


def _difference(new: Ratio, active: Ratio, questions: Sequence[str], confidence: float, seed: int) -> Difference:
    proposal_n, active_n = (int((np.asarray(one.denominator) > 0).sum()) for one in (new, active))
    if not proposal_n or not active_n:
        return Difference(active_n=active_n, proposal_n=proposal_n)
    rng = np.random.default_rng([seed, len(questions)])
    found = bootstrap_difference(new, active, questions, rng=rng, resamples=RESAMPLES, confidence=confidence)
    return Difference(value=found.estimate, low=found.low, high=found.high, active_n=active_n, proposal_n=proposal_n)


def _ratio(cases: Sequence[DecidedCase], action: str) -> Ratio:
    """Errors and cases with an action, weighted by inverse inclusion."""
    chosen = np.array([case.weight * (case.action == action) for case in cases])
    return Ratio(chosen * np.array([case.right is (action != APPROVED) for case in cases]), chosen)


_RATES = ("false-approve rate", "false-reject rate")


def _worse(rate: Difference, name: str) -> str:
    """What is said of a rate that gets worse beyond noise; "" of another."""
    if rate.low is None or rate.low <= 0:
        return ""
    return f", but the {name} gets worse beyond noise ({100 * (rate.value or 0):+.1f} points)"


def _verdict(direction: Direction, approve: Difference, reject: Difference) -> tuple[bool, str]:
    turn = 1 if direction is Direction.TOO_LENIENT else -1
    (mine, other), (name, other_name) = (approve, reject)[::turn], _RATES[::turn]
    if mine.value is None or mine.high is None:
        return False, f"no case is left to measure the {name}"
    for one, what in ((mine, name), (other, other_name)):
        if one.proposal_n < min(one.active_n, max(FEWEST_KEPT, (SHARE_KEPT - SLACK) * one.active_n)):
            left = f"{one.proposal_n} of {one.active_n} cases would be left in the {what}"
            return False, f"{left}: deciding less is no better"
    change = f"{name} {100 * mine.value:+.1f} points ({100 * (mine.low or 0):+.1f} to {100 * mine.high:+.1f})"
    if mine.high >= 0:
        return False, f"{change}: not better beyond noise"
    worse = _worse(other, other_name)
    return not worse, change + worse
