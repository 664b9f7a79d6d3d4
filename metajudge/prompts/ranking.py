"""The prompts of a judge that ranks responses under neutral labels.

The judge sees the question, the reference where it is given one, the criteria and the responses in the order of their
labels: nothing else is known to the renderer, so nothing else can leak. The wording is ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from metajudge.errors import PromptError
from metajudge.prompts.reply_form import MAX_ANALYSIS_WORDS
from metajudge.prompts.templates import render
from metajudge.prompts.versions import FIRST

TEMPLATES = ("ranking_system", "ranking", "repair")
"""The templates of ranking, for :func:`metajudge.prompts.templates.prompts_digest`."""


@dataclass(frozen=True, slots=True)
class ShownCriterion:
    """A criterion as a judge sees it: its key, its words, and its share of the weight in percent."""

    key: str
    text: str
    percent: int


@dataclass(frozen=True, slots=True)
class _ShownResponse:
    label: str
    text: str


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
    shown = [_ShownResponse(label, text) for label, text in responses.items()]
    return render("ranking", version, question=question, reference=reference, criteria=list(criteria), responses=shown)
