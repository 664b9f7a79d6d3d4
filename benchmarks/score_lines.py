"""One line a decided judgment: what it was scored, whether it was kept, and by what evidence."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from metajudge.scoring.formulas import exceeds

from .observations import Observation, signal_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .bench import Bench
    from .calibrated_scores import Calibrated
    from .grid_run import RowResult
    from .out_of_fold_scores import OutOfFold


def score_lines(
    bench: "Bench", results: "Sequence[RowResult]", calibrated: "Calibrated | OutOfFold | None"
) -> Iterator[str]:
    """JSON lines in the order of the input; with several configurations, one line for each of them.

    ``final_score`` is the agents' where agents were asked, else the uncalibrated score of free evidence. ``accepted``
    is by the guaranteed threshold where ``guaranteed`` says that a guarantee covers the judgment, else by the final
    score. ``renormalised`` says that an agent gave no score and the others' weights were scaled up. What is absent is
    null.
    """
    for row in bench.observations.rows:
        mine: list[RowResult | None] = [result for result in results if result.row.judge == row.judge]
        for result in mine or [None]:
            data = _line(row, result, bench.request.threshold)
            if calibrated is not None:
                data |= _calibrated(row, calibrated)
            yield orjson.dumps(data).decode() + "\n"


def _line(row: Observation, result: "RowResult | None", threshold: float) -> dict[str, Any]:
    data: dict[str, Any] = {
        "judgment_id": row.judgment_id,
        "item_id": row.item_id,
        "judge": row.judge,
        "category": row.category or None,
        "order": row.order,
        "correct": row.correct,
        "final_score": row.heuristic,
        "probability": None,
        "accepted": None if row.heuristic is None else bool(exceeds(row.heuristic, threshold)),
        "signals": signal_data(row),
    }
    if result is not None:
        assessment = result.assessments.get(row.judgment_id)
        data["configuration"] = result.row.name
        data["final_score"] = None if assessment is None else assessment.final_score
        data["accepted"] = None if assessment is None else assessment.accepted
        data["renormalised"] = None if assessment is None else assessment.renormalised
    return data


def _calibrated(row: Observation, calibrated: "Calibrated | OutOfFold") -> dict[str, Any]:
    probability = calibrated.probabilities.get(row.judgment_id)
    data: dict[str, Any] = {
        "probability": probability,
        "probability_marks": [mark.value for mark in calibrated.marks.get(row.judgment_id, ())],
    }
    promise = calibrated.promise_of(row)
    data["guaranteed"] = promise is not None
    if promise is not None:
        data["accepted"] = None if probability is None else promise.stamp().keeps(probability)
    return data
