"""One line a decided judgment: what it was scored, whether it was kept, and by what evidence."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from metajudge.scoring.formulas import exceeds

from .observations import signals_at
from .precision import Probabilities

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
    seen, threshold = bench.observations, bench.request.threshold
    items, categories, orders = seen.of("item"), seen.of("category"), seen.of("order")
    for at, (name, judge) in enumerate(zip(seen.ids, seen.of("judge"), strict=True)):
        score, signals = seen.heuristic[at], signals_at(seen.records.evidence, int(seen.rows[at]))
        mine: list[RowResult | None] = [result for result in results if result.row.judge == judge]
        for result in mine or [None]:
            data: dict[str, Any] = {
                "judgment_id": name,
                "item_id": items[at],
                "judge": judge,
                "category": categories[at] or None,
                "order": orders[at],
                "correct": bool(seen.correct[at]),
                "final_score": score,
                "probability": None,
                "accepted": None if score is None else bool(exceeds(score, threshold)),
                "signals": {one: {"value": said.value, "state": said.state} for one, said in signals.items()},
            }
            if result is not None:
                assessment = result.assessments.get(name)
                data["configuration"] = result.row.name
                for field in ("final_score", "accepted", "renormalised"):
                    data[field] = None if assessment is None else getattr(assessment, field)
            if calibrated is not None:
                data |= _calibrated(calibrated, name, judge, categories[at])
            yield orjson.dumps(data).decode() + "\n"


def _calibrated(calibrated: Probabilities, name: str, judge: str, category: str) -> dict[str, Any]:
    probability, promise = calibrated.probabilities.get(name), calibrated.promise_of(name, judge, category)
    data: dict[str, Any] = {
        "probability": probability,
        "probability_marks": [mark.value for mark in calibrated.marks.get(name, ())],
        "guaranteed": promise is not None,
    }
    if promise is not None:
        data["accepted"] = None if probability is None else promise.stamp().keeps(probability)
    return data
