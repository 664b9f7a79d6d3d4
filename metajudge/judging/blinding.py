"""Blinding: which label hides which candidate from one judge in one evaluation, and the way back.

A judge sees responses as A0, A1, ... in an order drawn for this evaluation and this judge alone. The order depends on
the seed, the evaluation, the judge and the set of candidates, never on the order in which they were given: swapping
candidates cannot change what anybody is asked. What else is known of a candidate (model, provider, cost, latency)
never enters a prompt; names that stand in the responses themselves are hidden by :mod:`metajudge.judging.identity`.
"""

import random
import re
from collections.abc import Iterable, Sequence

from pydantic import model_validator

from metajudge.errors import InputError
from metajudge.types import Ranking, digest
from metajudge.types.frozen import Frozen

HIDDEN_NAME = "[name hidden]"
"""Replaces a candidate's name in a response."""

DISTINCTIVE = frozenset(
    [
        "openai",
        "anthropic",
        "mistral",
        "mistralai",
        "deepseek",
        "xai",
        "gpt",
        "chatgpt",
        "claude",
        "gemini",
        "gemma",
        "llama",
        "mixtral",
        "qwen",
        "grok",
        "vicuna",
        "minimax",
        "chatglm",
        "kimi",
        "codestral",
        "palmyra",
        "dolly",
    ]
)
"""Parts of models' ids that are names by themselves. Others ("command", "nova", "phi", "alpaca") are words, too."""


class Blinding(Frozen):
    """The labels of one evaluation by one judge, as stored.

    Attributes:
        seed, evaluation, judge: what the order was drawn from.
        order: candidates in the order shown; the first one is A0.
    """

    seed: int
    evaluation: str
    judge: str
    order: tuple[str, ...]

    @model_validator(mode="after")
    def _check(self) -> "Blinding":
        if not self.order or len(set(self.order)) != len(self.order):
            raise ValueError("a blinding shows at least one candidate, and each once")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """What the candidates are called, in the order shown."""
        return tuple(label_of(place) for place in range(len(self.order)))

    @property
    def label_map(self) -> dict[str, str]:
        """Label -> candidate."""
        return dict(zip(self.labels, self.order, strict=True))


def label_of(place: int) -> str:
    """The neutral label of the response shown at a place, from 0."""
    return f"A{place}"


def blind(candidates: Iterable[str], *, seed: int, evaluation: str, judge: str) -> Blinding:
    """Draws the order in which a judge sees the candidates: uniform over all orders, and the same every time.

    Args:
        evaluation: names what is judged; a repeat is another evaluation.
        judge: names the judge; judges of one evaluation see different orders.

    Raises:
        InputError: no candidate, or one named twice.
    """
    order = sorted(candidates)
    if not order or len(set(order)) != len(order):
        raise InputError(f"cannot blind {', '.join(order) or 'nothing'}: name at least one candidate, and each once")
    random.Random(int(digest([seed, evaluation, judge]), 16)).shuffle(order)
    return Blinding(seed=seed, evaluation=evaluation, judge=judge, order=tuple(order))


def unblind(blinding: Blinding, ranking: Sequence[Sequence[str]]) -> Ranking:
    """A ranking of labels as a ranking of candidates: the only place where labels become candidates.

    Tied candidates are named in alphabetical order, so that nothing is left of the order shown.

    Args:
        ranking: groups of tied labels, best first; every label once.

    Raises:
        InputError: a ranking that is no permutation of the labels.
    """
    given = [label for group in ranking for label in group]
    if sorted(given) != sorted(blinding.labels) or not all(ranking):
        raise InputError(
            f"a ranking of {', '.join(blinding.labels)} names each of them once, this one is "
            f"{' > '.join(' = '.join(group) for group in ranking) or 'empty'}"
        )
    names = blinding.label_map
    return Ranking(tuple(tuple(sorted(names[label] for label in group)) for group in ranking))


def identifying_names(model: str, provider: str | None = None) -> tuple[str, ...]:
    """By what names a model may give itself away: its id, the id without its maker, and their distinctive parts.

    Example:
        >>> identifying_names("anthropic/claude-sonnet-4-5")
        ('anthropic', 'anthropic/claude-sonnet-4-5', 'claude', 'claude-sonnet-4-5')
    """
    parts = {part.rstrip("0123456789.") for part in re.split(r"[\s_:/-]+", model.lower())}
    names = {model, model.rpartition("/")[2], *(parts & DISTINCTIVE)}
    if provider is not None and provider.lower() in DISTINCTIVE:
        names.add(provider.lower())
    return tuple(sorted(name for name in names if name))
