"""Whether a change of policy is better on cases it was not fitted on."""

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from metajudge.calibration.folds import question_folds
from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.feedback.candidates import FEWEST_KEPT, FITS, SHARE_KEPT, SLACK, ChangeKind
from metajudge.feedback.cases import APPROVED, REJECTED, DecidedCase, Direction, moved_score, replayed
from metajudge.stats.arrays import Floats
from metajudge.stats.bootstrap import Ratio, bootstrap_difference
from metajudge.types.figure import Figure
from metajudge.types.frozen import Frozen

FOLDS = 5
RESAMPLES = 2_000
CONFIDENCE = 0.99
"""Of the intervals that a change must pass: stricter than usual, since a percentile bootstrap over few questions is a
little narrow, and since a policy should not follow luck."""
FEWEST_QUESTIONS = 20


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
    folds: int = FOLDS,
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
    if distinct < max(FEWEST_QUESTIONS, folds):
        raise InputError(
            f"{len(known)} decided cases about {distinct} questions are too few to show that a policy is better: "
            f"at least {max(FEWEST_QUESTIONS, folds)} questions are needed"
        )
    fold = question_folds(questions, folds, [seed])
    proposed: list[DecidedCase | None] = [None] * len(known)
    errors: list[_Errors | None] = [None] * len(known)
    changed = 0
    for part in range(folds):
        train = [case for case, at in zip(known, fold, strict=True) if at != part]
        rows: list[int] = np.flatnonzero(fold == part).tolist()
        fitted = FITS[kind](policy, train, direction)
        changed += fitted is not None
        for row, case in zip(rows, replayed(fitted or policy, [known[row] for row in rows]), strict=True):
            proposed[row] = case
            errors[row] = _errors(policy, fitted or policy, case) if kind is ChangeKind.OFFSETS else None
    active = replayed(policy, known)
    new = [case for case in proposed if case is not None]
    confidence = 1 - (1 - CONFIDENCE) / tried
    approve, reject = (
        _difference(_ratio(new, action), _ratio(active, action), questions, confidence, seed)
        for action in (APPROVED, REJECTED)
    )
    score = _score_difference(errors, known, confidence, seed) if kind is ChangeKind.OFFSETS else None
    better, reason = False, f"the cases allow no such change in {folds - changed} of {folds} folds"
    if changed == folds:
        better, reason = _verdict(direction, approve, reject)
        if not better and score is not None:
            better, reason = _scores_verdict(score, approve, reject)
    return Backtest(
        kind=kind,
        direction=direction,
        better=better,
        reason=reason,
        cases=len(known),
        questions=distinct,
        folds=folds,
        seed=seed,
        confidence=confidence,
        false_approve=approve,
        false_reject=reject,
        score_error=score,
    )


_Part = tuple[Floats, Floats]
"""[n] numerator and denominator of a ratio."""
_Errors = tuple[float, float]
"""Mean distance from people's scores under the proposal, and under the active policy."""


def _errors(active: Policy, proposal: Policy, case: DecidedCase) -> _Errors | None:
    """Over the criteria that the proposal moves and people have a score of; None without such a criterion."""
    moved = [] if proposal.adjustment is None else list(proposal.adjustment.offsets)
    found = []
    for name in moved:
        people = case.people_score(name)
        new, old = (moved_score(policy, name, case.criteria.get(name)) for policy in (proposal, active))
        if people is not None and new is not None and old is not None:
            found.append((abs(new - people), abs(old - people)))
    return None if not found else (sum(one[0] for one in found) / len(found), sum(one[1] for one in found) / len(found))


def _score_difference(
    errors: Sequence[_Errors | None], cases: Sequence[DecidedCase], confidence: float, seed: int
) -> Difference | None:
    rows = [(one, case) for one, case in zip(errors, cases, strict=True) if one is not None]
    questions = [case.question for _, case in rows]
    if len(set(questions)) < FEWEST_QUESTIONS:
        return None
    weight = np.array([case.weight for _, case in rows])
    new, active = (np.array([one[side] for one, _ in rows]) * weight for side in (0, 1))
    return _difference((new, weight), (active, weight), questions, confidence, seed)


def _scores_verdict(score: Difference, approve: Difference, reject: Difference) -> tuple[bool, str]:
    """Whether scores come nearer to people's beyond noise, and neither rate gets worse beyond noise."""
    assert score.value is not None
    assert score.low is not None
    assert score.high is not None
    change = f"score error {score.value:+.2g} ({score.low:+.2g} to {score.high:+.2g}) on {score.active_n} cases"
    if score.high >= 0:
        return False, f"{change}: not better beyond noise"
    for rate, name in ((approve, "false-approve rate"), (reject, "false-reject rate")):
        if rate.low is not None and rate.low > 0:
            return False, f"{change}, but the {name} gets worse beyond noise ({100 * (rate.value or 0):+.1f} points)"
    return True, change


def _difference(new: _Part, active: _Part, questions: Sequence[str], confidence: float, seed: int) -> Difference:
    proposal_n, active_n = (int((weights > 0).sum()) for _, weights in (new, active))
    if not proposal_n or not active_n:
        return Difference(value=None, low=None, high=None, active_n=active_n, proposal_n=proposal_n)
    found = bootstrap_difference(
        Ratio(*new),
        Ratio(*active),
        questions,
        rng=np.random.default_rng([seed, len(questions)]),
        resamples=RESAMPLES,
        confidence=confidence,
    )
    return Difference(value=found.estimate, low=found.low, high=found.high, active_n=active_n, proposal_n=proposal_n)


def _ratio(cases: Sequence[DecidedCase], action: str) -> _Part:
    """Errors and cases with an action, weighted by inverse inclusion."""
    wrong_is = action != APPROVED
    chosen = np.array([case.weight * (case.action == action) for case in cases])
    errors = chosen * np.array([case.right is wrong_is for case in cases])
    return errors, chosen


def _verdict(direction: Direction, approve: Difference, reject: Difference) -> tuple[bool, str]:
    lenient = direction is Direction.TOO_LENIENT
    mine, other = (approve, reject) if lenient else (reject, approve)
    name, other_name = ("false-approve rate", "false-reject rate")[:: 1 if lenient else -1]
    if mine.value is None or mine.high is None:
        return False, f"no case is left to measure the {name}"
    for one, what in ((mine, name), (other, other_name)):
        if one.proposal_n < min(one.active_n, max(FEWEST_KEPT, (SHARE_KEPT - SLACK) * one.active_n)):
            left = f"{one.proposal_n} of {one.active_n} cases would be left in the {what}"
            return False, f"{left}: deciding less is no better"
    change = f"{name} {100 * mine.value:+.1f} points ({100 * (mine.low or 0):+.1f} to {100 * mine.high:+.1f})"
    if mine.high >= 0:
        return False, f"{change}: not better beyond noise"
    if other.low is not None and other.low > 0:
        return False, f"{change}, but the {other_name} gets worse beyond noise ({100 * (other.value or 0):+.1f} points)"
    return True, change
