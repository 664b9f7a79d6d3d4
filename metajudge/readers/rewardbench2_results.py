"""RewardBench 2: results of reward models as its own scripts write them (``eval-set-scores/ORG/MODEL.json``).

The shape is that of ``scripts/run_v2.py`` of allenai/reward-bench: one JSON object of columns, ``{"id": [...],
"subset": [...], "num_correct": [...], "scores": [[[s], [s], [s], [s]], ...], "results": [...], "model": NAME,
"model_type": KIND}``. A row is a ranking of its candidates by their scores, equal ones tied; the first ``num_correct``
of them are the right ones. Its texts are not in the file (:data:`~metajudge.readers.rewardbench2.WITHHELD`), and its
items have the ids of recorded passes.

Results of judges that write (``run_generative_v2.py``) say whether the choice was right, and not what it was: such a
row is no verdict that could be vetted, and is rejected.
"""

import math
from collections.abc import Mapping
from typing import Any

from metajudge.readers.assessed_runs import AssessedRun
from metajudge.readers.lines import BadLine
from metajudge.readers.rewardbench2 import WITHHELD, item_id, reward_scores_of
from metajudge.readers.scored_runs import RecordedRun, RecordedScore
from metajudge.types import Ranking

FORMAT = "RewardBench 2 results"
_COLUMNS = ("id", "subset", "results")


def is_columns(record: Mapping[str, Any]) -> bool:
    """Whether an object is a file of results: columns of equal length, and one model."""
    columns = [record.get(name) for name in _COLUMNS]
    lists = all(isinstance(one, list) for one in columns)
    return lists and isinstance(record.get("model"), str) and len({len(one or ()) for one in columns}) == 1


def rows_in(data: Mapping[str, Any]) -> list[Any] | None:
    """The rows of a file; None for another object."""
    if not is_columns(data):
        return None
    count = len(data["id"])
    columns = {name: one for name, one in data.items() if isinstance(one, list) and len(one) == count}
    constants = {name: data.get(name) for name in ("model", "model_type")}
    return [{**{name: one[row] for name, one in columns.items()}, **constants} for row in range(count)]


def run_of(row: Mapping[str, Any]) -> AssessedRun:
    """A row as a run with the ranking of its candidates.

    Raises:
        BadLine: there are no scores, or one is no finite number.
    """
    if not row.get("scores"):
        raise BadLine(
            "scores: results of judges that write say whether the choice was right and not what it was, so there is no "
            "verdict to vet"
        )
    scores = reward_scores_of(row)
    if len(scores) < 2:
        raise BadLine("scores: a ranking needs the scores of at least two candidates")
    if not all(math.isfinite(one) for one in scores.values()):
        raise BadLine("scores: a candidate's score is missing or infinite")
    name, subset = item_id(str(row["subset"]), str(row["id"])), str(row["subset"])
    right = row.get("num_correct")
    right = right if isinstance(right, int) and 0 < right < len(scores) else 1
    run = RecordedRun(
        id=name,
        question=f"RewardBench 2: {name}",
        answer=None,
        answers=dict.fromkeys(scores, WITHHELD),
        category=subset,
        label=Ranking((tuple(scores)[:right], tuple(scores)[right:])),
    )
    levels = sorted(set(scores.values()), reverse=True)
    score = RecordedScore(
        id=f"{name}/{row['model']}",
        judge=str(row["model"]),
        value=[[one for one, given in scores.items() if given == level] for level in levels],
        meta={"dataset": "rewardbench2", "model_type": row.get("model_type"), "scores": list(scores.values())},
    )
    return AssessedRun(run, [score])
