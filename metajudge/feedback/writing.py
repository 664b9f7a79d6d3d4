"""An instruction that a model writes from people's corrections and reasons, instead of a template."""

from metajudge.agents import ReplyProblemsError
from metajudge.agents.exchange import ask
from metajudge.agents.parse import load_object, name_problems
from metajudge.agents.schema import object_schema
from metajudge.errors import InputError
from metajudge.feedback.drafting import DraftBook
from metajudge.feedback.drafts import Draft, criterion_of
from metajudge.prompts.revising import render_revising, render_revising_system
from metajudge.providers.model import Message, Model, ModelRequest, OutputSchema, Parameters

PARAMETERS = Parameters(temperature=0.3, max_tokens=2000)
"""Default parameters of the model call."""

INSTRUCTION = "instruction"
"""The property of the reply."""

LONGEST_TEXT = 2_000


async def write_draft(
    book: DraftBook, model: Model, name: str, criterion: str, parameters: Parameters = PARAMETERS
) -> Draft:
    """A draft whose text a model wrote from the half of the records to draft on; a person reads it like any other.

    Raises:
        InputError: no pattern on the criterion, no reason to write from, or no usable reply.
        BudgetExceeded: the run's budget is spent.
    """
    rubric, pattern, reasons = await book.material(name, criterion)
    if not reasons:
        raise InputError(f"nobody gave a reason for correcting {criterion!r}, so a model has nothing to write from")
    found = render_revising(criterion_of(rubric, criterion), pattern.text, reasons)
    schema = OutputSchema("revision", object_schema({INSTRUCTION: {"type": "string"}}))
    request = ModelRequest(render_revising_system(), (Message("user", found),), schema, parameters)
    answer = await ask(model, request, _parsed, asked=model.name, retry=True)
    if answer.value is None:
        assert answer.failure is not None, "an answer has a value or a failure"
        raise InputError(f"no usable text from {model.name} ({answer.failure.kind.value}): {answer.failure.message}")
    return await book.written(name, criterion, answer.value, model.name)


def _parsed(text: str) -> str:
    answer = load_object(text)
    problems = name_problems(answer, [INSTRUCTION])
    given = answer.get(INSTRUCTION)
    if INSTRUCTION in answer and (not isinstance(given, str) or not given.strip() or len(given) > LONGEST_TEXT):
        problems.append(f"{INSTRUCTION} must be a text of 1 to {LONGEST_TEXT} characters")
    if problems:
        raise ReplyProblemsError(problems)
    return " ".join(answer[INSTRUCTION].split())
