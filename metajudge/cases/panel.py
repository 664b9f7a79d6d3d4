"""Judging cases: gate, stages, judges, and the policy's decision."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial

from metajudge.cases.case import Case
from metajudge.cases.judge import CaseJudge, briefing_of
from metajudge.cases.result import (
    RESULT,
    CaseMetadata,
    CaseResult,
    GateResult,
    StageResult,
    by_rule,
    mean_scores,
    overall,
    quotes_in,
    stage_result,
    verified_share,
    weighted_score,
)
from metajudge.concurrency import all_of
from metajudge.decision import CasePlan, Decision, Gate, Policy, Profile, StagePlan, decide_adjusted
from metajudge.decision.bands import changes
from metajudge.errors import InputError
from metajudge.files.yaml_documents import did_you_mean, name_list
from metajudge.installation import __version__
from metajudge.judging.records import parameters_set
from metajudge.prompts.case import BRIEFING, CASE
from metajudge.prompts.templates import prompts_digest
from metajudge.prompts.versions import FIRST
from metajudge.rubric import Rubric, Scale
from metajudge.types import Absent, Action, DecisionInputs
from metajudge.types.spent import Spent, total

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
    scores = {s.name: {n: c.score for n, c in s.criteria.items() if c.score is not None} for s in stages}
    sure = {s.name: {n: c.confidence for n, c in s.criteria.items() if c.confidence is not None} for s in stages}
    value_of, sure_of = partial(_value, policy, profile.weights), partial(_confidence, policy)
    value, certainty, quotes = value_of(scores), sure_of(sure), decision.inputs.quotes

    def act(value: float, confidence: float | None) -> Action:
        bands = policy.bands if confidence is not None or not policy.without_confidence else policy.without_confidence
        return next(band.action for band in bands if band.contains(value, confidence, quotes))

    points = tuple(map(float, scale.points))
    score = _nearest("Score of", scores, points, lambda moved: act(value_of(moved), certainty))
    confidence = _nearest("Confidence in", sure, CONFIDENCE_POINTS, lambda moved: act(value, sure_of(moved)))
    alone = "No change of one criterion's score alone leads to another action."
    return (*_overall(policy, decision), score or alone, *filter(None, [confidence]), *passed)


ByStage = Mapping[str, Mapping[str, float]]
"""Stage -> criterion -> its score, or the confidence in it."""


def _nearest(what: str, given: ByStage, points: Sequence[float], act: Callable[[ByStage], Action]) -> str | None:
    """The smallest move of one number alone to another action; of equal ones the first in order of stages."""
    here, moves = act(given), []
    for stage, found in given.items():
        for name, old in found.items():
            for new in sorted(points, key=lambda one: abs(one - old)):
                action = act({**given, stage: {**found, name: new}})
                if action is not here:
                    said = f"{what} {name} ({stage}) {old:.4g}: at {new:g} the action would be {action}."
                    moves.append((round(abs(new - old), 9), said))
                    break
    return min(moves, key=lambda one: one[0], default=(0.0, None))[1]


def _value(policy: Policy, weights: Mapping[str, float], scores: ByStage) -> float:
    """The overall score, with what the policy learned."""
    assert policy.cases is not None, "checked when the policy was chosen"
    weighted = [one for found in scores.values() if (one := weighted_score(found, weights)) is not None]
    value = by_rule(policy.cases.overall_score)(weighted)
    learned = policy.adjustment
    return value if learned is None else learned.apply(value, policy.scale, mean_scores(scores.values()), weights)


def _confidence(policy: Policy, sure: ByStage) -> float | None:
    """The overall confidence, calibrated where the policy says so; None where none was asked for."""
    known = [sum(found.values()) / len(found) for found in sure.values() if found]
    if not known:
        return None
    assert policy.cases is not None, "checked when the policy was chosen"
    confidence = by_rule(policy.cases.overall_confidence)(known)
    curve = None if policy.adjustment is None else policy.adjustment.confidence
    return confidence if curve is None else curve.apply(confidence)


def _overall(policy: Policy, decision: Decision) -> Iterator[str]:
    inputs = decision.inputs
    assert inputs.value is not None, "nothing is absent"
    for one in changes(policy.bands, policy.scale, inputs.value, inputs.confidence, inputs.quotes):
        here = f"{_NAMES[one.axis]} {getattr(inputs, one.axis):.4g}"
        where = f"below {one.bound:g}" if one.below else f"at {one.bound:g} or above"
        yield f"{here}: {where} the action would be {one.action}, which is {one.distance:.3g} away."


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


def stated_gate(gate: Gate | None, case: Case) -> GateResult | None:
    """The gate's result for the number its stage states; None where it does not go by one.

    Raises:
        InputError: it is no number from 0 to 1, or context and output state different ones.
    """
    if gate is None or gate.value != "stated":
        return None
    stage = case.stage(gate.stage)
    holders = [] if stage is None else [one for one in (stage.context, stage.output) if isinstance(one, dict)]
    found = [holder[gate.field] for holder in holders if gate.field in holder]
    where = f"case {case.id!r}: {gate.field} of stage {gate.stage!r}"
    for value in found:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError(f"{where} must be a number from 0 to 1, not {value!r}")
    if not found:
        found_none = f"stage {gate.stage!r} states no {gate.field}"
        return GateResult(stage=gate.stage, value=None, step=gate.missing, missing=found_none)
    if found[0] != found[-1]:
        raise InputError(f"{where} is {found[0]} in its context and {found[-1]} in its output: state it in one of them")
    return GateResult(stage=gate.stage, value=float(found[0]), step=gate.step_for(float(found[0])).step)


def gated_decision(policy: Policy, gate: GateResult) -> Decision:
    """The decision on a case that the gate ended: archived cases are rejected, quick reviews reviewed."""
    assert policy.cases is not None
    assert policy.cases.gate is not None
    if gate.value is None:
        words, reason = "The gate has no value.", str(gate.missing)
    else:
        words, reason = policy.cases.gate.step_for(gate.value).justification, f"relevance {gate.value:g}"
    why = f"the gate ended the case: {reason}"
    return Decision(
        action=Action.REJECT if gate.step == "archive" else Action.REVIEW,
        policy=policy.name,
        policy_digest=policy.digest,
        justification=f"{words} ({reason})",
        inputs=DecisionInputs(
            basis=policy.basis, confidence_rule=policy.confidence_rule, absent={"value": why, "confidence": why}
        ),
        gate="archive" if gate.step == "archive" else "quick_review",
    )


class CasePanel:
    """One or several judges, a policy and its rubric: judges cases.

    Args:
        judges: at least one, with different names.
        policy: one with a section ``cases``.
        rubric: the policy's, see :func:`metajudge.decision.case_rubric`.
    """

    def __init__(self, judges: Sequence[CaseJudge], policy: Policy, rubric: Rubric) -> None:
        if policy.cases is None:
            raise InputError(f"policy {policy.name!r} is for verdicts: it has no section `cases`")
        self.policy = policy
        self.plan: CasePlan = policy.cases
        self.judges = tuple(replace(judge, briefed=self.plan) for judge in judges)
        if self.plan.stage(RESULT) is not None:
            raise InputError(f"policy {policy.name!r}: a stage must not be named {RESULT!r}, which reviews use")
        self.rubric = rubric
        self._rubrics = {stage.name: rubric.only(stage.criteria) for stage in self.plan.stages}

    def check(self, case: Case) -> None:
        """Says what is wrong with a case before anything is asked.

        Raises:
            InputError: no profile for its type, a stage the policy does not have or lacks, a relevance that is none.
        """
        known = [stage.name for stage in self.plan.stages]
        self._profile(case)
        for stage in case.stages:
            if stage.name not in known:
                raise InputError(
                    f"case {case.id!r}: policy {self.policy.name!r} has no stage {stage.name!r}; it has "
                    f"{name_list(known)}{did_you_mean(stage.name, known)}"
                )
        stated = stated_gate(self.plan.gate, case)
        if stated is not None and stated.ends:
            return
        missing = [name for name in known if case.stage(name) is None]
        if self.plan.gate is not None and self.plan.gate.value == "score":  # later stages may not have been reached
            missing = missing if self.plan.gate.stage in missing else []
        if missing:
            raise InputError(
                f"case {case.id!r} lacks {name_list(missing)}: policy {self.policy.name!r} judges {name_list(known)}"
            )

    async def judge(self, case: Case, *, now: datetime) -> CaseResult:
        """Judges one case.

        Args:
            now: recorded as the time of evaluation.

        Raises:
            InputError: see :meth:`check`.
            BudgetExceeded: the run's budget is spent.
        """
        self.check(case)
        profile = self._profile(case)
        gate = stated_gate(self.plan.gate, case)
        stages: list[StageResult] = []
        by_score = self.plan.gate if self.plan.gate is not None and self.plan.gate.value == "score" else None
        if by_score is not None:  # its stage is judged alone and first
            plan = next(one for one in self.plan.stages if one.name == by_score.stage)
            stages.append(await self._stage(case, plan, profile))
            score, failure = stages[0].weighted_score, stages[0].failure
            if score is None:
                why = "no score" if failure is None else failure.message
                gate = GateResult(stage=by_score.stage, value=None, step=by_score.missing, missing=why)
            else:
                value = round((score - self.policy.scale.low) / self.policy.scale.width, 9)
                gate = GateResult(stage=by_score.stage, value=value, step=by_score.step_for(value).step)
        if gate is None or not gate.ends:
            rest = [one for one in self.plan.stages if by_score is None or one.name != by_score.stage]
            stages += await all_of(self._stage(case, plan, profile) for plan in rest)
        return self._result(case, profile, gate, stages, now)

    @cached_property
    def prompt_digest(self) -> str:
        """Digest of the prompt templates."""
        version = self.judges[0].prompt_version if self.judges else FIRST
        told = briefing_of(self.plan, self.plan.criteria)
        used = CASE if told is None else (*CASE, *BRIEFING)
        return prompts_digest(*used, version=version)

    async def _stage(self, case: Case, plan: StagePlan, profile: Profile) -> StageResult:
        stage = case.stage(plan.name)
        if stage is None:
            raise InputError(f"case {case.id!r} has no stage {plan.name!r}, which its gate requires: add it")
        rubric = self._rubrics[plan.name]
        replies = await all_of(judge.score(case, stage, plan, rubric, profile.weights) for judge in self.judges)
        return stage_result(plan, replies, profile.weights, self.plan.judges)

    def _profile(self, case: Case) -> Profile:
        profile = self.plan.profile_for(case.type)
        if profile is None:
            known = [name for one in self.plan.profiles for name in (one.name, *one.types)]
            raise InputError(
                f"case {case.id!r}: policy {self.policy.name!r} has no weight profile for type {case.type!r}; it has "
                f"{name_list(known)}{did_you_mean(case.type, known)}"
            )
        return profile

    def _result(
        self, case: Case, profile: Profile, gate: GateResult | None, stages: Sequence[StageResult], now: datetime
    ) -> CaseResult:
        score: float | Absent
        confidence: float | Absent
        if gate is not None and gate.ends:
            score = confidence = Absent(f"the gate ended the case ({gate.step})")
            decision = gated_decision(self.policy, gate)
        else:
            score, confidence = overall(self.plan, stages)
            scores = ({name: one.score for name, one in stage.criteria.items()} for stage in stages)
            means = mean_scores(scores)
            quoted = quotes_in(stages)
            share = verified_share(quoted.given, quoted.found)
            decision = decide_adjusted(self.policy, score, confidence, means, profile.weights, share)
        numbers = {"overall_quality_score": score, "overall_confidence": confidence}
        return CaseResult(
            case_id=case.id,
            type=case.type,
            stages=tuple(stages),
            gate=gate,
            **{name: None if isinstance(one, Absent) else one for name, one in numbers.items()},
            absent={name: one.reason for name, one in numbers.items() if isinstance(one, Absent)},
            action=decision.action.value,
            reasoning=_reasoning(self.policy, decision, gate),
            decision=decision,
            tips=tips(self.policy, self.rubric.scale, profile, stages, gate, decision),
            warnings=tuple(filter(None, [quotes_in(stages).warning])),
            metadata=CaseMetadata(
                judge_models={judge.name: judge.model.name for judge in self.judges},
                evaluated_at=now.isoformat(timespec="seconds"),
                weights_used=profile.name,
                weights=dict(profile.weights),
                total_criteria_evaluated=sum(
                    result.score is not None for stage in stages for result in stage.criteria.values()
                ),
                rules={name: getattr(self.plan, name) for name in ("judges", "overall_score", "overall_confidence")},
                policy=self.policy.name,
                policy_digest=self.policy.digest,
                rubric=self.rubric.name,
                rubric_digest=self.rubric.digest,
                prompt_digest=self.prompt_digest,
                case_digest=case.digest,
                parameters={judge.name: parameters_set(judge.parameters) for judge in self.judges},
                **dict(total(Spent, [reply for stage in stages for reply in stage.judges])),
                metajudge_version=__version__,
            ),
        )


def _reasoning(policy: Policy, decision: Decision, gate: GateResult | None) -> str:
    inputs = decision.inputs
    if decision.gate is not None:
        return decision.justification
    numbers = []
    if inputs.value is not None:
        numbers.append(f"Overall score {inputs.value:.4g} on {policy.scale}")
    if inputs.confidence is not None:
        stated = "" if inputs.stated_confidence is None else f" (calibrated; stated {inputs.stated_confidence:.4g})"
        numbers.append(f"confidence {inputs.confidence:.4g}{stated}")
    if inputs.quotes is not None:
        numbers.append(f"{100 * inputs.quotes:.0f} % of quotes verified")
    prefix = f"{', '.join(numbers)}: " if numbers else ""
    passed = f" Gate: {gate.missing}; the policy continues." if gate is not None and gate.missing else ""
    return f"{prefix}{decision.justification}{passed}"
