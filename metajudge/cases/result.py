"""What judging a case gives: scores of its stages, the overall ones, what is to be done; and what a review keeps."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from metajudge.cases.case import Case, as_text
from metajudge.cases.quotes import TOO_SHORT, too_short
from metajudge.types import Decision, Failure
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
    return {name: _texts(value) for name, value in (content or {}).items() if name != RESULT}


def _texts(value: Any) -> tuple[str | None, str | None]:
    if not isinstance(value, Mapping):
        return None, None if value is None else as_text(value)
    context, output = value.get("context"), value.get("output")
    return None if context is None else as_text(context), None if output is None else as_text(output)


def kept_result(content: Mapping[str, Any] | None) -> CaseResult | None:
    """The result that a review's content keeps; None where there is none, or a later version wrote it."""
    kept = (content or {}).get(RESULT)
    try:
        return None if kept is None else CaseResult.model_validate(kept)
    except ValidationError:
        return None
