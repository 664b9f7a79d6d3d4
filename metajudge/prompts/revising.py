"""The prompts of a writer who revises judges' instruction about a criterion from people's corrections."""

from collections.abc import Sequence

from metajudge.prompts.templates import render
from metajudge.rubric.model import Criterion

TEMPLATES = ("revising_system", "revising")
"""The templates of revising, for :func:`metajudge.prompts.templates.prompts_digest`."""


def render_revising_system() -> str:
    """The writer's task and the form of the reply."""
    return render("revising_system")


def render_revising(criterion: Criterion, found: str, reasons: Sequence[str]) -> str:
    """The criterion as it is, the pattern in words, and people's reasons, fenced."""
    return render("revising", criterion=criterion, found=found, reasons=list(reasons))
