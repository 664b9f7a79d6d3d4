"""Blinding: which label hides which candidate from one judge in one evaluation, and the way back.

A judge sees responses as A0, A1, ... in an order drawn for this evaluation and this judge alone. The order depends on
the seed, the evaluation, the judge and the set of candidates, never on the order in which they were given: swapping
candidates cannot change what anybody is asked. What else is known of a candidate (model, provider, cost, latency)
never enters a prompt; names that stand in the responses themselves are hidden by :func:`hide_names`.
"""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, model_validator

from metajudge.errors import InputError
from metajudge.types import Ranking, digest

HIDDEN_NAME = "[name hidden]"
"""What stands in a response where it gave a candidate's name."""

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

_SEPARATORS = re.compile(r"[\s_.:/-]+")
_SHORTEST_NAME = 3


class Blinding(BaseModel):
    """The labels of one evaluation by one judge, as stored.

    Attributes:
        seed, evaluation, judge: what the order was drawn from.
        order: candidates in the order shown; the first one is A0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

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
        candidates: different names, in any order.
        seed: of the run.
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


@dataclass(frozen=True, slots=True)
class HiddenNames:
    """A text without the names it gave away.

    Attributes:
        found: the different names that were hidden, as they stood there, sorted.
    """

    text: str
    found: tuple[str, ...] = ()


def identifying_names(model: str, provider: str | None = None) -> tuple[str, ...]:
    """By what names a model may give itself away: its id, the id without its maker, and their distinctive parts.

    Example:
        >>> identifying_names("anthropic/claude-sonnet-4-5")
        ('anthropic', 'anthropic/claude-sonnet-4-5', 'claude', 'claude-sonnet-4-5')
    """
    parts = {re.sub(r"[\d.]+$", "", part) for part in re.split(r"[\s_:/-]+", model.lower())}
    names = {model, model.rpartition("/")[2], *(parts & DISTINCTIVE)}
    if provider is not None and provider.lower() in DISTINCTIVE:
        names.add(provider.lower())
    return tuple(sorted(name for name in names if name))


def hide_names(text: str, names: Iterable[str], *, question: str = "") -> HiddenNames:
    """Replaces models' and providers' names in a response, so that "As GPT-4, I ..." does not tell who wrote it.

    A name is found whole, whatever its case and however its parts are joined (``gpt-4o-mini`` is found as
    "GPT 4o mini"), and with a version behind it ("Claude 3.5"). A name that the question itself mentions is part of
    the subject, and stays. Names of fewer than three letters and digits are left alone: they are words far more often
    than models.
    """
    patterns = [_pattern(name) for name in sorted(set(names), key=lambda name: (-len(name), name))]
    found: set[str] = set()
    for pattern in patterns:
        if pattern is None or pattern.search(question):
            continue
        found.update(match.group() for match in pattern.finditer(text))
        text = pattern.sub(HIDDEN_NAME, text)
    return HiddenNames(text, tuple(sorted(found)))


def _pattern(name: str) -> re.Pattern[str] | None:
    parts = [re.escape(part) for part in _SEPARATORS.split(name.strip()) if part]
    if sum(map(len, parts)) < _SHORTEST_NAME:
        return None
    version = r"(?:[\s_-]?v?\d+(?:\.\d+)*[a-z]?)?" if name.lower() in DISTINCTIVE else ""
    return re.compile(r"(?<![A-Za-z0-9])" + r"[\s_.:/-]*".join(parts) + version + r"(?![A-Za-z0-9])", re.IGNORECASE)
