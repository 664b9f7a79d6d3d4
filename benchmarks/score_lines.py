"""One line a decided judgment: what it was scored, whether it was kept, and by what evidence."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from metajudge.scoring.formulas import exceeds

from .observations import Observations
from .selections import Probabilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .bench import Bench
    from .grid_run import RowResult


def score_lines(bench: "Bench", results: "Sequence[RowResult]", calibrated: Probabilities | None) -> Iterator[str]:
    """JSON lines in the order of the input; with several configurations, one line for each of them.

    ``final_score`` is the agents' where agents were asked, else the uncalibrated score of free evidence. ``accepted``
    is by the guaranteed threshold where ``guaranteed`` says that a guarantee covers the judgment, else by the final
    score. ``renormalised`` says that an agent gave no score and the others' weights were scaled up. What is absent is
    null.
    """
    seen = bench.observations
    for at, judge in enumerate(seen.of("judge")):
        mine: list[RowResult | None] = [result for result in results if result.row.judge == judge]
        for result in mine or [None]:
            data = _line(seen, at, result, bench.request.threshold)
            if calibrated is not None:
                data |= _calibrated(seen, at, calibrated)
            yield orjson.dumps(data).decode() + "\n"


def _line(seen: Observations, at: int, result: "RowResult | None", threshold: float) -> dict[str, Any]:
    name, row = seen.ids[at], int(seen.rows[at])
    score = seen.records.heuristic(row, seen.weighed)
    data: dict[str, Any] = {
        "judgment_id": name,
        "item_id": seen.of("item")[at],
        "judge": seen.of("judge")[at],
        "category": seen.of("category")[at] or None,
        "order": seen.of("order")[at],
        "correct": bool(seen.correct[at]),
        "final_score": score,
        "probability": None,
        "accepted": None if score is None else bool(exceeds(score, threshold)),
        "signals": {one: {"value": said.value, "state": said.state} for one, said in seen.records.signals(row).items()},
    }
    if result is not None:
        assessment = result.assessments.get(name)
        data["configuration"] = result.row.name
        data["final_score"] = None if assessment is None else assessment.final_score
        data["accepted"] = None if assessment is None else assessment.accepted
        data["renormalised"] = None if assessment is None else assessment.renormalised
    return data


def _calibrated(seen: Observations, at: int, calibrated: Probabilities) -> dict[str, Any]:
    name = seen.ids[at]
    probability = calibrated.probabilities.get(name)
    promise = calibrated.promise_of(name, seen.of("judge")[at], seen.of("category")[at])
    data: dict[str, Any] = {
        "probability": probability,
        "probability_marks": [mark.value for mark in calibrated.marks.get(name, ())],
        "guaranteed": promise is not None,
    }
    if promise is not None:
        data["accepted"] = None if probability is None else promise.stamp().keeps(probability)
    return data
