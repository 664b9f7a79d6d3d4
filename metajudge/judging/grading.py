"""A grading judge: one model grades one response from 1 to 10, without comparing it with another."""

import json
from dataclasses import dataclass, field, replace

from metajudge.agents import ReplyProblemsError
from metajudge.agents.exchange import Spent, ask
from metajudge.agents.parse import load_object
from metajudge.judging.blinding_report import BlindingReport
from metajudge.prompts.grading import TEMPLATES, render_grading, render_grading_system
from metajudge.prompts.templates import prompts_digest
from metajudge.providers.model import Message, Model, ModelRequest, OutputSchema, Parameters
from metajudge.types import Failure, Grade, Item

GRADES = tuple(range(1, 11))
"""The scale: 10 is best."""

SCHEMA = OutputSchema(
    "grading",
    {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, "grade": {"type": "integer", "enum": list(GRADES)}},
        "required": ["reasoning", "grade"],
        "additionalProperties": False,
    },
)
"""Reasoning first: constrained decoding writes properties in this order."""


@dataclass(frozen=True, slots=True)
class Grading:
    """One grade by one judge; its attributes are those of a :class:`~metajudge.judging.pairwise.Game`.

    Attributes:
        order: the id of the response graded, alone.
    """

    item: Item
    judge: str
    model: str
    order: tuple[str]
    verdict: Grade | None = None
    failure: Failure | None = None
    replied: bool = True
    text: str = ""
    instruction: str = ""
    replies: int = 0
    cost_usd: float | None = 0.0
    spent: Spent = field(default_factory=Spent)
    request_digest: str | None = None
    reported_model: str | None = None
    parameters: Parameters = field(default_factory=Parameters)
    blinding: BlindingReport = field(default_factory=BlindingReport)

    @property
    def no_verdict(self) -> str | None:
        """Why the judge, although it answered, gave no grade."""
        return self.failure.message if self.failure is not None and self.replied else None


@dataclass(frozen=True, slots=True)
class GradingJudge:
    """A model that grades single responses.

    Attributes:
        name: what the judge is called in records.
        with_reference: whether it sees an item's reference answer.
        hide_identities: whether names that tell who wrote a response are hidden where the item names its models.
    """

    name: str
    model: Model
    parameters: Parameters = field(default_factory=Parameters)
    with_reference: bool = False
    hide_identities: bool = True

    async def grade(self, item: Item, response: str, *, retry: bool = False) -> Grading:
        """Grades one response; a model's failure ends in the result, typed.

        Args:
            response: its id.
            retry: an earlier attempt failed: a stored reply that is of no use is asked for anew.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        shown, blinding = item, BlindingReport(hiding=self.hide_identities)
        if self.hide_identities and item.models:
            from metajudge.judging.identity import blinded_item  # its patterns take a while to compile

            shown, blinding = await blinded_item(item)
        request = self.request(shown, response)
        answer = await ask(self.model, request, parse_grading_reply, asked=self.name, retry=retry)
        grading = Grading(
            item=item,
            judge=self.name,
            model=self.model.name,
            order=(response,),
            failure=answer.failure,
            replied=answer.replied,
            text=answer.text,
            instruction=request.system,
            replies=answer.replies,
            cost_usd=answer.cost_usd,
            spent=answer.spent,
            request_digest=answer.key,
            reported_model=answer.reported_model,
            parameters=self.parameters,
            blinding=blinding,
        )
        if answer.value is None:
            return grading
        return replace(grading, verdict=Grade(float(answer.value.grade)), text=answer.value.reasoning)

    def request(self, item: Item, response: str) -> ModelRequest:
        """The first request :meth:`grade` sends: the same bytes for the same question and text."""
        text = render_grading(item, response, with_reference=self.with_reference)
        return ModelRequest(render_grading_system(), (Message("user", text),), SCHEMA, self.parameters)


@dataclass(frozen=True, slots=True)
class GradingReply:
    """A judge's reasoning, and its grade."""

    reasoning: str
    grade: int


def parse_grading_reply(text: str) -> GradingReply:
    """Reads ``{"reasoning": string, "grade": 1 to 10}`` and nothing else; ``"7"`` and 7.5 are no grades.

    Raises:
        ReplyProblemsError: with every problem found.
    """
    answer = load_object(text)
    problems = [f"unknown property {name!r}" for name in answer if name not in ("reasoning", "grade")]
    problems += [f"{name} is missing" for name in ("reasoning", "grade") if name not in answer]
    reasoning, grade = answer.get("reasoning", ""), answer.get("grade", GRADES[0])
    if not isinstance(reasoning, str):
        problems.append("reasoning must be a string")
    if isinstance(grade, bool) or not isinstance(grade, int | float) or grade not in GRADES:
        problems.append(f"grade must be a whole number from 1 to 10, not {json.dumps(grade)[:60]}")
    if problems:
        raise ReplyProblemsError(problems)
    return GradingReply(reasoning, int(grade))


def templates_digest() -> str:
    """Digest of the prompt templates of grading."""
    return prompts_digest(*TEMPLATES)
