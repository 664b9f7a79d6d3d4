"""RewardBench 2 (Malik et al., 2025), best of four, as recorded passes of judges over several arrangements.

A record is one judge's choice among four candidates: ``permutation`` lists the candidate at each slot, the judge named
the slot ``parsed_letter``. The verdict is a ranking with the chosen candidate first and the other three tied behind it,
for nothing is known of their order. Candidate ``0`` is the right one. Passes of the same judge in the same arrangement
are repeats: their ids differ by the ``phase`` of the run.

The texts are not in these files; :data:`WITHHELD` stands for each. An item is a subset and its id there; ids of
different subsets repeat. Scores of reward models in ``reward_scores.jsonl`` have the same ids.

Results of reward models are read as the benchmark's own scripts write them (``eval-set-scores/ORG/MODEL.json``, of
``scripts/run_v2.py`` of allenai/reward-bench): one JSON object of columns, ``{"id": [...], "subset": [...],
"num_correct": [...], "scores": [[[s], [s], [s], [s]], ...], "results": [...], "model": NAME, "model_type": KIND}``. A
row is a ranking of its candidates by their scores, equal ones tied; the first ``num_correct`` of them are the right
ones. Results of judges that write (``run_generative_v2.py``) say whether the choice was right, and not what it was:
such a row is no verdict that could be vetted, and is rejected.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from metajudge.reading.containers.lines import BadLine, Line
from metajudge.reading.formats.pairs import BenchmarkLine
from metajudge.reading.formats.scored_runs import AssessedRun, RecordedRun, RecordedScore
from metajudge.types import Item, Judgment, Ranking

FORMAT = "RewardBench 2 passes"
RESULTS = "RewardBench 2 results"
SLOTS = ("A", "B", "C", "D")
"""What the prompts call the candidates, by position."""

CANDIDATES = ("0", "1", "2", "3")
RIGHT = Ranking((("0",), ("1", "2", "3")))
"""The label of every item."""

WITHHELD = "(the text is not part of the recorded verdicts)"


class PassRow(BenchmarkLine):
    """A line: one judge's choice on one item in one arrangement."""

    id: str
    subset: str
    row: int
    judge: str
    ordering: int
    phase: str = ""
    permutation: Annotated[list[int], Field(min_length=4, max_length=4)]
    parsed_letter: str | None
    judgement_text: str | None = None


def is_reward(record: Mapping[str, Any]) -> bool:
    """Whether a record contains a reward model's scores of a RewardBench 2 item."""
    return record.keys() >= {"id", "subset", "num_correct", "scores", "model"}


def item_id(subset: str, name: str) -> str:
    """The id of an item, in judgments and in scores of reward models alike."""
    return f"{subset}/{name}"


def reward_scores_of(record: Mapping[str, Any]) -> dict[str, float]:
    """A reward model's scores by candidate; upstream each is a list of one number.

    Raises:
        ValueError: a score is no single number.
    """
    found = {}
    for place, given in enumerate(record["scores"]):
        value = given[0] if isinstance(given, list) and len(given) == 1 else given
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"scores.{place} must be a number, not {given!r}")
        found[str(place)] = float(value)
    return found


class Passes:
    """Reads rows; remembers which row of a pass an item's name stands for."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def judgments(self, line: Line) -> list[Judgment]:
        row = PassRow.model_validate(line.data)
        if sorted(row.permutation) != [0, 1, 2, 3]:
            raise BadLine(f"permutation must contain the candidates 0 to 3, not {row.permutation}")
        name, shown = item_id(row.subset, row.id), tuple(str(candidate) for candidate in row.permutation)
        if self._rows.setdefault(name, row.row) != row.row:
            name = f"{name}/{row.row}"  # another item of the same subset and id
        verdict, why, text = None, "the judge's answer is empty", row.judgement_text or ""
        if row.parsed_letter in SLOTS:
            chosen = shown[SLOTS.index(row.parsed_letter)]
            verdict = Ranking(((chosen,), tuple(one for one in CANDIDATES if one != chosen)))
        elif text.strip():
            why = f"no choice among A to D could be read (recorded: {row.parsed_letter!r})"
        judgment = Judgment(
            id="/".join(part for part in (name, row.judge, row.phase, str(row.ordering)) if part),
            item=Item(
                id=name,
                question=f"RewardBench 2: {name}",
                responses=dict.fromkeys(CANDIDATES, WITHHELD),
                category=row.subset,
                label=RIGHT,
            ),
            judge=row.judge,
            verdict=verdict,
            no_verdict=why if verdict is None else None,
            rationale=text,
            order=shown,
            labels=SLOTS,
            meta={"dataset": "rewardbench2", "subset": row.subset, "phase": row.phase, "ordering": row.ordering},
        )
        return [judgment]


def rows_in(data: Mapping[str, Any]) -> list[Any] | None:
    """The rows of a file of results: columns of equal length, and one model; None for another object."""
    columns = {name: one for name, one in data.items() if isinstance(one, list)}
    needed = [columns.get(name) for name in ("id", "subset", "results")]
    counts = {None if one is None else len(one) for one in needed}
    if None in counts or len(counts) > 1 or not isinstance(data.get("model"), str):
        return None
    count, constants = len(columns["id"]), {name: data.get(name) for name in ("model", "model_type")}
    whole = {name: one for name, one in columns.items() if len(one) == count}
    return [{**{name: one[row] for name, one in whole.items()}, **constants} for row in range(count)]


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
