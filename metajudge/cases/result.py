"""What judging a case gives: scores of its stages, the overall ones, what is to be done; and what a review keeps."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from metajudge.cases.case import Case, as_text
from metajudge.cases.quotes import TOO_SHORT, QuoteCount, too_short
from metajudge.decision import CasePlan, Profile, StagePlan
from metajudge.errors import FailureKind
from metajudge.scoring.formulas import agent_scores
from metajudge.types import Absent, Decision, Failure
from metajudge.types.frozen import Frozen
from metajudge.types.spent import Spent, TimedSpent

RESULT = "case_result"
"""Where a review's content keeps the whole result, beside the stages' texts; no stage of a policy has this name."""
Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Quote(Frozen):
    """A judge's evidence, and whether its words were found.

    Attributes:
        in_output: whether they stand in the stage's output; False is evidence that the judge made up or paraphrased, or
            quoted too little to prove anything (:mod:`metajudge.cases.quotes`).
        in_context: whether they stand in what the stage was given.
        judge: who quoted it, where several judged.
    """

    quote: str
    in_output: bool
    in_context: bool
    judge: str | None = None

    @property
    def found(self) -> bool:
        """Whether its words stand in the output or in what the stage was given; if not, it is invented."""
        return self.in_output or self.in_context

    @property
    def where(self) -> str:
        """Where they were found, in words."""
        if self.found:
            return "in the output" if self.in_output else "in the context only"
        return TOO_SHORT if too_short(self.quote) else "not in the text"


class CriterionResult(Frozen):
    """One criterion of a stage.

    Attributes:
        score: on the rubric's scale; None where the criterion does not apply.
        confidence: None where it does not apply, or the rubric does not ask for it.
    """

    score: float | None
    confidence: Unit | None = None
    comment: str = ""
    evidence: tuple[Quote, ...] = ()
    weaknesses: tuple[str, ...] = ()

    @property
    def score_in_words(self) -> str:
        return "does not apply" if self.score is None else f"{self.score:g}"


class _Replied(Frozen):
    judge: str
    model: str
    criteria: dict[str, CriterionResult] | None = None
    weighted_score: float | None = None
    failure: Failure | None = None


class JudgeReply(TimedSpent, _Replied):
    """One judge's reply on one stage: scores, or a failure."""

    cost_usd: float | None = Field(default=0.0, description="Of this run; None where a price or usage is unknown.")
    request_digest: str
    reported_model: str | None = None


class StageResult(Frozen):
    """One stage: its judges combined by the policy's rule.

    Attributes:
        weighted_score: over the criteria actually scored; None with a ``failure``.
        confidence_overall: plain mean of the criteria's confidences; None where ``absent`` says why.
        weights: criterion -> share it had in the weighted score; they add up to 1.
        failure: why there is no score: too few judges answered.
        judges: each judge's reply, failures included.
    """

    name: str
    criteria: dict[str, CriterionResult] = Field(default_factory=dict)
    weighted_score: float | None = None
    confidence_overall: Unit | None = None
    absent: dict[Literal["confidence_overall"], str] = Field(default_factory=dict)
    weights: dict[str, float] = Field(default_factory=dict)
    failure: Failure | None = None
    judges: tuple[JudgeReply, ...] = ()

    @property
    def each_judge(self) -> tuple[JudgeReply, ...]:
        """Each judge's own reply where several judged; ``criteria`` has all that a single one said."""
        return self.judges if len(self.judges) > 1 else ()


class GateResult(Frozen):
    """The result of a policy's gate; where ``value`` is absent, ``missing`` gives the reason."""

    stage: str
    value: Unit | None
    step: Literal["archive", "quick_review", "go_on"]
    missing: str | None = None

    @property
    def ends(self) -> bool:
        """Whether it ends the case, so that its other stages are not judged."""
        return self.step != "go_on"

    def __str__(self) -> str:
        value = f"no value ({self.missing})" if self.value is None else f"{self.value:g}"
        return f"gate of {self.stage}: {value}, {self.step.replace('_', ' ')}"


class _Basis(Frozen):
    judge_models: dict[str, str]
    evaluated_at: str
    weights_used: str
    weights: dict[str, float]
    total_criteria_evaluated: int
    rules: dict[str, str]
    policy: str
    policy_digest: str
    rubric: str
    rubric_digest: str
    prompt_digest: str
    case_digest: str
    parameters: dict[str, dict[str, Any]] = Field(default_factory=dict)


class CaseMetadata(Spent, _Basis):
    """What a result is based on.

    Attributes:
        judge_models: judge -> model asked.
        evaluated_at: when, UTC, ISO 8601.
        weights_used: the weight profile's name; ``weights`` its numbers, as the policy has them.
        total_criteria_evaluated: criterion scores, over all stages.
        rules: how judges, criteria and stages were combined.
        calls: HTTP requests of this run, ``cached_calls`` replies from the store.
    """

    metajudge_version: str


class CaseResult(Frozen):
    """What ``metajudge case`` writes.

    ``overall_quality_score`` and ``overall_confidence`` are numbers, or ``absent`` gives the reason.

    Attributes:
        tips: what is nearest to changing the action, in sentences, the nearest first.
        warnings: what to know before the decision is relied on, such as invented quotes.
    """

    version: Literal[1] = 1
    case_id: str
    type: str
    stages: tuple[StageResult, ...]
    gate: GateResult | None = None
    overall_quality_score: float | None = None
    overall_confidence: Unit | None = None
    absent: dict[Literal["overall_quality_score", "overall_confidence"], str] = Field(default_factory=dict)
    action: Literal["APPROVE", "REVIEW", "REVIEW_PRIORITY", "REJECT"]
    reasoning: str
    decision: Decision
    tips: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    metadata: CaseMetadata

    @property
    def failed(self) -> bool:
        """Whether a stage could not be scored."""
        return any(stage.failure is not None for stage in self.stages)


def content_of(case: Case, result: CaseResult) -> dict[str, Any]:
    """What a review keeps: the stages' texts, and the whole result."""
    texts: dict[str, Any] = {stage.name: {"context": stage.context, "output": stage.output} for stage in case.stages}
    return {**texts, RESULT: result.model_dump(mode="json")}


def stage_texts(content: Mapping[str, Any] | None) -> dict[str, tuple[str | None, str | None]]:
    """Stage -> what it was given and what it produced: all of a review's content that a blind reviewer may see.

    Args:
        content: of a review of a case; empty or None once it was forgotten.
    """
    found = {}
    for name, value in (content or {}).items():
        if name != RESULT:
            texts = value if isinstance(value, Mapping) else {"output": value}
            context, output = (texts.get(part) for part in ("context", "output"))
            found[name] = (None if context is None else as_text(context), None if output is None else as_text(output))
    return found


def kept_result(content: Mapping[str, Any] | None) -> CaseResult | None:
    """The result that a review's content keeps; None where there is none, or a later version wrote it."""
    kept = (content or {}).get(RESULT)
    try:
        return None if kept is None else CaseResult.model_validate(kept)
    except ValidationError:
        return None


DECIMALS = 9


def weighted_score(scores: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """Weighted mean over the criteria actually scored (equation 3, by :mod:`metajudge.scoring`).

    Args:
        scores: criterion -> score; None where it does not apply: it leaves numerator and denominator.
        weights: criterion -> weight, above 0; those of other criteria play no part.

    Returns:
        The score, None where no criterion has one.
    """
    known = {name: score for name, score in scores.items() if score is not None}
    if not known:
        return None
    found = agent_scores([[list(known.values())]], [weights[name] for name in known])
    return round(float(found[0, 0]), DECIMALS)


def stage_result(
    stage: StagePlan, replies: Sequence[JudgeReply], weights: Mapping[str, float], rule: str
) -> StageResult:
    """One stage from its judges' replies; a strict majority of the judges must have answered.

    Args:
        weights: criterion -> weight, from the profile.
        rule: ``mean`` or ``lowest``: how judges' scores, and confidences, of a criterion combine.
    """
    answered = [reply for reply in replies if reply.criteria is not None]
    if 2 * len(answered) <= len(replies):
        failures = [(reply.judge, reply.failure) for reply in replies if reply.failure is not None]
        reasons = "; ".join(f"{judge}: {failure.kind}: {failure.message}" for judge, failure in failures)
        why = f"{len(answered)} of {len(replies)} judges gave a usable answer, too few for a decision ({reasons})"
        failure = Failure(kind=failures[0][1].kind, message=why)
        return StageResult(name=stage.name, failure=failure, judges=tuple(replies))
    criteria = {name: _combined(name, answered, rule) for name in stage.criteria}
    return _scored(stage.name, criteria, weights, replies)


def _scored(
    name: str, criteria: dict[str, CriterionResult], weights: Mapping[str, float], replies: Sequence[JudgeReply] = ()
) -> StageResult:
    scores = {criterion: result.score for criterion, result in criteria.items()}
    sure = [result.confidence for result in criteria.values() if result.confidence is not None]
    scored = [criterion for criterion, score in scores.items() if score is not None]
    whole = math.fsum(weights[criterion] for criterion in scored)
    return StageResult(
        name=name,
        criteria=criteria,
        weighted_score=weighted_score(scores, weights),
        confidence_overall=_mean(sure) if sure else None,
        absent={} if sure else {"confidence_overall": "the rubric does not ask for confidence"},
        weights={criterion: round(weights[criterion] / whole, 12) for criterion in scored},
        judges=tuple(replies),
    )


def overall(plan: CasePlan, stages: Sequence[StageResult]) -> tuple[float | Absent, float | Absent]:
    """Overall score and confidence of a case, by the rules its policy names."""
    failed = [f"stage {stage.name}: {stage.failure.message}" for stage in stages if stage.failure is not None]
    if failed:
        return Absent("; ".join(failed)), Absent("; ".join(failed))
    score = by_rule(plan.overall_score)([one.weighted_score for one in stages if one.weighted_score is not None])
    unsure = [f"stage {stage.name}: {reason}" for stage in stages for reason in stage.absent.values()]
    sure = [stage.confidence_overall for stage in stages if stage.confidence_overall is not None]
    return score, Absent("; ".join(unsure)) if unsure else by_rule(plan.overall_confidence)(sure)


def quotes_in(stages: Iterable[StageResult]) -> QuoteCount:
    """Quotes that judges gave as evidence over all stages."""
    quotes = [quote for stage in stages for one in stage.criteria.values() for quote in one.evidence]
    short = sum(too_short(quote.quote) and not quote.found for quote in quotes)
    return QuoteCount(len(quotes), sum(quote.found for quote in quotes), short)


def verified_share(quotes: int, found: int) -> float | Absent:
    """The share of quotes that stand in the texts, in [0, 1]; absent where none was given. Short ones do not."""
    return found / quotes if quotes else Absent("the judges quoted nothing as evidence")


def mean_scores(stages: Iterable[Mapping[str, float | None]]) -> dict[str, float]:
    """Criterion -> mean score over the stages that scored it: what a policy's learned corrections are made on."""
    found: dict[str, list[float]] = {}
    for scores in stages:
        for name, score in scores.items():
            if score is not None:
                found.setdefault(name, []).append(score)
    return {name: math.fsum(scores) / len(scores) for name, scores in found.items()}


def overall_of_numbers(
    plan: CasePlan, profile: Profile, stages: Mapping[str, Mapping[str, Any]]
) -> tuple[float | Absent, float | Absent]:
    """Overall score and confidence from recorded criterion scores, under another plan's weights and rules.

    Args:
        stages: stage -> ``criteria`` (criterion -> ``score``, ``confidence``) and ``failure``; those of the plan.
    """
    found = []
    for stage in plan.stages:
        failure, given = stages[stage.name]["failure"], stages[stage.name]["criteria"]
        criteria = {} if failure else {name: CriterionResult(**given[name]) for name in stage.criteria}
        one = _scored(stage.name, criteria, profile.weights)
        if one.weighted_score is None:
            why = failure["message"] if failure else "no criterion applied"
            one = StageResult(name=stage.name, failure=Failure(kind=FailureKind.NO_EVIDENCE, message=why))
        found.append(one)
    return overall(plan, found)


def by_rule(rule: str) -> Callable[[Sequence[float]], float]:
    """The combination a policy names: plain mean, or the lowest."""
    return min if rule.startswith("lowest") else _mean


def _mean(values: Sequence[float]) -> float:
    return round(math.fsum(values) / len(values), DECIMALS)


def _combined(name: str, answered: Sequence[JudgeReply], rule: str) -> CriterionResult:
    """Several judges' scores on a criterion; "not applicable" counts only where all judges say so."""
    given = [(reply.judge, reply.criteria[name]) for reply in answered if reply.criteria is not None]
    if len(given) == 1:
        return given[0][1]
    by = by_rule(rule)
    scores = [one.score for _, one in given if one.score is not None]
    sure = [one.confidence for _, one in given if one.confidence is not None]
    return CriterionResult(
        score=by(scores) if scores else None,
        confidence=by(sure) if sure else None,
        comment="\n".join(f"{judge}: {one.comment}" for judge, one in given),
        evidence=tuple(quote.model_copy(update={"judge": judge}) for judge, one in given for quote in one.evidence),
        weaknesses=tuple(dict.fromkeys(weakness for _, one in given for weakness in one.weaknesses)),
    )
