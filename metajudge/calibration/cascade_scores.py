"""From assessments with every agent's score to what a cascade is planned on."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from metajudge.calibration.cascade_fit import StagedScores
from metajudge.errors import InputError
from metajudge.types import AgentResult, Assessment, Judgment, text_digest

Row = list[list[AgentResult]]
"""One judgment: the results of each stage's agents."""


def staged_scores(
    judgments: Mapping[str, Judgment], assessments: Mapping[str, Assessment], stages: Sequence[tuple[str, ...]]
) -> StagedScores:
    """Labelled judgments with a score by every agent of every stage.

    Costs are dollars where each call was paid in this run and its price is known, else calls: a reply that came from
    a store cost nothing then, and would cost something again.

    Args:
        judgments: by id; all of them have a label.
        assessments: by judgment id.

    Raises:
        InputError: fewer than two stages, an agent that scored nothing, or no judgment with all scores.
    """
    if len(stages) < 2 or not all(stages):
        raise InputError("a cascade has at least two stages: give --stage twice, the cheaper agents first")
    there = {result.agent for one in assessments.values() for result in one.agents if result.score is not None}
    if missing := sorted({name for stage in stages for name in stage} - there):
        raise InputError(f"no scores by {', '.join(missing)}; there are scores by {', '.join(sorted(there)) or 'none'}")
    rows = {name: row for name in judgments if (row := _row(assessments.get(name), stages)) is not None}
    if not rows:
        raise InputError(f"none of the {len(judgments)} labelled judgments has a score by every stage")
    dollars = [_dollars(row) for row in rows.values()]
    priced = all(cost is not None and sum(cost) > 0 for cost in dollars)
    costs = dollars if priced else [_calls(row) for row in rows.values()]
    return StagedScores(
        scores=np.array([[_mean(stage) for stage in row] for row in rows.values()], dtype=float),
        correct=np.array([judgments[name].correct is True for name in rows]),
        questions=tuple(text_digest(judgments[name].item.opening) for name in rows),
        costs=np.array(costs, dtype=float),
        cost_unit="dollars" if priced else "calls",
        left_out=len(judgments) - len(rows),
    )


def _row(assessment: Assessment | None, stages: Sequence[tuple[str, ...]]) -> Row | None:
    if assessment is None:
        return None
    results = {result.agent: result for result in assessment.agents if result.score is not None}
    if not all(name in results for stage in stages for name in stage):
        return None
    return [[results[name] for name in stage] for stage in stages]


def _mean(stage: Iterable[AgentResult]) -> float:
    given = [(one.weight, one.score or 0.0) for one in stage]
    return sum(weight * score for weight, score in given) / sum(weight for weight, _ in given)


def _new(row: Row) -> Row:
    """The results that each stage adds to those before it."""
    seen, found = set[str](), []
    for stage in row:
        found.append([one for one in stage if one.agent not in seen])
        seen |= {one.agent for one in stage}
    return found


def _calls(row: Row) -> list[float]:
    return [float(sum(max(1, one.calls + one.cached_calls) for one in stage)) for stage in _new(row)]


def _dollars(row: Row) -> list[float] | None:
    costs = [[None if one.cached_calls else one.cost_usd for one in stage] for stage in _new(row)]
    if any(cost is None for stage in costs for cost in stage):
        return None
    return [sum(cost or 0.0 for cost in stage) for stage in costs]
