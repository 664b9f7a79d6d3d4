"""What tips a case's decision: the smallest change of one number alone that leads to another action.

Each sentence is computed by deciding again with that number changed, under the policy's own rules, so it holds for any
rule of combination. Scores are moved along the points of the rubric's scale, confidences in steps of .01.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from metajudge.cases.result import GateResult, StageResult
from metajudge.cases.scoring import by_rule, mean_scores, weighted_score
from metajudge.decision import CasePlan, Decision, Policy, Profile
from metajudge.decision.bands import Change, changes
from metajudge.rubric import Scale
from metajudge.types import Action

CONFIDENCE_POINTS = tuple(step / 100 for step in range(101))

_NAMES = {"value": "Overall score", "confidence": "Overall confidence", "quotes": "Share of verified quotes"}


def tips(
    policy: Policy,
    scale: Scale,
    profile: Profile,
    stages: Sequence[StageResult],
    gate: GateResult | None,
    decision: Decision,
) -> tuple[str, ...]:
    """What is nearest to changing the action, in sentences: overall numbers, one score, one confidence, the gate.

    Args:
        scale: the rubric's, along which single scores are moved.
        profile: the weights in use.
    """
    passed = _gate_tip(policy, gate)
    if decision.gate is not None:
        return passed
    if decision.inputs.absent:
        missing = "; ".join(f"no {name}: {reason}" for name, reason in decision.inputs.absent.items())
        return (f"The policy's rules for a missing number decide ({missing}).", *passed)
    numbers = _Numbers.of(policy, profile, stages, decision)
    score = numbers.nearest("score", tuple(map(float, scale.points)))
    sure = numbers.nearest("confidence", CONFIDENCE_POINTS)
    alone = "No change of one criterion's score alone leads to another action." if score is None else str(score)
    return (*_overall(policy, decision), alone, *([] if sure is None else [str(sure)]), *passed)


@dataclass(frozen=True, slots=True)
class _Move:
    """One score or confidence moved, and the action that it leads to."""

    field: Literal["score", "confidence"]
    stage: str
    criterion: str
    old: float
    new: float
    action: Action

    def __str__(self) -> str:
        what = "Score of" if self.field == "score" else "Confidence in"
        return (
            f"{what} {self.criterion} ({self.stage}) {self.old:.4g}: at {self.new:g} the action would be {self.action}."
        )


@dataclass(frozen=True, slots=True)
class _Numbers:
    """A case's criterion scores and confidences by stage, and the policy that decides on them."""

    policy: Policy
    weights: Mapping[str, float]
    scores: Mapping[str, Mapping[str, float]]
    sure: Mapping[str, Mapping[str, float]]
    quotes: float | None

    @classmethod
    def of(cls, policy: Policy, profile: Profile, stages: Sequence[StageResult], decision: Decision) -> "_Numbers":
        scores = {s.name: {n: c.score for n, c in s.criteria.items() if c.score is not None} for s in stages}
        sure = {s.name: {n: c.confidence for n, c in s.criteria.items() if c.confidence is not None} for s in stages}
        return cls(policy, profile.weights, scores, sure, decision.inputs.quotes)

    def nearest(self, field: Literal["score", "confidence"], points: Sequence[float]) -> _Move | None:
        """The smallest move of one number alone to another action; of equal ones the first in order of stages."""
        return min(self._moves(field, points), key=lambda one: round(abs(one.new - one.old), 9), default=None)

    def _moves(self, field: Literal["score", "confidence"], points: Sequence[float]) -> Iterator[_Move]:
        given = self.scores if field == "score" else self.sure
        value, confidence = self._value(self.scores), self._confidence(self.sure)
        here = self._action(value, confidence)
        for stage, found in given.items():
            for name, old in found.items():
                for new in sorted(points, key=lambda one: abs(one - old)):
                    moved = {**given, stage: {**found, name: new}}
                    if field == "score":
                        action = self._action(self._value(moved), confidence)
                    else:
                        action = self._action(value, self._confidence(moved))
                    if action is not here:
                        yield _Move(field, stage, name, old, new, action)
                        break

    def _value(self, scores: Mapping[str, Mapping[str, float]]) -> float:
        """The overall score, with what the policy learned."""
        weighted = [one for found in scores.values() if (one := weighted_score(found, self.weights)) is not None]
        value = by_rule(self._plan.overall_score)(weighted)
        learned = self.policy.adjustment
        if learned is None:
            return value
        return learned.apply(value, self.policy.scale, mean_scores(scores.values()), self.weights)

    def _confidence(self, sure: Mapping[str, Mapping[str, float]]) -> float | None:
        """The overall confidence, calibrated where the policy says so; None where none was asked for."""
        known = [sum(found.values()) / len(found) for found in sure.values() if found]
        if not known:
            return None
        confidence = by_rule(self._plan.overall_confidence)(known)
        curve = None if self.policy.adjustment is None else self.policy.adjustment.confidence
        return confidence if curve is None else curve.apply(confidence)

    def _action(self, value: float, confidence: float | None) -> Action:
        own = confidence is not None or not self.policy.without_confidence
        bands = self.policy.bands if own else self.policy.without_confidence
        return next(band.action for band in bands if band.contains(value, confidence, self.quotes))

    @property
    def _plan(self) -> CasePlan:
        assert self.policy.cases is not None, "checked when the policy was chosen"
        return self.policy.cases


def _overall(policy: Policy, decision: Decision) -> list[str]:
    inputs = decision.inputs
    assert inputs.value is not None, "nothing is absent"
    return [
        _change(one, {"value": inputs.value, "confidence": inputs.confidence, "quotes": inputs.quotes}[one.axis])
        for one in changes(policy.bands, policy.scale, inputs.value, inputs.confidence, inputs.quotes)
    ]


def _change(one: Change, at: float | None) -> str:
    where = f"below {one.bound:g}" if one.below else f"at {one.bound:g} or above"
    return f"{_NAMES[one.axis]} {at:.4g}: {where} the action would be {one.action}, which is {one.distance:.3g} away."


def _gate_tip(policy: Policy, gate: GateResult | None) -> tuple[str, ...]:
    """How far the gate's number is from another step; nothing where there is no gate or no number."""
    plan = policy.cases
    if plan is None or plan.gate is None or gate is None or gate.value is None:
        return ()
    value, here = gate.value, gate.step
    found = []
    for step in plan.gate.steps:
        if step.step == here:
            continue
        low, high = step.value.at_least, step.value.below
        if low is not None and value < low:
            found.append((low - value, f"at {low:g} or above", step.step))
        elif high is not None and value >= high:
            found.append((value - high, f"below {high:g}", step.step))
    if not found:
        return ()
    distance, where, step_name = min(found)
    words = step_name.replace("_", " ")
    return (f"Relevance {value:g}: {where} the gate would say {words}, which is {distance:.3g} away.",)
