"""A calibration fitted to a run's own labels, out of fold by question: what it would keep of new judgments."""

from typing import TYPE_CHECKING

import numpy as np

from metajudge.calibration.fit import out_of_fold
from metajudge.calibration.table import SignalTable, absent_from, build_table
from metajudge.errors import InputError
from metajudge.evidence.rewards import RewardScore
from metajudge.readers.rewards import find_reward_scores, read_reward_scores
from metajudge.types import VerdictKind, kind_of

from .out_of_fold_scores import OutOfFold

if TYPE_CHECKING:
    from .bench import Bench


def fit_out_of_fold(bench: "Bench", seeds: int) -> OutOfFold:
    """Fits a calibration to the labels of the judgments reported, every kind of verdict by itself.

    Args:
        bench: whose records give evidence and labels.
        seeds: divisions into folds; the probabilities are their means.
    """
    runs: list[dict[str, float]] = [{} for _ in range(seeds)]
    signals: dict[str, tuple[str, ...]] = {}
    refused: dict[str, str] = {}
    for kind in bench.observations.kinds:
        try:
            table = _table(bench, kind)
            values = [out_of_fold(table, seed=seed) for seed in range(seeds)]
        except InputError as error:
            refused[kind] = str(error)
            continue
        signals[kind] = table.signals
        for run, probabilities in zip(runs, values, strict=True):
            run.update(zip(table.judgment_ids, (float(value) for value in probabilities), strict=True))
    means = {name: float(np.mean([run[name] for run in runs])) for name in (runs[0] if runs else {})}
    return OutOfFold(means, runs, signals, refused)


def reward_scores(bench: "Bench") -> list[RewardScore] | None:
    """Scores of reward models beside the data; None without a file of them."""
    path = find_reward_scores(bench.folder)
    return None if path is None else read_reward_scores(path)


def _table(bench: "Bench", kind: VerdictKind) -> SignalTable:
    wanted = {row.judgment_id for row in bench.observations.rows if row.kind == kind}
    table = build_table(
        (one for one in bench.source.all() if one.verdict is None or kind_of(one.verdict) == kind),
        bench.request.signals,
        kind=kind,
        right=bench.rules[kind],
        report=lambda judgment: judgment.id in wanted,
        rewards=reward_scores(bench),
    )
    rows = table.select(table.labelled).sorted()
    absent = [group for group in rows.signals if bench.request.signals is None and absent_from(rows.columns, group)]
    for group in absent:  # the judges asked for may lack what others have
        rows = rows.without(group)
    return rows
