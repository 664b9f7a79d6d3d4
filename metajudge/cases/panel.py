"""Judging cases: gate, stages, judges, and the policy's decision."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from metajudge.cases.case import Case
from metajudge.cases.gate import ended, gated_decision, scored_gate, stated_gate
from metajudge.cases.judge import CaseJudge, briefing_of
from metajudge.cases.result import CaseMetadata, CaseResult, GateResult, JudgeReply, StageResult
from metajudge.cases.scoring import mean_scores, overall, quotes_in, stage_result, verified_share
from metajudge.cases.sheet import RESULT, invented_quotes
from metajudge.cases.tipping import tips
from metajudge.concurrency import all_of
from metajudge.decision import CasePlan, Decision, Policy, Profile, StagePlan, decide_adjusted
from metajudge.errors import InputError
from metajudge.installation import __version__
from metajudge.prompts import briefing as briefings
from metajudge.prompts.case import TEMPLATES
from metajudge.prompts.templates import prompts_digest
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import Parameters
from metajudge.rubric import Rubric
from metajudge.rubric.model import did_you_mean, name_list
from metajudge.types import Absent, TokenUsage


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
        if ended(self._stated_gate(case)):
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
        gate = self._stated_gate(case)
        stages: list[StageResult] = []
        for group in self._groups():
            if ended(gate):
                break
            stages += await all_of(self._stage(case, plan, profile) for plan in group)
            if self.plan.gate is not None and gate is None:
                gate = scored_gate(self.plan.gate, stages[-1], self.policy.scale)
        return self._result(case, profile, gate, stages, now)

    @cached_property
    def prompt_digest(self) -> str:
        """Digest of the prompt templates."""
        version = self.judges[0].prompt_version if self.judges else FIRST
        told = briefing_of(self.plan, self.plan.criteria)
        used = TEMPLATES if told is None else (*TEMPLATES, *briefings.TEMPLATES)
        return prompts_digest(*used, version=version)

    def _groups(self) -> list[list[StagePlan]]:
        """Stages that are asked about at once: a gate by score comes alone and first."""
        gate = self.plan.gate
        if gate is None or gate.value != "score":
            return [list(self.plan.stages)]
        return [
            [stage for stage in self.plan.stages if stage.name == gate.stage],
            [stage for stage in self.plan.stages if stage.name != gate.stage],
        ]

    async def _stage(self, case: Case, plan: StagePlan, profile: Profile) -> StageResult:
        stage = case.stage(plan.name)
        if stage is None:
            raise InputError(f"case {case.id!r} has no stage {plan.name!r}, which its gate requires: add it")
        rubric = self._rubrics[plan.name]
        replies = await all_of(judge.score(case, stage, plan, rubric, profile.weights) for judge in self.judges)
        return stage_result(plan, replies, profile.weights, self.plan.judges)

    def _stated_gate(self, case: Case) -> GateResult | None:
        gate = self.plan.gate
        return stated_gate(gate, case) if gate is not None and gate.value == "stated" else None

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
        if gate is not None and ended(gate):
            score = confidence = Absent(f"the gate ended the case ({gate.step})")
            decision = gated_decision(self.policy, gate)
        else:
            score, confidence = overall(self.plan, stages)
            scores = ({name: one.score for name, one in stage.criteria.items()} for stage in stages)
            means = mean_scores(scores)
            share = verified_share(*quotes_in(stages))
            decision = decide_adjusted(self.policy, score, confidence, means, profile.weights, share)
        absent: dict[Literal["overall_quality_score", "overall_confidence"], str] = {}
        if isinstance(score, Absent):
            absent["overall_quality_score"] = score.reason
        if isinstance(confidence, Absent):
            absent["overall_confidence"] = confidence.reason
        return CaseResult(
            case_id=case.id,
            type=case.type,
            stages=tuple(stages),
            gate=gate,
            overall_quality_score=None if isinstance(score, Absent) else score,
            overall_confidence=None if isinstance(confidence, Absent) else confidence,
            absent=absent,
            action=decision.action.value,
            reasoning=_reasoning(self.policy, decision, gate),
            decision=decision,
            tips=tips(self.policy, self.rubric.scale, profile, stages, gate, decision),
            warnings=tuple(filter(None, [invented_quotes(*quotes_in(stages))])),
            metadata=self._metadata(case, profile, stages, now),
        )

    def _metadata(self, case: Case, profile: Profile, stages: Sequence[StageResult], now: datetime) -> CaseMetadata:
        replies = [reply for stage in stages for reply in stage.judges]
        costs = [reply.cost_usd for reply in replies]
        known = [cost for cost in costs if cost is not None]
        return CaseMetadata(
            judge_models={judge.name: judge.model.name for judge in self.judges},
            evaluated_at=now.isoformat(timespec="seconds"),
            weights_used=profile.name,
            weights=dict(profile.weights),
            total_criteria_evaluated=sum(
                result.score is not None for stage in stages for result in stage.criteria.values()
            ),
            rules={
                "judges": self.plan.judges,
                "overall_score": self.plan.overall_score,
                "overall_confidence": self.plan.overall_confidence,
            },
            policy=self.policy.name,
            policy_digest=self.policy.digest,
            rubric=self.rubric.name,
            rubric_digest=self.rubric.digest,
            prompt_digest=self.prompt_digest,
            case_digest=case.digest,
            parameters={judge.name: parameters_set(judge.parameters) for judge in self.judges},
            calls=sum(reply.calls for reply in replies),
            cached_calls=sum(reply.cached_calls for reply in replies),
            cost_usd=sum(known) if len(known) == len(costs) else None,
            usage=_usage(replies),
            metajudge_version=__version__,
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


def parameters_set(parameters: Parameters) -> dict[str, Any]:
    """Parameters that differ from the provider's defaults; headers are left out because they may contain secrets."""
    names = ("temperature", "top_p", "max_tokens", "seed", "effort")
    return {name: value for name in names if (value := getattr(parameters, name)) is not None}


def _usage(replies: Sequence[JudgeReply]) -> TokenUsage:
    fields = TokenUsage.model_fields
    return TokenUsage(**{name: sum(getattr(reply.usage, name) for reply in replies) for name in fields})
