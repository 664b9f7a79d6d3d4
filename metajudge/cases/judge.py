"""A case judge: one model that scores the stages of cases, and its reply."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from metajudge.agents import ReplyProblemsError
from metajudge.agents.exchange import ask
from metajudge.agents.parse import load_object, name_problems, shortened
from metajudge.agents.schema import object_schema, score_schema
from metajudge.cases.case import Case, CaseStage
from metajudge.cases.quotes import is_quoted
from metajudge.cases.result import CriterionResult, JudgeReply, Quote, weighted_score
from metajudge.concurrency import off_the_loop
from metajudge.decision import CasePlan, StagePlan
from metajudge.prompts.case import Briefing, render_case_stage, render_case_system
from metajudge.prompts.fences import neutralise
from metajudge.prompts.versions import FIRST
from metajudge.providers.model import Message, Model, ModelRequest, OutputSchema, Parameters
from metajudge.rubric import Rubric
from metajudge.types.spent import as_kept

MAX_ENTRIES = 50
"""More pieces of evidence, or weaknesses, of one criterion are a reply gone wrong."""


def fields_of(rubric: Rubric) -> tuple[str, ...]:
    """The properties of each criterion's answer, in the order of asking: reasons before the score."""
    names = ("comment", "evidence", "weaknesses", "score", "confidence")
    return tuple(name for name in names if name in ("comment", "score", *rubric.asks))


def case_schema(rubric: Rubric) -> OutputSchema:
    """The answer's JSON Schema: one required property a criterion, scores as an enumeration of the scale's points."""
    properties = {criterion.name: object_schema(_entry(rubric, criterion.optional)) for criterion in rubric.criteria}
    return OutputSchema("case_evaluation", object_schema(properties))


def parse_case_reply(text: str, rubric: Rubric) -> dict[str, CriterionResult]:
    """Reads one entry for each criterion of a rubric, in rubric order; its quotes are not looked up yet.

    Raises:
        ReplyProblemsError: with every problem found: missing or unknown criteria and properties, a score off the scale,
            a confidence outside 0..1.
    """
    answer = load_object(text)
    names = [criterion.name for criterion in rubric.criteria]
    problems = [f"unknown property {name!r}" for name in answer if name not in names]
    found: dict[str, CriterionResult] = {}
    for criterion in rubric.criteria:
        if criterion.name not in answer:
            problems.append(f"{criterion.name} is missing")
            continue
        entry = answer[criterion.name]
        wrong = _problems(criterion.name, entry, rubric, criterion.optional)
        problems += wrong
        if not wrong:
            score, confidence = entry["score"], entry.get("confidence")
            quotes = (Quote(quote=one, in_output=False, in_context=False) for one in entry.get("evidence", ()))
            found[criterion.name] = CriterionResult(
                score=None if score is None else float(score),
                confidence=None if confidence is None or score is None else float(confidence),
                comment=entry["comment"],
                evidence=tuple(quotes),
                weaknesses=tuple(entry.get("weaknesses", ())),
            )
    if not problems and all(reply.score is None for reply in found.values()):
        problems.append("every criterion is marked as not applicable: at least one must be scored")
    if problems:
        raise ReplyProblemsError(problems)
    return found


def _problems(name: str, entry: Any, rubric: Rubric, optional: bool) -> list[str]:
    if not isinstance(entry, dict):
        return [f"{name} must be an object, not {shortened(entry)}"]
    fields = fields_of(rubric)
    found = name_problems(entry, fields, name)
    if "comment" in entry and not isinstance(entry["comment"], str):
        found.append(f"{name}.comment must be a string")
    for listed in (one for one in ("evidence", "weaknesses") if one in fields and one in entry):
        if not isinstance(entry[listed], list) or not all(isinstance(one, str) for one in entry[listed]):
            found.append(f"{name}.{listed} must be a list of strings")
        elif len(entry[listed]) > MAX_ENTRIES:
            found.append(f"{name}.{listed} has {len(entry[listed])} entries; at most {MAX_ENTRIES}")
    if "score" in entry:
        points = ", ".join(f"{point:g}" for point in rubric.scale.points)
        fits, words = rubric.scale.contains, f"one of the numbers {points}"
        found += _number_problems(f"{name}.score", entry["score"], optional, fits, words)
    if "confidence" in entry and "confidence" in fields:
        unscored = optional and entry.get("score", 0) is None
        where = f"{name}.confidence"
        found += _number_problems(
            where, entry["confidence"], unscored, lambda one: 0 <= one <= 1, "a number from 0 to 1"
        )
    return found


def _number_problems(where: str, value: Any, optional: bool, fits: Callable[[float], bool], words: str) -> list[str]:
    if value is None and optional:
        return []
    if isinstance(value, bool) or not isinstance(value, int | float) or not fits(value):
        return [f"{where} must be {words}, not {shortened(value)}"]
    return []


def _entry(rubric: Rubric, optional: bool) -> dict[str, Any]:
    texts = {"type": "array", "items": {"type": "string"}}
    numbers: dict[str, dict[str, Any]] = {"score": score_schema(rubric), "confidence": {"type": "number"}}
    if optional:
        numbers = {name: {"anyOf": [one, {"type": "null"}]} for name, one in numbers.items()}
    kinds = {"comment": {"type": "string"}, "evidence": texts, "weaknesses": texts, **numbers}
    return {name: kinds[name] for name in fields_of(rubric)}


@dataclass(frozen=True, slots=True)
class CaseJudge:
    """One model that scores stages.

    Attributes:
        name: what it is called in records.
        prompt_version: of the prompt set.
        briefed: whose company, priorities, language and instructions the judge is told; None for nothing.
    """

    name: str
    model: Model
    parameters: Parameters = field(default_factory=Parameters)
    prompt_version: int = FIRST
    briefed: CasePlan | None = None

    async def score(
        self, case: Case, stage: CaseStage, plan: StagePlan, rubric: Rubric, weights: Mapping[str, float]
    ) -> JudgeReply:
        """Scores one stage; a model's failure ends in the reply, typed.

        Args:
            rubric: with the stage's criteria alone.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        length = len(stage.output_text) + len(stage.context_text or "")
        request = await off_the_loop(partial(self.request, case, stage, plan, rubric), length)
        answer = await ask(
            self.model,
            request,
            lambda text: parse_case_reply(text, rubric),
            asked=self.name,
            prompt_version=self.prompt_version,
        )
        criteria = None
        if answer.value is not None:
            criteria = await off_the_loop(partial(_checked, answer.value, stage, self.prompt_version), length)
        scores = {} if criteria is None else {name: result.score for name, result in criteria.items()}
        return JudgeReply(
            judge=self.name,
            model=self.model.name,
            criteria=criteria,
            weighted_score=weighted_score(scores, weights),
            failure=answer.failure,
            **as_kept(answer.spent),
            request_digest=answer.key,
            reported_model=answer.reported_model,
        )

    def request(self, case: Case, stage: CaseStage, plan: StagePlan, rubric: Rubric) -> ModelRequest:
        """The first request :meth:`score` sends: the same bytes for the same stage."""
        version = self.prompt_version
        told = None if self.briefed is None else briefing_of(self.briefed, plan.criteria)
        system = render_case_system(rubric, plan.title, told, version=version)
        text = render_case_stage(case.type, stage.name, stage.context_text, stage.output_text, version=version)
        return ModelRequest(system, (Message("user", text),), case_schema(rubric), self.parameters)


def briefing_of(plan: CasePlan, criteria: Collection[str]) -> Briefing | None:
    """What a policy tells judges of some criteria beside the rubric; None for nothing."""
    instructions = tuple(plan.instructions[name] for name in criteria if name in plan.instructions)
    found = Briefing(plan.company, plan.priorities, plan.language, instructions)
    return None if found == Briefing() else found


def _checked(replies: Mapping[str, CriterionResult], stage: CaseStage, version: int) -> dict[str, CriterionResult]:
    """Each criterion's reply with every quote looked up, in the text as it is and as the judge saw it."""
    output, context = ((text, neutralise(text, version)) for text in (stage.output_text, stage.context_text or ""))

    def looked_up(quote: Quote) -> Quote:
        there = {
            "in_output": any(is_quoted(quote.quote, text) for text in output),
            "in_context": any(is_quoted(quote.quote, text) for text in context),
        }
        return quote.model_copy(update=there)

    return {
        name: one.model_copy(update={"evidence": tuple(map(looked_up, one.evidence))}) for name, one in replies.items()
    }
