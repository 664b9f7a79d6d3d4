"""Rates corrected for a judge's errors: what share really passes, what a model's win rate really is."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from metajudge.audit.card import CorrectedRate, Figure
from metajudge.audit.figures import figure
from metajudge.audit.table import NOTHING
from metajudge.audit.view import View
from metajudge.stats.arrays import Floats, Indices
from metajudge.stats.association import Association, share_of
from metajudge.stats.corrected_rates import Confused, prediction_powered_mean, rogan_gladen
from metajudge.stats.interval_estimate import Estimate

MOST_MODELS = 8
"""Rates by model are given for so many, those with most verdicts."""

FEWEST_LABELS = 10
"""With fewer labels no corrected rate is given."""


@dataclass(frozen=True, slots=True)
class _Target:
    """What is estimated: [m] what the judge says and [T] what people say, in [0, 1]; NaN where neither applies."""

    of: str
    said: Floats
    truth: Floats
    scale: tuple[float, float] = (0.0, 1.0)


def rates_of(view: View) -> tuple[CorrectedRate, ...]:
    """The overall rate, and those of the models or response slots."""
    found = (_rate(view, target) for target in _targets(view))
    return tuple(one for one in found if one is not None)


def _targets(view: View) -> Iterator[_Target]:
    table = view.table
    if table.prefers:
        yield from _win_rates(view)
        return
    if not table.coding.spread:
        return
    numbers = np.concatenate((view.number, table.label_number))
    low, high = (0.0, 1.0) if table.binary else (float(np.nanmin(numbers)), float(np.nanmax(numbers)))
    if not high > low:
        return
    said, truth = (view.number - low) / (high - low), (table.label_number - low) / (high - low)
    yield _Target(table.coding.number_name, said, truth, (low, high))
    models = [one[0] for one in table.models]
    for model in _frequent([models[at] for at in view.thing]):
        mine = np.array([one == model for one in models])
        name = f"{table.coding.number_name}, {model}"
        yield _Target(name, np.where(mine[view.thing], said, np.nan), np.where(mine, truth, np.nan), (low, high))


def _win_rates(view: View) -> Iterator[_Target]:
    table = view.table
    named = any(model is not None for one in table.models for model in one)
    who = table.models if named else [table.shapes[at] for at in table.shape.tolist()]
    if not named and len(table.shapes) > 1 and len({name for one in who for name in one}) > MOST_MODELS:
        return  # ids that differ from item to item are no contestants
    if not named and len(np.unique(table.label[table.label != NOTHING])) < 2:
        return  # nor are places of which one is right by construction
    names = _frequent([name for at in view.thing for name in who[at]])
    for name in names[:1] if not named and len(names) == 2 else names:
        place = np.array([one.index(name) if one.count(name) == 1 else NOTHING for one in who], dtype=np.intp)
        yield _Target(
            f"win rate of {name}",
            _credit(view.answer, place[view.thing], table.tie),
            _credit(table.label, place, table.tie),
        )


def _credit(answer: Indices, place: Indices, tie: int) -> Floats:
    """1 where a place wins, half for a tie, 0 where it loses; NaN without an answer or the place."""
    value = np.where(answer == tie, 0.5, (answer == place).astype(np.float64))
    return np.where((answer == NOTHING) | (place == NOTHING), np.nan, value)


def _frequent(names: Iterable[str | None]) -> list[str]:
    counts = Counter(name for name in names if name is not None)
    return sorted(counts, key=lambda name: (-counts[name], name))[:MOST_MODELS]


def _rate(view: View, target: _Target) -> CorrectedRate | None:
    """Several verdicts on one thing count as their mean."""
    known = np.flatnonzero(~np.isnan(target.said))
    things, place = np.unique(view.thing[known], return_inverse=True)
    truth, question = target.truth[things], view.table.question[things]
    labelled = ~np.isnan(truth)
    n = int(labelled.sum())
    if n == 0:
        return None
    said = np.bincount(place.ravel(), weights=target.said[known]) / np.bincount(place.ravel())
    naive, low, width = share_of(said, question), target.scale[0], target.scale[1] - target.scale[0]

    def scaled(one: Figure) -> Figure:
        ends = None if one.interval is None else (low + width * one.interval[0], low + width * one.interval[1])
        return one.model_copy(update={"estimate": low + width * one.estimate, "interval": ends})

    def corrected(found: Estimate) -> Figure:
        """By the observations and questions of the naive rate."""
        ends, counts = (found.low, found.high), {"n": naive.n, "questions": naive.clusters}
        return scaled(Figure(estimate=min(1.0, max(0.0, found.estimate)), interval=ends, method=found.method, **counts))

    given = {"of": target.of, "judge": view.name, "n": len(things), "n_labelled": n}
    given["naive"] = scaled(figure(naive, "verdicts alone"))
    given["labels_only"] = scaled(figure(share_of(truth[labelled], question[labelled]), "labels alone"))
    if n < FEWEST_LABELS:
        note = f"{n} labels: at least {FEWEST_LABELS} are needed for a corrected rate"
        return CorrectedRate(**given, rogan_gladen=None, ppi=None, note=note)
    order = np.concatenate((question[labelled], question[~labelled]))
    powered = prediction_powered_mean(truth[labelled], said[labelled], said[~labelled], order)
    by_errors, note = _by_errors(truth, said, question, naive)
    return CorrectedRate(
        **given,
        rogan_gladen=None if by_errors is None else corrected(by_errors),
        ppi=corrected(powered),
        weight=powered.weight,
        note=note if n < len(things) else "every item has a label: the labels alone are the rate",
    )


def _by_errors(truth: Floats, said: Floats, question: Indices, naive: Association) -> tuple[Estimate | None, str]:
    """Rogan and Gladen's rate where labels are two sides, and why it is absent."""
    if not np.isin(truth[~np.isnan(truth)], (0.0, 1.0)).all():
        return None, "Rogan and Gladen's correction needs labels of two sides; grades and ties have none"
    yes, no = np.flatnonzero(truth == 1), np.flatnonzero(truth == 0)
    if not len(yes) or not len(no):
        return None, "all labels are on one side: the judge's errors on the other are unknown"
    hit, miss = share_of(said[yes], question[yes]), share_of(1 - said[no], question[no])
    errors = Confused(effective(hit), hit.estimate, effective(miss), miss.estimate)
    found = rogan_gladen(naive.estimate, max(1.0, effective(naive)), errors)
    tells = "sensitivity and specificity sum to little more than 1: verdicts tell the sides hardly apart"
    return found, tells if found is None else ""


def effective(found: Association) -> float:
    """Independent observations that would know a share as well, in [1, n]."""
    p = found.estimate
    if not 0 < p < 1 or found.error == 0 or not np.isfinite(found.error):
        return float(max(1.0, min(found.n, found.df + 1)))
    return float(max(1.0, min(found.n, p * (1 - p) / found.error**2)))
