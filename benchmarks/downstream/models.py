"""Win rates and the ranking of models by a judge's verdicts, against those by people.

The win rate of a model is the mean of its credit over the items it answered: 1 for a win, half for a tie. What people
say, the truth here, is the mean over all their votes on all items. A judge's calls are counted: a verdict in one order
is one call, vetting needs both orders and takes two; the calls of other judges whose verdicts are evidence are not
counted.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np

from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.score import signal_score
from metajudge.readers import open_judgments
from metajudge.scoring import exceeds
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.corrected_rates import prediction_powered_mean
from metajudge.types import AnyVerdict, Item, Judgment

from .recorded import THRESHOLD

CALLS = (100, 200, 400, 800, 1600)
LABELS = 100
"""Items labelled by people for the corrected rates."""

RAW, BOTH, KEPT, ASKED = "raw", "both orders", "kept", "kept, people for the others"
CORRECTED, CORRECTED_ALIKE = f"raw, corrected by {LABELS} labels", "raw, corrected by as many labels"
LABELS_ALIKE = "as many labels alone"


@dataclass(frozen=True, slots=True)
class Contests:
    """N items that one judge judged in both orders.

    Attributes:
        models: names of the models.
        first: [N] number of the model behind the first response.
        second: [N] the same of the second.
        people: [N] credit of the first response by people, in [0, 1].
        one: [N] credit by the verdict in the item's own order.
        both: [N] mean credit of both orders.
        kept: [N] whether vetting keeps the verdict in the item's own order.
    """

    models: Sequence[str]
    first: Indices
    second: Indices
    people: Floats
    one: Floats
    both: Floats
    kept: Bools

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True)
class RatesError:
    """How far the rates of one way are from people's, over random draws of items.

    Attributes:
        calls: of the judge, in one order or the other; ``raw, corrected by as many labels`` is given beside the calls
            of the way it is compared with and takes half of them.
        labels: of people, on the average.
        error: root of the mean squared difference of the models' win rates, mean over draws, in [0, 1].
        low: 2.5 % quantile over draws of the error.
        high: 97.5 % quantile.
        discordant: share of pairs of models that are ranked the other way round than by people, equal rates half.
    """

    way: str
    calls: int
    labels: float
    error: float
    low: float
    high: float
    discordant: float
    draws: int


def load_contests(folder: Path, judge: str) -> Contests:
    """Reads a judge's verdicts in both orders, and people's votes, of a set whose items name their models."""
    judgments = list(open_judgments([folder]).all())
    index = EvidenceIndex.build(judgments)
    games: dict[str, dict[bool, Judgment]] = {}
    for one in judgments:
        if one.judge == judge and one.verdict is not None and one.item.labels:
            games.setdefault(one.item.id, {}).setdefault(one.order == tuple(one.item.responses), one)
    full = {name: both for name, both in sorted(games.items()) if len(both) == 2}
    items = [both[True].item for both in full.values()]
    names = [tuple((item.models or {}).values()) for item in items]
    models = sorted({name for both in names for name in both})
    kept = [_kept(signal_score(index.signals(both[True])).value) for both in full.values()]
    own = np.array([_credit(both[True].item, both[True].verdict) for both in full.values()])
    swapped = np.array([_credit(both[False].item, both[False].verdict) for both in full.values()])
    return Contests(
        models=models,
        first=np.array([models.index(both[0]) for both in names]),
        second=np.array([models.index(both[1]) for both in names]),
        people=np.array([np.mean([_credit(item, label.value) for label in item.labels]) for item in items]),
        one=own,
        both=(own + swapped) / 2,
        kept=np.array(kept, dtype=bool),
    )


def _kept(score: float | None) -> bool:
    return score is not None and bool(exceeds(score, THRESHOLD))


def _credit(item: Item, verdict: AnyVerdict | None) -> float:
    """Of the first response."""
    winner = None if verdict is None else verdict.winner
    return 0.5 if winner is None else float(winner == next(iter(item.responses)))


def win_rates(contests: Contests, credit: Floats, rows: Indices) -> Floats:
    """[m] win rate of each model over some items; NaN for a model without any."""
    who = np.concatenate((contests.first[rows], contests.second[rows]))
    value = np.concatenate((credit[rows], 1 - credit[rows]))
    n = np.bincount(who, minlength=len(contests.models))
    with np.errstate(invalid="ignore"):
        return np.bincount(who, weights=value, minlength=len(contests.models)) / np.where(n > 0, n, np.nan)


def corrected_rates(contests: Contests, rows: Indices, labelled: Indices) -> Floats:
    """[m] rates by prediction-powered inference from verdicts on all rows and labels on some of them."""
    found = np.full(len(contests.models), np.nan)
    rest = np.setdiff1d(rows, labelled)
    for model in range(len(contests.models)):
        y, f = (_credits_of(contests, model, credit, labelled) for credit in (contests.people, contests.one))
        g = _credits_of(contests, model, contests.one, rest)
        if len(y) >= 2:
            found[model] = prediction_powered_mean(y, f, g).estimate
    return found


def _credits_of(contests: Contests, model: int, credit: Floats, rows: Indices) -> Floats:
    first, second = rows[contests.first[rows] == model], rows[contests.second[rows] == model]
    return np.concatenate((credit[first], 1 - credit[second]))


def errors(contests: Contests, seeds: int) -> list[RatesError]:
    """Every way at every number of calls, over random draws of items without replacement."""
    truth = win_rates(contests, contests.people, np.arange(len(contests)))
    everything = np.arange(len(contests))
    found = []
    for way, (price, rates) in _ways(contests).items():
        for calls in CALLS:
            size = calls // price
            if size > len(contests):
                continue
            draws = [np.random.default_rng([seed, calls]) for seed in range(seeds)]
            drawn = [rates(np.sort(rng.choice(everything, size, replace=False)), rng) for rng in draws]
            found.append(_error(way, calls if way != LABELS_ALIKE else 0, drawn, truth))
    return found


Way: TypeAlias = Callable[[Indices, np.random.Generator], tuple[Floats, int]]
"""From the items drawn to the models' win rates and the number of labels they took."""


def _ways(contests: Contests) -> dict[str, tuple[int, Way]]:
    """Way -> calls an item, and what it does. ``as many`` is as many as the discarded verdicts of these items."""

    def alike(rows: Indices, rng: np.random.Generator) -> Indices:
        return _labelled(rows, int((~contests.kept[rows]).sum()), rng)

    def corrected(rows: Indices, labelled: Indices) -> tuple[Floats, int]:
        return corrected_rates(contests, rows, labelled), len(labelled)

    def labels(labelled: Indices) -> tuple[Floats, int]:
        return win_rates(contests, contests.people, labelled), len(labelled)

    return {
        RAW: (1, lambda rows, _: (win_rates(contests, contests.one, rows), 0)),
        BOTH: (2, lambda rows, _: (win_rates(contests, contests.both, rows), 0)),
        KEPT: (2, lambda rows, _: (win_rates(contests, contests.one, rows[contests.kept[rows]]), 0)),
        ASKED: (2, lambda rows, _: _asked(contests, rows)),
        CORRECTED_ALIKE: (2, lambda rows, rng: corrected(rows, alike(rows, rng))),
        LABELS_ALIKE: (2, lambda rows, rng: labels(alike(rows, rng))),
        CORRECTED: (1, lambda rows, rng: corrected(rows, _labelled(rows, LABELS, rng))),
    }


def _asked(contests: Contests, rows: Indices) -> tuple[Floats, int]:
    credit = np.where(contests.kept, contests.one, contests.people)
    return win_rates(contests, credit, rows), int((~contests.kept[rows]).sum())


def _labelled(rows: Indices, size: int, rng: np.random.Generator) -> Indices:
    return np.sort(rng.choice(rows, min(size, len(rows)), replace=False))


def _error(way: str, calls: int, drawn: list[tuple[Floats, int]], truth: Floats) -> RatesError:
    values = np.array([math.sqrt(np.nanmean((rates - truth) ** 2)) for rates, _ in drawn])
    low, high = np.quantile(values, (0.025, 0.975))
    return RatesError(
        way=way,
        calls=calls,
        labels=float(np.mean([labels for _, labels in drawn])),
        error=float(values.mean()),
        low=float(low),
        high=float(high),
        discordant=float(np.mean([discordant(rates, truth) for rates, _ in drawn])),
        draws=len(drawn),
    )


def discordant(rates: Floats, truth: Floats) -> float:
    """Share of pairs of models that two lists of rates order differently, equal ones counted half; in [0, 1]."""
    values = []
    for one, other in combinations(range(len(rates)), 2):
        mine, theirs = np.sign(rates[one] - rates[other]), np.sign(truth[one] - truth[other])
        if not np.isnan(mine):
            values.append(0.5 if 0 in (mine, theirs) else float(mine != theirs))
    return float(np.mean(values)) if values else math.nan


def raw_calls_for(error: float, found: Sequence[RatesError]) -> float | None:
    """How many verdicts in one order have this error, by interpolation between logarithms; None if none measured has.

    Fewer than the smallest number measured are given as that number.
    """
    curve = [(math.log(one.calls), one.error) for one in found if one.way == RAW]
    if not curve or error < min(value for _, value in curve):
        return None
    for (x, y), (after, below) in pairwise(curve):
        if y <= error:
            return math.exp(x)
        if below <= error:
            return math.exp(x + (after - x) * (y - error) / (y - below))
    return math.exp(curve[-1][0])
