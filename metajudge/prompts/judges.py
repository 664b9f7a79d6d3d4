"""The prompts of judges of responses: of a pair, of one alone, and of many under neutral labels.

A judge sees the question, the reference where it is given one, and the responses: nothing else is known to these
functions, so nothing else can leak. The pairwise judge is in the manner of Arena-Hard (Li et al., "From Crowdsourced
Data to High-Quality Benchmarks", arXiv 2406.11939): it works out its own answer before it compares, and gives one of
five verdicts. The wording is ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from metajudge.errors import PromptError
from metajudge.prompts.reply_form import MAX_ANALYSIS_WORDS
from metajudge.prompts.templates import ShownResponse, render
from metajudge.prompts.versions import FIRST
from metajudge.types import Item

PAIRWISE = ("pairwise_system", "pairwise", "repair")
"""The templates of pairwise judging, for :func:`metajudge.prompts.templates.prompts_digest`."""

LABELS = ("A", "B")
"""What the responses are called, by position."""


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
        responses=[ShownResponse(label, item.responses[name]) for label, name in shown],
    )


GRADING = ("grading_system", "grading", "repair")
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


RANKING = ("ranking_system", "ranking", "repair")
"""The templates of ranking, for :func:`metajudge.prompts.templates.prompts_digest`."""


@dataclass(frozen=True, slots=True)
class ShownCriterion:
    """A criterion as a judge sees it: its key, its words, and its share of the weight in percent."""

    key: str
    text: str
    percent: int


def opens_with_analysis(version: int) -> bool:
    """Whether a set has ranking judges write an analysis before they score; the first two have them score first."""
    return version > FIRST + 1


@cache
def render_ranking_system(
    *, scored: bool, ties: bool = False, version: int = FIRST, analysis_words: int = MAX_ANALYSIS_WORDS
) -> str:
    """The instruction to every ranking judge: the same for all questions, so that providers cache it.

    Args:
        analysis_words: how long the analysis may be, by the prompt; the first two sets ask for none.
    """
    length = {"analysis_words": analysis_words} if opens_with_analysis(version) else {}
    return render("ranking_system", version, scored=scored, ties=ties, **length)


def render_ranking(
    question: str,
    responses: Mapping[str, str],
    criteria: Sequence[ShownCriterion] = (),
    *,
    reference: str | None = None,
    version: int = FIRST,
) -> str:
    """The question and the responses under their labels, in the order given.

    Args:
        responses: label -> text.

    Raises:
        PromptError: no response.
    """
    if not responses:
        raise PromptError("a ranking needs at least one response")
    shown = [ShownResponse(label, text) for label, text in responses.items()]
    return render("ranking", version, question=question, reference=reference, criteria=list(criteria), responses=shown)
