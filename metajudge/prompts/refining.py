"""The prompts that turn notes into a rubric, and people's corrections into an instruction. The wording is ours."""

from collections.abc import Sequence

from metajudge.prompts.templates import render
from metajudge.rubric import Scale
from metajudge.rubric.model import Criterion

TEMPLATES = ("refining_system", "refining", "repair")
"""The templates of refining, for :func:`metajudge.prompts.templates.prompts_digest`."""


def render_refining_system(scale: Scale, most_criteria: int, most_weight: int) -> str:
    """The instruction to the model, the same for all notes."""
    return render(
        "refining_system",
        scale=str(scale),
        points=", ".join(map(str, scale.points)),
        most_criteria=most_criteria,
        most_weight=most_weight,
    )


def render_refining(notes: str, scenario: str | None) -> str:
    """The notes, and what the rubric is for, fenced."""
    return render("refining", notes=notes, scenario=scenario)


def render_revising_system() -> str:
    """The writer's task and the form of the reply."""
    return render("revising_system")


def render_revising(criterion: Criterion, found: str, reasons: Sequence[str]) -> str:
    """The criterion as it is, the pattern in words, and people's reasons, fenced."""
    return render("revising", criterion=criterion, found=found, reasons=list(reasons))
