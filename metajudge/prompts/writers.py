"""The prompts of models that write what others judge by: criteria, rubrics, instruction. The wording is ours.

Criteria are asked for from the request alone, so that no response can shape them.
"""

from collections.abc import Sequence
from functools import cache

from metajudge.prompts.templates import render
from metajudge.prompts.versions import FIRST
from metajudge.rubric import Criterion, Scale

CRITERIA = ("criteria_system", "criteria")
"""The templates of criteria, for :func:`metajudge.prompts.templates.prompts_digest`."""

BRIEF_WORDS = 9
"""Words of a criterion, name included, where replies are to be brief."""

_BRIEF = (
    f"Be brief: at most {BRIEF_WORDS} words in each text, name included. Write the whole object on one line, without "
    "spaces between its parts."
)


@cache
def render_criteria_system(version: int = FIRST) -> str:
    """The instruction to a model that names criteria; the same for all requests."""
    return render("criteria_system", version)


def render_criteria(request: str, version: int = FIRST, *, brief: bool = False) -> str:
    """The request, fenced.

    Args:
        brief: ask for texts so short that five criteria fit into 150 tokens.
    """
    text = render("criteria", version, request=request)
    return f"{text}\n\n{_BRIEF}" if brief else text


REFINING = ("refining_system", "refining", "repair")
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


REVISING = ("revising_system", "revising")
"""The templates of revising, for :func:`metajudge.prompts.templates.prompts_digest`."""


def render_revising_system() -> str:
    """The writer's task and the form of the reply."""
    return render("revising_system")


def render_revising(criterion: Criterion, found: str, reasons: Sequence[str]) -> str:
    """The criterion as it is, the pattern in words, and people's reasons, fenced."""
    return render("revising", criterion=criterion, found=found, reasons=list(reasons))
