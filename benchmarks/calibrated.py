"""Applies a calibration file to the judgments of a benchmark."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.files import load_calibration, read_agent_scores
from metajudge.calibration.table import table_of
from metajudge.readers.rewards import find_reward_scores, read_reward_scores
from metajudge.types import text_digest

from .calibrated_scores import Calibrated

if TYPE_CHECKING:
    from .bench import Bench
    from .grid_run import RowResult


def load_calibrated(
    path: Path,
    bench: "Bench",
    results: "Sequence[RowResult]" = (),
    agent_scores: Path | None = None,
    allow_other_identity: bool = False,
) -> Calibrated:
    """Applies a calibration file to the judgments reported.

    Where judges were asked for by name, the calibration must be for all of them; else the judges it does not know are
    left without a probability, as long as it knows any; with ``allow_other_identity`` all have one, marked.

    Args:
        path: as ``metajudge calibrate fit`` writes it.
        results: configurations run just now, for calibrations that read agents' scores.
        allow_other_identity: whether judges, agents, rubrics or prompts may differ from the fit's.

    Raises:
        InputError: no calibration, one for something else, or a signal that the data lack.
    """
    calibration = load_calibration(path)
    seen = bench.observations
    wanted = set(seen.ids)
    known = set(calibration.identity.judges)
    chosen = bench.request.judges is not None or allow_other_identity
    if not chosen and known & set(seen.judges):
        wanted = {name for name, judge in zip(seen.ids, seen.of("judge"), strict=True) if judge in known}
    signals = bench.request.signals or calibration.identity.signals
    rewards = find_reward_scores(bench.folder)
    facts = bench.records.facts
    table = table_of(
        facts,
        signals,
        kind=calibration.kind,
        right=calibration.right,
        report=np.array([name in wanted for name in facts.judgment_ids], dtype=bool),
        labels=bench.records.labels,
        rewards=read_reward_scores(rewards) if rewards is not None and "rewards" in signals else None,
        agent_scores=_agent_scores(results, agent_scores) if "agents" in signals else None,
    )
    found = calibration.probabilities(table, allow_other_identity)
    present = ~np.ma.getmaskarray(found.probabilities)
    values = np.ma.getdata(found.probabilities)
    return Calibrated(
        calibration=calibration,
        digest=text_digest(path.read_text("utf-8")),
        probabilities={name: float(values[row]) for row, name in enumerate(table.judgment_ids) if present[row]},
        marks=dict(zip(table.judgment_ids, found.marks, strict=True)),
    )


def _agent_scores(results: "Sequence[RowResult]", path: Path | None) -> AgentScores | None:
    if path is not None:
        return read_agent_scores(path)
    assessments = [assessment for result in results for assessment in result.assessments.values()]
    return AgentScores.from_assessments(assessments) if assessments else None
