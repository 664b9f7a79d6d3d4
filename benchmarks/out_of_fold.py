"""A calibration fitted to a run's own labels, out of fold by question: what it would keep of new judgments."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.fit import out_of_fold
from metajudge.calibration.sources import DEFAULT_SIGNALS
from metajudge.calibration.table import SignalTable, table_of
from metajudge.errors import InputError
from metajudge.evidence.rewards import RewardScore
from metajudge.readers.rewards import find_reward_scores, read_reward_scores
from metajudge.types import VERDICT_KINDS, VerdictKind

from .out_of_fold_scores import OutOfFold

if TYPE_CHECKING:
    from .bench import Bench
    from .grid_run import RowResult


def fit_out_of_fold(bench: "Bench", seeds: int, results: "Sequence[RowResult]" = ()) -> OutOfFold:
    """Fits a calibration to the labels of the judgments reported, every kind of verdict by itself.

    Args:
        results: configurations that ran; the scores of those that a grid marks as ``calibrated`` are signals, too.
        seeds: divisions into folds; the probabilities are their means.
    """
    scores = _scores(results)
    runs: list[dict[str, float]] = [{} for _ in range(seeds)]
    signals: dict[str, tuple[str, ...]] = {}
    refused: dict[str, str] = {}
    for kind in bench.observations.kinds:
        try:
            table = _table(bench, kind, scores)
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


def _scores(results: "Sequence[RowResult]") -> AgentScores | None:
    """The scores of the configurations to calibrate: one a judge, so each judgment has one assessment."""
    chosen = [one for one in results if one.row.configuration is not None and one.row.configuration.calibrated]
    assessments = [assessment for one in chosen for assessment in one.assessments.values()]
    return AgentScores.from_assessments(assessments) if assessments else None


def _table(bench: "Bench", kind: VerdictKind, scores: AgentScores | None) -> SignalTable:
    signals = bench.request.signals
    if scores is not None and signals is None:
        signals = (*DEFAULT_SIGNALS[kind], "agents")
    every, wanted = bench.records.facts, set(bench.observations.only(bench.observations.judges, kind).ids)
    facts = every.select(np.flatnonzero((every.kind < 0) | (every.kind == VERDICT_KINDS.index(kind))))
    table = table_of(
        facts,
        signals,
        kind=kind,
        right=bench.rules[kind],
        report=np.array([name in wanted for name in facts.judgment_ids], dtype=bool),
        labels=bench.records.labels,
        rewards=reward_scores(bench) if signals is None or "rewards" in signals else None,
        agent_scores=scores if signals is not None and "agents" in signals else None,
    )
    rows = table.select(table.labelled).sorted()
    return rows.without_absent()[0] if bench.request.signals is None else rows  # the judges asked for may lack some
