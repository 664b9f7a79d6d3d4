"""How labels of one's own move the prior: the learning curve beside fitting alone and the prior alone."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.quality import log_losses, precision_at
from metajudge.calibration.table import SignalTable, absent_from
from metajudge.calibration.transfer import Prior
from metajudge.calibration.transfer_fit import pool, thinned
from metajudge.errors import InputError
from metajudge.stats.arrays import Floats

from .transfer_inputs import TransferInput
from .transfer_study import FROM_ITEM, probabilities

LABELS = (0, 10, 30, 100, 300)
"""Labelled questions, each with the recorded judgments on it (at most :data:`~.transfer_study.FROM_ITEM`)."""

TESTED = 0.3
"""Share of the questions that is measured on, drawn anew for every seed."""

POOLED, ALONE, PRIOR, RATE = "pooled", "fitted alone", "prior alone", "own base rate"
WAYS = (POOLED, ALONE, PRIOR, RATE)


def learning_curve(one: TransferInput, prior: Prior, seeds: int) -> Iterator[dict[str, Any]]:
    """One row for each number of labels that the input has questions for.

    ``fitted alone`` is ``calibrate fit`` on the same labels; where it refuses (all right, or all wrong), their share of
    right ones drawn to 1/2, which is also ``own base rate``.
    """
    table = thinned(one.table, FROM_ITEM, 0)
    names = np.unique(np.array(table.questions))
    for labels in LABELS:
        if labels > (1 - TESTED) * len(names):
            continue
        runs = [_run(table, names, labels, prior, seed) for seed in range(seeds)]
        found: dict[str, Any] = {"set": one.name, "part": one.part, "kind": table.kind, "labels": labels}
        found |= {"seeds": seeds, "questions": len(names), "refused": sum(run["refused"] for run in runs)}
        for measure in ("log loss", "best 60 %"):
            found[measure] = {way: _over([run[way][measure] for run in runs]) for way in WAYS}
            less = {way: [run[POOLED][measure] - run[way][measure] for run in runs] for way in (ALONE, PRIOR)}
            found[measure] |= {f"{POOLED} less {way}": _over(values) for way, values in less.items()}
        yield found


def _run(table: SignalTable, names: Any, labels: int, prior: Prior, seed: int) -> dict[str, Any]:
    order = np.random.default_rng([seed, 7]).permutation(names)
    question = np.array(table.questions)
    test = table.select(np.isin(question, order[len(order) - round(TESTED * len(order)) :]))
    train = table.select(np.isin(question, order[:labels]))
    rate = (train.correct.sum() + 1) / (len(train) + 2)
    constant = np.full(len(test), rate)
    alone, refused = constant, not labels
    if labels:
        try:
            alone = _fitted_alone(train.without("free"), test.without("free"))
        except InputError:
            refused = True
    prior_alone = probabilities(pool(train.select(np.zeros(len(train), dtype=bool)), prior), test)
    pooled = probabilities(pool(train, prior, seed=seed), test) if labels else prior_alone
    made = dict(zip(WAYS, (pooled, alone, prior_alone, constant), strict=True))
    return {way: _measures(one, test) for way, one in made.items()} | {"refused": bool(refused)}


def _fitted_alone(train: SignalTable, test: SignalTable) -> Floats:
    for group in train.signals:
        if absent_from(train.columns, group):
            train, test = train.without(group), test.without(group)
    with threadpool_limits(limits=1):
        fitted = fit_calibration(train, pooled=True, repeats=1)
        return np.asarray(np.ma.filled(fitted.probabilities(test, True).probabilities, 0.5))


def _measures(found: Floats, test: SignalTable) -> dict[str, float]:
    return {
        "log loss": float(log_losses(found, test.correct).mean()),
        "best 60 %": 100 * precision_at(found, test.correct, 0.6),
    }


def _over(values: Sequence[float]) -> list[float]:
    """Mean, lowest and highest over seeds."""
    return [round(float(one), 5) for one in (np.mean(values), np.min(values), np.max(values))]
