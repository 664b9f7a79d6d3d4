"""Preference sets from one judge's verdicts by different selections, and how they differ from all of its verdicts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.clustered import clustered_proportion

from .recorded import NONE, Pairs, Verdicts

RAW, KEPT, GUARANTEED = "raw", "kept", "guaranteed"
THINNED = {KEPT: "raw, as many as kept", GUARANTEED: "raw, as many as guaranteed"}
"""Selection -> the name of as many raw verdicts, drawn at random."""

TRUE = {RAW: "true labels", KEPT: "true labels, as many as kept"}
"""What the verdicts could be at best: the labels themselves, of all items with a verdict or of the thinned ones."""


def selections(verdicts: Verdicts) -> dict[str, Indices]:
    """Selection -> numbers of the items whose verdict it takes."""
    decided = verdicts.chosen != NONE
    return {
        RAW: np.flatnonzero(decided),
        KEPT: np.flatnonzero(decided & verdicts.kept),
        GUARANTEED: np.flatnonzero(decided & verdicts.guaranteed),
    }


@dataclass(frozen=True, slots=True)
class PreferenceSet:
    """What a selection is like.

    Attributes:
        wrong: share whose chosen response is the labelled worse one; with a 95 % interval by question in ``low`` and
            ``high``; None without a pair.
        difficulty: mean share of all judges' verdicts on these items that are wrong.
        longer: share whose chosen response is the longer one.
        categories: total variation distance of the categories from those of the raw set, in [0, 1].
        models: the same of the models that wrote the responses; None where the data do not name them.
    """

    judge: str
    selection: str
    pairs: int
    wrong: float | None
    low: float | None
    high: float | None
    difficulty: float | None
    longer: float | None
    categories: float | None
    models: float | None
    abstained: int = 0


def describe(pairs: Pairs, verdicts: Verdicts, selection: str, chosen: Indices, raw: Indices) -> PreferenceSet:
    """Counts of one selection.

    Args:
        chosen: numbers of the items in it.
        raw: numbers of all items with a verdict.
    """
    abstained = verdicts.abstained if selection == GUARANTEED else 0
    if not len(chosen):
        return PreferenceSet(verdicts.judge, selection, 0, None, None, None, None, None, None, None, abstained)
    wrong = verdicts.chosen[chosen] != pairs.better[chosen]
    share = clustered_proportion(wrong, pairs.question[chosen])
    return PreferenceSet(
        verdicts.judge,
        selection,
        len(chosen),
        share.estimate,
        share.low,
        share.high,
        float(pairs.difficulty[chosen].mean()),
        float(longer(pairs)[chosen, verdicts.chosen[chosen]].mean()),
        distance(_counted(pairs.categories, chosen), _counted(pairs.categories, raw)),
        _models(pairs.models, chosen, raw),
        abstained,
    )


def longer(pairs: Pairs) -> Floats:
    """[N, 2] 1 where a response is the longer one, half where both are equally long, in characters."""
    length = np.array([[len(text) for text in item.responses.values()] for item in pairs.items])
    return np.where(length > length[:, ::-1], 1.0, np.where(length == length[:, ::-1], 0.5, 0.0))


def distance(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Total variation distance of two tables of counts, in [0, 1]."""
    n, m = sum(one.values()), sum(other.values())
    return sum(abs(one.get(name, 0) / n - other.get(name, 0) / m) for name in {*one, *other}) / 2


def thinned(raw: Indices, size: int, rng: np.random.Generator) -> Indices:
    """So many of the raw verdicts, drawn without replacement."""
    return np.sort(rng.choice(raw, min(size, len(raw)), replace=False))


def within(chosen: Indices, part: Bools) -> Indices:
    """Those of a selection that are in a part of the items."""
    return chosen[part[chosen]]


def _counted(names: Sequence[str], chosen: Indices) -> Counter[str]:
    return Counter(names[at] for at in chosen)


def _models(models: Sequence[tuple[str, ...]], chosen: Indices, raw: Indices) -> float | None:
    def counted(numbers: Iterable[int]) -> Counter[str]:
        return Counter(name for at in numbers for name in models[at])

    one, other = counted(chosen), counted(raw)
    return distance(one, other) if one and other else None
