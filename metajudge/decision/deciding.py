"""From a value and a confidence to a decision: of one, of a vetted judgment, and of many values at once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.decision.bands import Band, Outcome, all_exact, margin, margins, pieces
from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices
from metajudge.types.assessment import Assessment
from metajudge.types.decision import Absent, Action, Decision, DecisionInputs
from metajudge.types.interval import UNIT, Range, exact


def decide(
    policy: Policy, value: float | Absent, confidence: float | Absent, quotes: float | Absent | None = None
) -> Decision:
    """What a policy says about a value with a confidence, compared after rounding to 1e-9.

    Where a number is absent, none takes its place: without a value ``missing.value`` decides. Without a confidence
    ``without_confidence`` does where the policy has such bands; else an action that every confidence would lead to
    stands, and where it depends on the confidence ``missing.confidence`` decides. Without quotes, an action that every
    share of verified quotes would lead to stands, else ``missing.quotes`` decides.

    Args:
        value: the score on the policy's scale, or the probability.
        confidence: in [0, 1].
        quotes: share of verified quotes, in [0, 1]; not looked at where the policy's bands do not.

    Raises:
        InputError: a value off the scale, or a confidence or share outside 0..1.
    """
    share = _share(policy, quotes)
    given = {
        "value": (value, policy.scale, policy.basis),
        "confidence": (confidence, UNIT, "confidence"),
        "quotes": (share, UNIT, "share of verified quotes"),
    }
    numbers: dict[str, float | None] = dict.fromkeys(given)
    for name, (one, axis, what) in given.items():
        if one is not None and not isinstance(one, Absent):
            _require(one, axis, what, policy)
            numbers[name] = min(max(one, 0.0), 1.0) if name == "confidence" else one
    absent = {name: one.reason for name, (one, _, _) in given.items() if isinstance(one, Absent)}
    inputs = DecisionInputs(basis=policy.basis, **numbers, confidence_rule=policy.confidence_rule, absent=absent)
    found = _chosen(policy, value, confidence, share)
    return Decision(
        action=found.rule.action,
        policy=policy.name,
        policy_digest=policy.digest,
        justification=found.rule.justification + found.reason,
        inputs=inputs,
        band=found.band,
        margin=None if found.at is None else margin(bands_for(policy, confidence), policy.scale, *found.at),
    )


def action_of(
    policy: Policy, value: float | Absent, confidence: float | Absent, quotes: float | Absent | None = None
) -> Action:
    """The action of :func:`decide` alone, many times faster; of a value off the scale that of a missing one."""
    known = isinstance(value, Absent) or policy.scale.contains(value)
    return _chosen(policy, value if known else Absent("off the scale"), confidence, _share(policy, quotes)).rule.action


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What decides.

    Attributes:
        reason: which number is absent, where one matters.
        band: the band's place, where it is one of the policy's own and the only one.
        at: the numbers that the bands were looked up for; None where there is no distance to another decision.
    """

    rule: Band | Outcome
    reason: str = ""
    band: int | None = None
    at: tuple[float, float | None, float | None] | None = None


def _chosen(
    policy: Policy, value: float | Absent, confidence: float | Absent, quotes: float | Absent | None
) -> _Chosen:
    if isinstance(value, Absent):
        return _Chosen(policy.missing.value, f" (no {policy.basis}: {value.reason})")
    sure, share = (None if one is None or isinstance(one, Absent) else exact(one) for one in (confidence, quotes))
    bands = bands_for(policy, confidence)
    own = bands is policy.bands
    at = (exact(value), sure, share)
    possible = [place for place, band in enumerate(bands) if band.contains(*at)]
    if len({bands[place].action for place in possible}) == 1:
        place = possible[0] if own and len(possible) == 1 else None
        matters = (sure is not None or not own) and not isinstance(quotes, Absent)  # else the absent one does not here
        return _Chosen(bands[possible[0]], "", place, at if matters else None)
    if isinstance(confidence, Absent) and own:  # goes first where both are absent
        return _Chosen(policy.missing.confidence, f" (no confidence: {confidence.reason})")
    assert isinstance(quotes, Absent), "bands cover every point once"
    return _Chosen(policy.missing.quotes, f" (no verified quotes: {quotes.reason})")


def decide_adjusted(
    policy: Policy,
    value: float | Absent,
    confidence: float | Absent,
    criteria: Mapping[str, float],
    weights: Mapping[str, float],
    quotes: float | Absent | None = None,
) -> Decision:
    """The same, after the corrections that the policy learned from human decisions, where it has any.

    Args:
        criteria: criterion -> score that ``value`` was computed from; empty if missing.
        weights: criterion -> weight it had in ``value``.
        quotes: see :func:`decide`.
    """
    learned = policy.adjustment
    if learned is None:
        return decide(policy, value, confidence, quotes)
    before: dict[str, float] = {}
    if not isinstance(value, Absent):
        _require(value, policy.scale, policy.basis, policy)
        before["unadjusted"] = value
        value = learned.apply(value, policy.scale, criteria, weights)
    if learned.confidence is not None and not isinstance(confidence, Absent):
        _require(confidence, UNIT, "confidence", policy)
        before["stated_confidence"] = confidence
        confidence = learned.confidence.apply(confidence)
    decision = decide(policy, value, confidence, quotes)
    return decision.model_copy(update={"inputs": decision.inputs.model_copy(update=before)})


def bands_for(policy: Policy, confidence: float | Absent) -> tuple[Band, ...]:
    """The bands that are looked at: those for where there is no confidence, if the policy has them and it is absent."""
    return policy.without_confidence if isinstance(confidence, Absent) and policy.without_confidence else policy.bands


def _share(policy: Policy, quotes: float | Absent | None) -> float | Absent | None:
    """The share of verified quotes, as far as the policy looks at it."""
    if not policy.uses_quotes:
        return None
    return Absent("no quotes are known") if quotes is None else quotes


def _require(number: float, axis: Range, what: str, policy: Policy) -> None:
    if isinstance(number, bool) or not axis.contains(number):  # not a number is outside as well
        raise InputError(f"{what} {number!r} lies outside {axis}: policy {policy.name!r} cannot decide on it")


def decide_verdict(policy: Policy, assessment: Assessment, weights: Mapping[str, float] | None = None) -> Decision:
    """What a policy says about a vetted judgment.

    Args:
        weights: criterion -> weight of the panel's rubric, which a policy with learned offsets weighs them by.

    Raises:
        InputError: a score off the policy's scale, which is then not the scale of the panel's rubric.
    """
    value, agreement = value_of(policy, assessment), agreement_of(policy, assessment)
    return decide_adjusted(policy, value, agreement, criteria_of(assessment), weights or {})


def criteria_of(assessment: Assessment) -> dict[str, float]:
    """Criterion -> mean score over the agents who scored it, in order of appearance."""
    scores: dict[str, list[float]] = {}
    for agent in assessment.agents:
        for name, criterion in (agent.criteria or {}).items():
            if criterion.score is not None:
                scores.setdefault(name, []).append(criterion.score)
    return {name: math.fsum(given) / len(given) for name, given in scores.items()}


def value_of(policy: Policy, assessment: Assessment) -> float | Absent:
    """The number a policy decides on: the assessment's probability or final score."""
    if policy.basis == "probability":
        if assessment.probability is not None:
            return assessment.probability
        marks = ", ".join(assessment.probability_marks)
        return Absent(marks or "the judgment was vetted without a calibration (vet --calibration FILE)")
    if assessment.final_score is not None:
        return assessment.final_score
    if assessment.failure is not None:
        return Absent(f"{assessment.failure.kind}: {assessment.failure.message}")
    return Absent("asking stopped early, once the decision was certain")


def agreement_of(policy: Policy, assessment: Assessment) -> float | Absent:
    """How far the agents who gave a score agree, which is the confidence of a verdict's decision.

    By ``same_side`` the share of them on the more frequent side of the threshold, ``max(k, m - k) / m`` where ``k`` of
    ``m`` agents score above it (strictly, as acceptance does); from 1/2 to 1. Agents' weights play no part. By
    ``range`` ``1 - (max S_i - min S_i) / (high - low)`` of the rubric's scale, which the policy's ``scale`` states;
    from 0 to 1. In a discussion the agents' revised scores count.

    Returns:
        Absent with fewer than two scores: the policy's rules for a missing confidence decide.
    """
    scores = [agent.score for agent in assessment.agents if agent.score is not None]
    if len(scores) < 2:
        return Absent(
            f"agreement needs two agents with a score, and there {'is' if len(scores) == 1 else 'are'} {len(scores)}"
        )
    if policy.agreement == "range":
        return min(max(1 - (max(scores) - min(scores)) / policy.scale.width, 0.0), 1.0)
    above = sum(exact(score) > exact(assessment.threshold) for score in scores)
    return max(above, len(scores) - above) / len(scores)


@dataclass(frozen=True, slots=True, eq=False)
class DecisionColumn:
    """Decisions on n values.

    Attributes:
        codes: [n] places in ``kinds``.
        kinds: a decision of each kind; its numbers are those of the first value of the kind.
        values: [n] that the bands were looked at for.
        unadjusted: [n] before the policy's learned corrections; None where it has none.
        margins: [n] NaN where there is none.
    """

    codes: Indices
    kinds: Sequence[Decision]
    values: Floats
    unadjusted: Floats | None
    margins: Floats

    def at(self, row: int) -> Decision:
        """The decision on one value."""
        kind, margin = self.kinds[int(self.codes[row])], float(self.margins[row])
        inputs = {"value": float(self.values[row])}
        if self.unadjusted is not None:
            inputs["unadjusted"] = float(self.unadjusted[row])
        return kind.model_copy(
            update={"inputs": kind.inputs.model_copy(update=inputs), "margin": None if margin != margin else margin}
        )


def decide_column(policy: Policy, values: Floats, confidence: float | Absent) -> DecisionColumn:
    """:func:`decide_adjusted` of many values without criteria, with one confidence.

    The decision is the same everywhere between two neighbouring bounds of the bands: it is made once there.

    Args:
        values: [n] on the policy's scale.

    Raises:
        InputError: a value off the scale, or a confidence outside 0..1.
    """
    learned = policy.adjustment
    low, high, compared = exact(policy.scale.low), exact(policy.scale.high), all_exact(values)
    for value in values[~((low <= compared) & (compared <= high))].tolist():
        decide_adjusted(policy, value, confidence, {}, {})  # says what is wrong
    looked_at = values
    if learned is not None:
        looked_at = np.array([learned.apply(value, policy.scale, {}, {}) for value in values.tolist()])
    sure = None if isinstance(confidence, Absent) else confidence
    if learned is not None and learned.confidence is not None and sure is not None:
        sure = learned.confidence.apply(sure)
    bands = bands_for(policy, confidence)
    starts = [piece.start for piece in pieces(policy.scale, (band.value for band in bands))]
    places = np.searchsorted(starts, all_exact(looked_at), side="right") - 1
    _, first, codes = np.unique(places, return_index=True, return_inverse=True)
    kinds = [decide_adjusted(policy, value, confidence, {}, {}) for value in values[first].tolist()]
    codes = codes.reshape(-1)
    found = np.full(len(codes), np.nan)
    with_margin = np.array([kind.margin is not None for kind in kinds], dtype=bool)[codes]
    if with_margin.any():
        found = np.where(with_margin, margins(bands, policy.scale, looked_at, sure), np.nan)
    return DecisionColumn(codes, kinds, looked_at, None if learned is None else values, found)
