"""Blinding: which label hides which candidate from one judge in one evaluation, and the way back.

A judge sees responses as A0, A1, ... in an order drawn for this evaluation and this judge alone. The order depends on
the seed, the evaluation, the judge and the set of candidates, never on the order in which they were given: swapping
candidates cannot change what anybody is asked. What else is known of a candidate (model, provider, cost, latency)
never enters a prompt; names that stand in the responses themselves are hidden by :mod:`metajudge.judging.identity`.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field, model_validator

from metajudge.errors import InputError
from metajudge.types import Ranking, digest
from metajudge.types.frozen import Frozen

HIDDEN_NAME = "[name hidden]"
"""Replaces a candidate's name in a response."""

_DISTINCTIVE = re.compile(
    "openai|anthropic|mistral|mistralai|deepseek|xai|gpt|chatgpt|claude|gemini|gemma|llama|mixtral|qwen|grok|vicuna"
    "|minimax|chatglm|kimi|codestral|palmyra|dolly"
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
    distinctive = filter(_DISTINCTIVE.fullmatch, {*parts, (provider or "").lower()})
    return tuple(sorted({model, model.rpartition("/")[2], *distinctive} - {""}))


RULE = "identity-1"
"""The version of the rule; another rule hides other names."""


class HiddenName(Frozen):
    """A name that was hidden.

    Attributes:
        start, end: its place in the text as it was given, in characters; ``end`` is exclusive.
        kind: ``id`` of a candidate or its model, ``family`` of models, or their ``maker``.
        family: whose name it is; None for an id.
    """

    candidate: str
    start: int = Field(ge=0)
    end: int = Field(ge=1)
    text: str
    kind: Literal["id", "family", "maker"]
    family: str | None = None


class LeftName(Frozen):
    """A name, or a word like one, that judges could read; places as for a :class:`HiddenName`."""

    candidate: str
    start: int = Field(ge=0)
    end: int = Field(ge=1)
    text: str
    why: str


class BlindingReport(Frozen):
    """The blinding of one item.

    Attributes:
        hiding: False where it was switched off; ``left`` then lists what stood readable.
        left_unlisted: names left standing beyond those listed.
    """

    rule: str = RULE
    hiding: bool = True
    hidden: tuple[HiddenName, ...] = ()
    left: tuple[LeftName, ...] = ()
    left_unlisted: int = Field(default=0, ge=0)


_WORDS = {"id": ("id", "ids"), "family": ("model family", "model families"), "maker": ("maker", "makers")}
"""Kind of a hidden name -> what one is called, and several."""


class BlindingTotals(Frozen):
    """Blinding over a run.

    Attributes:
        unreported: items of earlier versions, which kept none.
        not_hidden: items for which hiding was switched off.
        names: hidden names, by kind in ``kinds``.
        texts: different texts (an item and a candidate) in which a name was hidden.
    """

    items: int = 0
    unreported: int = 0
    not_hidden: int = 0
    names: int = 0
    kinds: dict[str, int] = Field(default_factory=dict)
    texts: int = 0
    left: int = 0

    def sentence(self) -> str:
        """The line that is printed."""
        parts = []
        if self.not_hidden:
            parts.append(f"Identities were NOT hidden in {self.not_hidden} of {self.items} items: switched off.")
        if self.items > self.not_hidden:
            kinds = ", ".join(f"{count} {_WORDS[kind][count != 1]}" for kind, count in sorted(self.kinds.items()))
            what = f"{self.names} names hidden in {self.texts} answers ({kinds})" if self.names else "no name to hide"
            parts.append(f"Blinding: {what}.")
        if self.left:
            parts.append(f"{self.left} words that may be names were not hidden (details in the record).")
        if self.unreported:
            parts.append(f"{self.unreported} records of an earlier version have no blinding report.")
        return " ".join(parts)


def blinding_totals(reports: Iterable[BlindingReport | None]) -> BlindingTotals:
    """Sums the reports of a run; None means a record of an earlier version."""
    given = list(reports)
    known = [one for one in given if one is not None]
    kinds = Counter(name.kind for one in known for name in one.hidden)
    return BlindingTotals(
        items=len(known),
        unreported=len(given) - len(known),
        not_hidden=sum(not one.hiding for one in known),
        names=sum(kinds.values()),
        kinds=dict(sorted(kinds.items())),
        texts=sum(len({name.candidate for name in one.hidden}) for one in known),
        left=sum(len(one.left) + one.left_unlisted for one in known),
    )
