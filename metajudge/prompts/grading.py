"""The prompts of a judge that grades one response from 1 to 10. The wording is ours."""

from functools import cache

from metajudge.errors import PromptError
from metajudge.prompts.templates import render
from metajudge.prompts.versions import FIRST
from metajudge.types import Item

TEMPLATES = ("grading_system", "grading", "repair")
"""The templates of grading, for :func:`metajudge.prompts.templates.prompts_digest`."""


@cache
def render_grading_system(version: int = FIRST) -> str:
    """The instruction to every grading judge: the same for all items, so that providers cache it."""
    return render("grading_system", version)


def render_grading(item: Item, response: str, *, with_reference: bool = False, version: int = FIRST) -> str:
    """The question and one of its responses.

    Args:
        with_reference: whether the judge sees the item's reference answer, where it has one.

    Raises:
        PromptError: the item has no such response.
    """
    if response not in item.responses:
        raise PromptError(f"item {item.id!r} has no response {response!r}; there are {', '.join(item.responses)}")
    return render(
        "grading",
        version,
        question=item.question,
        reference=item.reference if with_reference else None,
        response=item.responses[response],
    )
