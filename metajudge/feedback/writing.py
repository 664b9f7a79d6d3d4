"""Level texts and instructions that a model writes from people's corrections and reasons, instead of a template."""

from collections.abc import Sequence

from metajudge.agents import ReplyProblemsError
from metajudge.agents.exchange import Answer, ask
from metajudge.agents.parse import load_object, name_problems
from metajudge.agents.schema import object_schema
from metajudge.errors import InputError
from metajudge.feedback.drafting import DraftBook
from metajudge.feedback.drafts import Draft, DraftKind, criterion_of
from metajudge.prompts.revising import render_revising, render_revising_system
from metajudge.providers.model import Message, Model, ModelRequest, OutputSchema, Parameters
from metajudge.rubric.model import Criterion

PARAMETERS = Parameters(temperature=0.3, max_tokens=2000)
"""Default parameters of the model call."""

LONGEST_TEXT = 2_000


async def write_draft(
    book: DraftBook, model: Model, name: str, criterion: str, kind: DraftKind, parameters: Parameters = PARAMETERS
) -> Draft:
    """A draft whose texts a model wrote from the half of the records to draft on; a person reads it like any other.

    Raises:
        InputError: no pattern on the criterion, no reason to write from, or no usable reply.
        BudgetExceeded: the run's budget is spent.
    """
    rubric, pattern, reasons = await book.material(name, criterion)
    if not reasons:
        raise InputError(f"nobody gave a reason for correcting {criterion!r}, so a model has nothing to write from")
    chosen = criterion_of(rubric, criterion)
    answer = await _asked(model, chosen, kind, pattern.describe(), reasons, parameters)
    if answer.value is None:
        assert answer.failure is not None, "an answer has a value or a failure"
        raise InputError(f"no usable text from {model.name} ({answer.failure.kind.value}): {answer.failure.message}")
    texts = answer.value
    if kind is DraftKind.LEVELS:
        return await book.written(
            name, criterion, kind, {float(point): text for point, text in texts.items()}, model.name
        )
    return await book.written(name, criterion, kind, texts["instruction"], model.name)


async def _asked(
    model: Model, criterion: Criterion, kind: DraftKind, found: str, reasons: Sequence[str], parameters: Parameters
) -> Answer[dict[str, str]]:
    levels = kind is DraftKind.LEVELS
    names = [f"{point:g}" for point in sorted(criterion.levels)] if levels else ["instruction"]
    schema = OutputSchema("revision", object_schema({name: {"type": "string"} for name in names}))
    system = render_revising_system("levels" if levels else "instruction")
    request = ModelRequest(system, (Message("user", render_revising(criterion, found, reasons)),), schema, parameters)
    return await ask(model, request, lambda text: _parsed(text, names), asked=model.name, retry=True)


def _parsed(text: str, names: Sequence[str]) -> dict[str, str]:
    answer = load_object(text)
    problems = name_problems(answer, names)
    for name in names:
        given = answer.get(name)
        if name in answer and (not isinstance(given, str) or not given.strip() or len(given) > LONGEST_TEXT):
            problems.append(f"{name} must be a text of 1 to {LONGEST_TEXT} characters")
    if problems:
        raise ReplyProblemsError(problems)
    return {name: " ".join(answer[name].split()) for name in names}
