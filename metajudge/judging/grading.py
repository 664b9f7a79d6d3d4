"""A grading judge: one model grades one response from 1 to 10, without comparing it with another."""

from dataclasses import dataclass, field
from typing import Any

from metajudge.agents.parse import shortened
from metajudge.judging.blinding_report import BlindingReport
from metajudge.judging.item_judge import ItemJudge, JudgeRecord
from metajudge.judging.replies import read_reasoned, reasoned_schema
from metajudge.prompts.grading import render_grading, render_grading_system
from metajudge.providers.model import Message, ModelRequest
from metajudge.types import Grade, Item

GRADES = tuple(range(1, 11))
"""The scale: 10 is best."""

SCHEMA = reasoned_schema("grading", "grade", {"type": "integer", "enum": list(GRADES)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading(JudgeRecord):
    """One grade by one judge."""

    item: Item
    order: tuple[str]
    verdict: Grade | None = None
    blinding: BlindingReport = field(default_factory=BlindingReport)


@dataclass(frozen=True, slots=True)
class GradingJudge(ItemJudge):
    """A model that grades single responses."""

    async def grade(self, item: Item, response: str, *, retry: bool = False) -> Grading:
        """Grades one response; a model's failure ends in the result, typed.

        Args:
            retry: an earlier attempt failed: an unusable stored reply is requested again.

        Raises:
            BudgetExceeded: the run's budget is spent.
        """
        answer, fields = await self._ask(item, lambda shown: self.request(shown, response), parse_grading_reply, retry)
        verdict = None if answer.value is None else Grade(float(answer.value.grade))
        return Grading(order=(response,), verdict=verdict, **fields)

    def request(self, item: Item, response: str) -> ModelRequest:
        """The first request :meth:`grade` sends: the same bytes for the same question and text."""
        version = self.prompt_version
        text = render_grading(item, response, with_reference=self.with_reference, version=version)
        return ModelRequest(render_grading_system(version), (Message("user", text),), SCHEMA, self.parameters)


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
    reasoning, grade = read_reasoned(text, "grade", _fault)
    return GradingReply(reasoning, int(grade))


def _fault(grade: Any) -> str | None:
    if isinstance(grade, bool) or not isinstance(grade, int | float) or grade not in GRADES:
        return f"grade must be a whole number from 1 to 10, not {shortened(grade)}"
    return None
