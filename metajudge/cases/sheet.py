"""What a person reads of a judged case: each stage's texts, scores, reasons and quotes, and what tips the decision.

One structure for the terminal, pages, tables and HTTP. It is the full view: a blind one has the stages' texts alone
(:func:`stage_texts`), since all else is the machine's result.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import ValidationError

from metajudge.cases.case import Case, as_text
from metajudge.cases.quotes import TOO_SHORT, QuoteCount, too_short
from metajudge.cases.result import CaseResult, CriterionResult, JudgeReply, StageResult
from metajudge.cases.scoring import quotes_in

RESULT = "case_result"
"""Where a review's content keeps the whole result, beside the stages' texts; no stage of a policy has this name."""


@dataclass(frozen=True, slots=True)
class QuoteLine:
    """A judge's quote, and where its words stand: in the stage's output, in what it was given, or nowhere.

    Attributes:
        judge: who quoted it, where several judged.
    """

    text: str
    in_output: bool
    in_context: bool
    judge: str | None = None

    @property
    def found(self) -> bool:
        """Whether the words stand in one of the texts; if not, the quote is invented or was changed."""
        return self.in_output or self.in_context

    @property
    def where(self) -> str:
        """Where it was found, in words."""
        if self.in_output:
            return "in the output"
        if self.in_context:
            return "in the context only"
        return TOO_SHORT if too_short(self.text) else "not in the text"


@dataclass(frozen=True, slots=True)
class CriterionLine:
    """One criterion of a stage.

    Attributes:
        score: on the rubric's scale; None where it does not apply.
        confidence: in [0, 1]; None where none was asked for.
        weight: the share it has in the stage's score, in [0, 1]; None where it has none.
    """

    name: str
    score: float | None
    confidence: float | None
    comment: str
    quotes: tuple[QuoteLine, ...]
    weaknesses: tuple[str, ...]
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class JudgeSheet:
    """One judge's reply on one stage.

    Attributes:
        failure: why there are no rows; None with rows.
    """

    judge: str
    score: float | None
    rows: tuple[CriterionLine, ...]
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class StageSheet:
    """One stage.

    Attributes:
        context, output: as the judge saw them; None where there is none, or where it was forgotten.
        score: weighted, on the rubric's scale; None where ``failure`` or a gate says why, or nothing is recorded.
        rows: the judges combined.
        judges: each judge's own rows, where several judged.
    """

    name: str
    context: str | None
    output: str | None
    score: float | None = None
    confidence: float | None = None
    rows: tuple[CriterionLine, ...] = ()
    judges: tuple[JudgeSheet, ...] = ()
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class CaseSheet:
    """A case with everything its judges said.

    Attributes:
        stages: in the case's order.
        tips: what is nearest to changing the action, in sentences, the nearest first; empty for old records.
        quotes: given as evidence, over all stages and judges; ``quotes_found`` of them stand in the texts, and
            ``quotes_short`` prove nothing.
        reasoning: the decision in words; None for old records.
        gate: the gate's result in words, where the policy has one.
        judged: whether the judges' result is kept: False for reviews opened by earlier versions.
    """

    stages: tuple[StageSheet, ...]
    tips: tuple[str, ...] = ()
    quotes_found: int = 0
    quotes: int = 0
    quotes_short: int = 0
    reasoning: str | None = None
    gate: str | None = None
    judged: bool = False

    @property
    def invented(self) -> int:
        """Quotes that stand in none of the texts."""
        return self.quotes - self.quotes_found - self.quotes_short

    @property
    def warning(self) -> str | None:
        """What to say of quotes that are not verified; None where each is."""
        return QuoteCount(self.quotes, self.quotes_found, self.quotes_short).warning

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the warning."""
        return {**asdict(self), "warning": self.warning}


def case_sheet(content: Mapping[str, Any] | None) -> CaseSheet:
    """The sheet of a review's content; stages without scores where no result is kept with it.

    Args:
        content: of a review of a case; empty or None once it was forgotten.
    """
    texts = stage_texts(content)
    result = _result(content)
    if result is None:
        return CaseSheet(tuple(StageSheet(name, *both) for name, both in texts.items()))
    return _sheet(texts, result)


def sheet_of(case: Case, result: CaseResult) -> CaseSheet:
    """The sheet of a case that was just judged."""
    return _sheet({stage.name: (stage.context_text, stage.output_text) for stage in case.stages}, result)


def content_of(case: Case, result: CaseResult) -> dict[str, Any]:
    """What a review keeps: the stages' texts, and the whole result."""
    texts: dict[str, Any] = {stage.name: {"context": stage.context, "output": stage.output} for stage in case.stages}
    return {**texts, RESULT: result.model_dump(mode="json")}


def stage_texts(content: Mapping[str, Any] | None) -> dict[str, tuple[str | None, str | None]]:
    """Stage -> what it was given and what it produced: all of a review's content that a blind reviewer may see."""
    return {name: _texts(value) for name, value in (content or {}).items() if name != RESULT}


def stage_rows(stage: StageResult) -> tuple[CriterionLine, ...]:
    """A stage's criteria, its judges combined."""
    return _rows(stage.criteria, stage.weights)


def judge_sheets(stage: StageResult) -> tuple[JudgeSheet, ...]:
    """Each judge's own rows; nothing where only one judged."""
    return tuple(map(_judge, stage.judges)) if len(stage.judges) > 1 else ()


def _sheet(texts: Mapping[str, tuple[str | None, str | None]], result: CaseResult) -> CaseSheet:
    judged = {stage.name: stage for stage in result.stages}
    stages = tuple(_stage(name, *both, judged.get(name)) for name, both in texts.items())
    quotes = quotes_in(result.stages)
    return CaseSheet(
        stages=stages,
        tips=result.tips,
        quotes_found=quotes.found,
        quotes=quotes.given,
        quotes_short=quotes.short,
        reasoning=result.reasoning,
        gate=_gate(result),
        judged=True,
    )


def _stage(name: str, context: str | None, output: str | None, found: StageResult | None) -> StageSheet:
    if found is None:
        return StageSheet(name, context, output)
    return StageSheet(
        name=name,
        context=context,
        output=output,
        score=found.weighted_score,
        confidence=found.confidence_overall,
        rows=stage_rows(found),
        judges=judge_sheets(found),
        failure=None if found.failure is None else found.failure.message,
    )


def _judge(reply: JudgeReply) -> JudgeSheet:
    failure = None if reply.failure is None else f"{reply.failure.kind.value}: {reply.failure.message}"
    return JudgeSheet(reply.judge, reply.weighted_score, _rows(reply.criteria or {}, {}), failure)


def _rows(criteria: Mapping[str, CriterionResult], weights: Mapping[str, float]) -> tuple[CriterionLine, ...]:
    return tuple(
        CriterionLine(
            name=name,
            score=one.score,
            confidence=one.confidence,
            comment=one.comment,
            quotes=tuple(QuoteLine(it.quote, it.in_output, it.in_context, it.judge) for it in one.evidence),
            weaknesses=one.weaknesses,
            weight=weights.get(name),
        )
        for name, one in criteria.items()
    )


def _gate(result: CaseResult) -> str | None:
    gate = result.gate
    if gate is None:
        return None
    value = f"no value ({gate.missing})" if gate.value is None else f"{gate.value:g}"
    return f"gate of {gate.stage}: {value}, {gate.step.replace('_', ' ')}"


def _texts(value: Any) -> tuple[str | None, str | None]:
    if not isinstance(value, Mapping):
        return None, None if value is None else as_text(value)
    context, output = value.get("context"), value.get("output")
    return None if context is None else as_text(context), None if output is None else as_text(output)


def _result(content: Mapping[str, Any] | None) -> CaseResult | None:
    kept = (content or {}).get(RESULT)
    if kept is None:
        return None
    try:
        return CaseResult.model_validate(kept)
    except ValidationError:  # written by a later version: the texts are still shown
        return None
