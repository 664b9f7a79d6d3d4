"""RewardBench 2 (Malik et al., 2025), best of four, as recorded passes of judges, and results of both RewardBenches.

A record of passes is one judge's choice among four candidates: ``permutation`` lists the candidate at each slot, the
judge named the slot ``parsed_letter``. The verdict is a ranking with the chosen candidate first and the other three
tied behind it, for nothing is known of their order. Candidate ``0`` is the right one. Passes of the same judge in the
same arrangement are repeats: their ids differ by the ``phase`` of the run. The texts are not in these files;
:data:`WITHHELD` stands for each. An item is a subset and its id there; ids of different subsets repeat. Scores of
reward models in ``reward_scores.jsonl`` have the same ids.

Results are read as the scripts of allenai/reward-bench write them (``eval-set-scores/ORG/MODEL.json``): one JSON object
of columns, ``{"id": [...], "subset": [...], "results": [...], "model": NAME, "model_type": KIND}``.
Version 2 adds ``num_correct`` and ``scores`` (``[[[s], [s], [s], [s]], ...]``): a row is a ranking of its candidates by
their scores, equal ones tied, and the first ``num_correct`` of them are right. Results of its judges that write say
whether the choice was right, and not what it was: such a row is no verdict that could be vetted, and is rejected.
Version 1 (Lambert et al., 2024) adds ``scores_chosen`` and ``scores_rejected``: response ``A`` is the chosen one, which
is right. Of its judges that write, ``results`` 1 is A and 0 is B; .5 is a tie or an answer that could not be read.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from metajudge.reading.containers.lines import BadLine, Line
from metajudge.reading.formats.pairs import EMPTY, list_of, shape
from metajudge.reading.formats.scored_runs import AssessedRun, RecordedRun, RecordedScore
from metajudge.types import AnyVerdict, Item, Judgment, Pairwise, Ranking

FORMAT = "RewardBench 2 passes"
RESULTS = "RewardBench 2 results"
PAIRED_RESULTS = "RewardBench results"
SLOTS = ("A", "B", "C", "D")
"""What the prompts call the candidates, by position."""

CANDIDATES = ("0", "1", "2", "3")
RIGHT = Ranking((("0",), ("1", "2", "3")))
"""The label of every item."""

WITHHELD = "(the text is not part of the recorded verdicts)"

_PASS = shape(
    "id subset row judge ordering phase permutation parsed_letter? judgement_text~",
    row=int,
    ordering=int,
    phase=(str, ""),
    permutation=(list_of(int), Field(min_length=4, max_length=4)),
)
"""One judge's choice on one item in one arrangement."""


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
    return {str(place): _score(given, f"scores.{place}") for place, given in enumerate(record["scores"])}


def _score(given: Any, where: str) -> float:
    value = given[0] if isinstance(given, list) and len(given) == 1 else given
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where} must be a number, not {given!r}")
    return float(value)


class Passes:
    """Reads rows; remembers which row of a pass an item's name stands for."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def judgments(self, line: Line) -> list[Judgment]:
        row = _PASS.model_validate(line.data)
        if sorted(row.permutation) != [0, 1, 2, 3]:
            raise BadLine(f"permutation must contain the candidates 0 to 3, not {row.permutation}")
        name, shown = item_id(row.subset, row.id), tuple(str(candidate) for candidate in row.permutation)
        if self._rows.setdefault(name, row.row) != row.row:
            name = f"{name}/{row.row}"  # another item of the same subset and id
        verdict, why, text = None, EMPTY, row.judgement_text or ""
        if row.parsed_letter in SLOTS:
            chosen = shown[SLOTS.index(row.parsed_letter)]
            verdict = Ranking(((chosen,), tuple(one for one in CANDIDATES if one != chosen)))
        elif text.strip():
            why = f"no choice among A to D could be read (recorded: {row.parsed_letter!r})"
        question, responses = f"RewardBench 2: {name}", dict.fromkeys(CANDIDATES, WITHHELD)
        judgment = Judgment(
            id="/".join(part for part in (name, row.judge, row.phase, str(row.ordering)) if part),
            item=Item(id=name, question=question, responses=responses, category=row.subset, label=RIGHT),
            judge=row.judge,
            verdict=verdict,
            no_verdict=why if verdict is None else None,
            rationale=text,
            order=shown,
            labels=SLOTS,
            meta={"dataset": "rewardbench2", "subset": row.subset, "phase": row.phase, "ordering": row.ordering},
        )
        return [judgment]


def rows_in(data: Mapping[str, Any], *, paired: bool = False) -> list[Any] | None:
    """The rows of a file of results, of version 1 where they are ``paired``; None for another object.

    They are columns of equal length, and one model.
    """
    columns = {name: one for name, one in data.items() if isinstance(one, list)}
    needed = [columns.get(name) for name in ("id", "subset", "results")]
    counts = {None if one is None else len(one) for one in needed}
    first = "text_chosen" in data and "num_correct" not in data
    if None in counts or len(counts) > 1 or not isinstance(data.get("model"), str) or first != paired:
        return None
    count, constants = len(columns["id"]), {name: data.get(name) for name in ("model", "model_type")}
    whole = {name: one for name, one in columns.items() if len(one) == count}
    return [{**{name: one[row] for name, one in whole.items()}, **constants} for row in range(count)]


_CHOICES: Final = {1.0: Pairwise("A", "B", 1), 0.0: Pairwise("B", "A", 1)}
_UNSURE: Final = "results is {}: 1 and 0 name the better one, and 0.5 is a tie or an answer that could not be read"


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
    _require_finite(scores)
    right = row.get("num_correct")
    right = right if isinstance(right, int) and 0 < right < len(scores) else 1
    levels = sorted(set(scores.values()), reverse=True)
    groups = [[one for one, given in scores.items() if given == level] for level in levels]
    return _result(row, "2", scores, Ranking((tuple(scores)[:right], tuple(scores)[right:])), groups)


def _require_finite(scores: Mapping[str, float]) -> None:
    if not all(math.isfinite(one) for one in scores.values()):
        raise BadLine("scores: a candidate's score is missing or infinite")


def pair_of(row: Mapping[str, Any]) -> AssessedRun:
    """A row of version 1 as a run with the better one of two.

    Raises:
        BadLine: a score is no finite number.
    """
    sides = {"A": "chosen", "B": "rejected"}
    if "scores_chosen" in row:
        scores = {name: _score(row[f"scores_{side}"], f"scores_{side}") for name, side in sides.items()}
        _require_finite(scores)
        first, second = scores["A"], scores["B"]
        value = _CHOICES[float(first > second)] if first != second else Pairwise("A", "B", 0)
        return _result(row, "1", scores, _CHOICES[1.0], value)
    return _result(row, "1", dict.fromkeys(sides), _CHOICES[1.0], _CHOICES.get(row["results"]))


def _result(
    row: Mapping[str, Any], version: str, scores: Mapping[str, float | None], label: AnyVerdict, value: Any
) -> AssessedRun:
    subset = str(row["subset"])
    name = item_id(subset, str(row["id"]))
    answers = dict.fromkeys(scores, WITHHELD)
    run = RecordedRun(name, f"RewardBench {version}: {name}", None, subset, answers=answers, label=label)
    given = [one for one in scores.values() if one is not None]
    score = RecordedScore(
        id=f"{name}/{row['model']}",
        judge=str(row["model"]),
        value=value,
        error=_UNSURE.format(row["results"]) if value is None else None,
        meta={
            "dataset": "rewardbench" + version.strip("1"),
            "model_type": row.get("model_type"),
            "scores": given or None,
        },
    )
    return AssessedRun(run, [score])
