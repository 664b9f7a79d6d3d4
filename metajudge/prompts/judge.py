"""The prompts of a pairwise judge, composed from an item.

In the manner of Arena-Hard ("From Crowdsourced Data to High-Quality Benchmarks", arXiv 2406.11939): the judge works
out its own answer before it compares, and gives one of five verdicts. The wording is ours. The judge sees
the question and two responses, called A and B in the order shown; no model's name, no label, no category.
"""

from dataclasses import dataclass
from functools import cache

from metajudge.errors import PromptError
from metajudge.prompts.templates import render
from metajudge.prompts.versions import FIRST
from metajudge.types import Item

TEMPLATES = ("pairwise_system", "pairwise", "repair")
"""The templates of pairwise judging, for :func:`metajudge.prompts.templates.prompts_digest`."""

LABELS = ("A", "B")
"""What the responses are called, by position."""


@dataclass(frozen=True, slots=True)
class _ShownResponse:
    label: str
    text: str


@cache
def render_pairwise_system(version: int = FIRST) -> str:
    """The instruction to every pairwise judge: the same for all items, so that providers cache it."""
    return render("pairwise_system", version)


def render_pairwise(item: Item, order: tuple[str, str], *, with_reference: bool = False, version: int = FIRST) -> str:
    """The question and two of its responses, the first of ``order`` as response A.

    Args:
        with_reference: whether the judge sees the item's reference answer, where it has one.

    Raises:
        PromptError: an order that does not name two different responses of the item.
    """
    first, second = order
    if first == second or not {first, second} <= item.responses.keys():
        raise PromptError(
            f"item {item.id!r}: cannot compare {first!r} with {second!r}; its responses are {', '.join(item.responses)}"
        )
    shown = zip(LABELS, order, strict=True)
    return render(
        "pairwise",
        version,
        question=item.question,
        reference=item.reference if with_reference else None,
        responses=[_ShownResponse(label, item.responses[name]) for label, name in shown],
    )
