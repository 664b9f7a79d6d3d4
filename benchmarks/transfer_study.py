"""What carries over to a set, a judge, a wording or a category that was left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metajudge.calibration.folds import question_folds
from metajudge.calibration.guarantee import Guarantee, guaranteed_threshold
from metajudge.calibration.pooling import mean_probability
from metajudge.calibration.table import SignalTable
from metajudge.calibration.transfer import EVIDENCE, Prior, Transfer, matrix_of
from metajudge.calibration.transfer_fit import (
    FEW_PENALTY,
    LabelledInput,
    learn_weights,
    pool,
    seen_in,
    thinned,
)
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.clustered import clustered_proportion

from .label_free import THRESHOLD
from .transfer_figures import Compared, Interval, compare, intervals, is_above, is_below
from .transfer_inputs import TransferInput, rows_of

BASE = "base rate"
"""The constant that knows the share of right ones among the very judgments: no method without labels knows it."""

TARGETS = (0.8, 0.9)
DELTA = 0.1
PARTS = 3
"""Questions are divided: on one part is fitted, on the next a threshold is set, and the last is what it is used on."""

FROM_ITEM = 4
"""Judgments of an item that are fitted on, and that a threshold is set on."""

FEWEST_LEFT_OUT = 40
"""Judgments; smaller units are counted and not measured."""

FEWEST_QUESTIONS = 20

OWN_QUESTIONS, OWN_DRAWS = 100, 10


@dataclass(frozen=True, slots=True)
class Options:
    """Draws of questions for intervals, and the seed of everything."""

    resamples: int = 400
    seed: int = 0


def prior_without(inputs: Sequence[TransferInput], left_out: str) -> Prior:
    """The prior of all sets but one; without any other set, where it starts."""
    others = [LabelledInput(one.name, one.table) for one in inputs if one.name != left_out]
    return Prior(made="", command="", sets=(), weights=learn_weights(others))


def probabilities(transfer: Transfer, table: SignalTable) -> Floats:
    """[n] P(right); .5 where there is no evidence."""
    found, known = transfer.probabilities(table)
    return np.where(known, found, 0.5)


def measured(mine: dict[str, Floats], one: TransferInput, options: Options) -> Compared:
    """Figures of some methods beside all that needs no labels and the base rate."""
    correct = one.table.correct
    methods = mine | dict(one.rivals) | {BASE: np.full(len(correct), correct.mean())}
    return compare(methods, correct, one.table.questions, resamples=options.resamples, seed=options.seed)


def verdict_of(differences: dict[str, dict[str, Interval]]) -> str:
    """What the log loss says beside the base rate, in the words of the report."""
    against = differences[BASE]["log loss"]
    if is_below(against):
        return "better than the base rate"
    return "worse than the base rate" if is_above(against) else "no better than the base rate"


def left_out_sets(
    inputs: Sequence[TransferInput], shipped: Prior | None, options: Options, only: str | None = None
) -> Iterator[dict[str, Any]]:
    """Every set (or only one) by the prior of the others, and by the shipped default as it is."""
    for name in [only] if only else dict.fromkeys(one.name for one in inputs):
        transfer = Transfer(prior=prior_without(inputs, name))
        others = [one for one in inputs if one.name != name]
        thresholds = [(each.title, t, _set_on(each, transfer, t)) for each in others for t in TARGETS]
        for one in (each for each in inputs if each.name == name):
            found = probabilities(transfer, one.table)
            methods = {"transferred": found}
            if shipped is not None:
                methods["shipped"] = probabilities(Transfer(prior=shipped), one.table)
            compared = measured(methods, one, options)
            row = _row("set", one, name, compared)
            row["states"] = {state: _in_state(one, transfer.prior, at, options) for at, state in enumerate(EVIDENCE)}
            row["carried"] = [
                {"from": source} | _carried(found >= least, one.table, t, least) for source, t, least in thresholds
            ]
            row["own"] = _own_thresholds(found, one.table, options)
            yield row


def kept_sets(inputs: Sequence[TransferInput], options: Options, only: str) -> Iterator[dict[str, Any]]:
    """What vetting keeps of a set left out at the default threshold, by the transferred probability and the heuristic.

    Judgments with peers in an input large enough for P(right) by agreement alone; see
    :meth:`~metajudge.calibration.transfer.Normal.cut`.
    """
    weights = prior_without(inputs, only).weights["crowd"]
    for one in inputs:
        rows, _ = seen_in(one.table, 0)
        if one.name != only or not len(rows):
            continue
        some = rows_of(one, np.isin(np.arange(len(one.table)), rows))
        found = probabilities(Transfer(prior=prior_without(inputs, only)), some.table)
        cut = weights.cut(THRESHOLD)
        row: dict[str, Any] = {"set": one.name, "part": one.part, "kind": some.table.kind, "n": len(rows), "cut": cut}
        for name, kept in (("transferred", found > cut), ("heuristic", 1 + 4 * some.rivals["heuristic"] > THRESHOLD)):
            row[name] = _carried(kept, some.table, TARGETS[0], None)
        yield row


def left_out_parts(
    inputs: Sequence[TransferInput], shift: str, options: Options, only: str | None = None
) -> Iterator[dict[str, Any]]:
    """Every judge, wording or category by labels of the others of its set, pooled with the prior of other sets."""
    for name in [only] if only else dict.fromkeys(one.name for one in inputs):
        mine = [one for one in inputs if one.name == name]
        prior = prior_without(inputs, name)
        if shift == "prompt" and len(mine) > 1 and len({prompt for one in mine for prompt in one.prompts}) > 1:
            yield from _wordings_apart(inputs, mine, options)
            continue
        for one in mine:
            units = {"judge": one.models, "prompt": one.prompts, "category": one.table.categories}[shift]
            names = sorted(set(units) - {""})
            if len(names) < 2:
                why = "its data have one" if names else "its data name none"
                yield {"shift": shift, "set": name, "part": one.part, "left_out": None, "why": why}
                continue
            yield from (_unit(shift, one, unit, np.array(units) == unit, prior, options) for unit in names)


def _wordings_apart(
    inputs: Sequence[TransferInput], mine: Sequence[TransferInput], options: Options
) -> Iterator[dict[str, Any]]:
    """Wordings that were recorded as inputs of their own: the prior knows the set's other wordings."""
    for one in mine:
        known = [LabelledInput(each.title, each.table) for each in inputs if each is not one]
        transfer = Transfer(prior=Prior(made="", command="", sets=(), weights=learn_weights(known)))
        row = _row("prompt", one, one.part, measured({"transferred": probabilities(transfer, one.table)}, one, options))
        found = probabilities(transfer, one.table)
        others = [each for each in mine if each is not one]
        thresholds = [(each.title, t, _set_on(each, transfer, t)) for each in others for t in TARGETS]
        row["carried"] = [{"from": of} | _carried(found >= least, one.table, t, least) for of, t, least in thresholds]
        yield row


def _unit(shift: str, one: TransferInput, unit: str, left: Bools, prior: Prior, options: Options) -> dict[str, Any]:
    """One judge, wording or category: labels are of the other rows, and of other questions than those measured on."""
    about = {"shift": shift, "set": one.name, "part": one.part, "left_out": unit}
    questions = np.array(one.table.questions)
    if left.sum() < FEWEST_LEFT_OUT or len(set(questions[left])) < FEWEST_QUESTIONS:
        return about | {"why": f"fewer than {FEWEST_LEFT_OUT} judgments or {FEWEST_QUESTIONS} questions"}
    # A judge that is left out, or one that was asked in a wording left out, must not be known by its votes either.
    gone = set(np.array(one.table.judges)[left]) if shift != "category" else set()
    table = _silenced(one.table, gone)
    fold = question_folds(one.table.questions, PARTS, [options.seed, 1])
    found, kept = np.full(len(table), 0.5), {target: np.zeros(len(table), dtype=bool) for target in TARGETS}
    for part in range(PARTS):
        train = thinned(table.select(~left & (fold == part)), FROM_ITEM, options.seed)
        seek = thinned(table.select(~left & (fold == (part + 1) % PARTS)), FROM_ITEM, options.seed)
        test = np.flatnonzero(left & (fold == (part + 2) % PARTS))
        if not len(test) or not len(train) or not len(seek):
            continue
        transfer = pool(train, prior, seed=options.seed, penalty=FEW_PENALTY)
        found[test] = probabilities(transfer, table.select(test))
        for target in TARGETS:
            least = _least(probabilities(transfer, seek), seek, target)
            kept[target][test] = found[test] >= least
    some = rows_of(one, left)
    alone = probabilities(Transfer(prior=prior), some.table)
    row = about | _row(shift, some, unit, measured({"pooled": found[left], "transferred": alone}, some, options))
    row["carried"] = [_carried(kept[target][left], some.table, target, None) for target in TARGETS]
    return row


def _silenced(table: SignalTable, judges: set[str]) -> SignalTable:
    """A table in which some judges' votes are not seen by name."""
    gone = {f"voices.{name}" for name in judges}
    return replace(table, columns={name: one for name, one in table.columns.items() if name not in gone})


def _row(shift: str, one: TransferInput, left_out: str, compared: Compared) -> dict[str, Any]:
    about = {"shift": shift, "set": one.name, "part": one.part, "kind": one.table.kind, "left_out": left_out}
    right = round(float(one.table.correct.mean()), 5)
    return about | {"right": right, "verdict": verdict_of(compared.differences)} | compared.data()


def _least(scores: Floats, table: SignalTable, target: float) -> float:
    """A guaranteed threshold; above 1 where none is found."""
    found = guaranteed_threshold(scores, table.correct, table.questions, target=target, delta=DELTA)
    return found.threshold if isinstance(found, Guarantee) else 2.0


def _set_on(source: TransferInput, transfer: Transfer, target: float) -> float:
    """A threshold on the judgments of another input."""
    table = thinned(source.table, FROM_ITEM, 0)
    return _least(probabilities(transfer, table), table, target)


def _carried(kept: Bools, table: SignalTable, target: float, least: float | None) -> dict[str, Any]:
    """What a threshold kept where it was carried to, and whether its promise would have held."""
    row: dict[str, Any] = {"target": target, "kept": int(kept.sum()), "coverage": round(float(kept.mean()), 5)}
    if least is not None and least <= 1:
        row["threshold"] = round(least, 6)
    if not kept.any():
        return row | {"result": "nothing kept"}
    found = clustered_proportion(table.correct[kept], np.array(table.questions)[kept])
    ends = [round(found.estimate, 5), round(found.low, 5), round(found.high, 5)]
    result = "broken" if found.high < target else "below" if found.estimate < target else "held"
    return row | {"precision": ends, "questions": found.clusters, "result": result}


def _own_thresholds(scores: Floats, table: SignalTable, options: Options) -> list[dict[str, Any]]:
    """Thresholds by labels of the set itself, with the transferred probability as the score: coverage and breaches."""
    some = thinned(table, FROM_ITEM, options.seed)
    place = {name: row for row, name in enumerate(table.judgment_ids)}
    mine = scores[[place[name] for name in some.judgment_ids]]
    question = np.array(some.questions)
    names = np.unique(question)
    if len(names) < 2 * OWN_QUESTIONS:
        return []
    rows = []
    for target in TARGETS:
        coverage, broken, passed = [], 0, 0
        for draw in range(OWN_DRAWS):
            chosen = np.random.default_rng([options.seed, draw]).choice(names, OWN_QUESTIONS, replace=False)
            labelled = np.isin(question, chosen)
            least = _least(mine[labelled], some.select(labelled), target)
            kept = mine[~labelled] >= least
            coverage.append(float(kept.mean()))
            if kept.any():
                passed += 1
                broken += bool(some.correct[~labelled][kept].mean() < target)
        row = {"target": target, "questions": OWN_QUESTIONS, "draws": OWN_DRAWS, "found": passed, "broken": broken}
        rows.append(row | {"coverage": round(float(np.mean(coverage)), 4)})
    return rows


def _in_state(one: TransferInput, prior: Prior, place: int, options: Options) -> dict[str, Any] | None:
    """How the prior does in one state of the evidence, as if no more were known; None with too few rows."""
    rows, value = seen_in(one.table, place)
    if len(rows) < FEWEST_LEFT_OUT:
        return None
    mean, variance = prior.moments
    matrix = matrix_of(np.full(len(rows), place, dtype=np.intp), value)
    found = mean_probability(matrix @ mean, matrix**2 @ variance)
    some = rows_of(one, np.isin(np.arange(len(one.table)), rows))
    rivals = {name: some.rivals[name] for name in (["heuristic", "no labels"] if place == 0 else ["heuristic"])}
    if place == 2:
        rivals = {"heuristic": _own_word(some.table)}
    methods = {"transferred": found} | rivals | {BASE: np.full(len(rows), some.table.correct.mean())}
    compared = compare(
        methods, some.table.correct, some.table.questions, resamples=options.resamples, seed=options.seed
    )
    return compared.data() | {"verdict": verdict_of(compared.differences), "draws": _kept_draws(compared)}


def _own_word(table: SignalTable) -> Floats:
    """The heuristic without peers."""
    return np.asarray(1 / (1 + np.exp(-table.columns["free.own"].values)))


def _kept_draws(compared: Compared) -> dict[str, list[list[float]]]:
    """Differences of every draw, to put sets together; left out of the results."""
    first = compared.draws["transferred"]
    return {name: (first - one).tolist() for name, one in compared.draws.items() if name != "transferred"}


def over_sets(states: Sequence[tuple[str, dict[str, Any]]], rival: str) -> dict[str, Interval]:
    """The mean over sets of the difference to a rival, parts of a set together as one; draws of sets are independent.

    Args:
        states: set, and what :func:`left_out_sets` found of one of its parts in the state.
    """
    names = list(dict.fromkeys(name for name, _ in states))
    means = []
    for name in names:
        parts = [np.array(found["draws"][rival]) for each, found in states if each == name]
        means.append(np.mean(parts, axis=0))
    least = min(found["questions"] for _, found in states)
    return intervals(np.mean(means, axis=0), least)
