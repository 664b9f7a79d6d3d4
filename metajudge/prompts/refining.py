"""The prompt that turns notes into a rubric. The wording is ours."""

from metajudge.prompts.templates import render
from metajudge.rubric import Scale

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
