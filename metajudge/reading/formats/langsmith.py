"""LangSmith's feedback: scores by evaluators, as grades of what the run answered.

Two documented shapes are read (docs.langchain.com and the ``langsmith`` client 0.14, as of November 2026):

- records of feedback ("Feedback data format", what ``Client.list_feedback`` gives) beside the runs ("Run data format",
  what ``Client.list_runs`` or the bulk export gives) in one folder, as JSONL, JSON, CSV or Parquet;
- an experiment as a table, as ``Client.get_test_results`` gives it: columns ``input.*``, ``outputs.*``,
  ``reference.*`` and ``feedback.KEY``, written with ``to_csv``, ``to_json`` or ``to_parquet``.

Feedback from ``app`` is people's. The judge is the key: feedback does not name the evaluator's model. A score is the
grade; where it is missing, ``value`` is a category (or a grade, where ``--map-values`` says which).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from metajudge.reading.containers.lines import Line
from metajudge.reading.containers.tables import Table
from metajudge.reading.formats import scored_runs as runs
from metajudge.reading.formats.specs import Row, Spec, get
from metajudge.reading.mapped_items import stem_of
from metajudge.reading.own_notes import NAME

_USERS = "|".join(f"{at}{name}" for at in ("feedback_source.", "") for name in ("user_name", "user_id", "ls_user_id"))


def _score(row: Row) -> float | str | bool | None:
    """The score, else the value: a category, or data as JSON text."""
    score, value = runs.number_or_text(row.get("score")), row.get("value")
    if score is not None or value in (None, ""):
        return score
    return value if isinstance(value, str | bool) else orjson.dumps(value).decode()


SPEC = Spec(
    name="LangSmith feedback",
    run={
        "id": "id",
        "asked": lambda row: row.get("inputs") or None,
        "answered": lambda row: row.get("outputs") or None,
        "category": "name",
    },
    score={"judge": "key", "run": "run_id", "value": _score, "reason": "comment", "id": "id"},
    meta={"source": "feedback_source.type|feedback_source", "value": "value", "time": "created_at"},
    person="feedback_source.type|feedback_source=app",
    people={"annotator": _USERS, "time": "modified_at|created_at"},
    ours="feedback_source.metadata",
)
run_of, score_of = SPEC.run_of, SPEC.score_of


def is_test_results(columns: Sequence[str]) -> bool:
    """Whether a table is an experiment's, by its columns."""
    prefixes = {name.split(".")[0] for name in columns if "." in name}
    return prefixes >= {"feedback", "outputs"} and bool(prefixes & {"input", "inputs"})


def test_results(table: Table, values: Mapping[str, str]) -> runs.AssessedRuns:
    """Reads an experiment's table: a judgment for every feedback column of a row that is not empty."""

    def run_of(row: Line) -> runs.AssessedRun:
        name = get(row.data, "id|run_id") or f"{stem_of(table.source.name)}:{row.number}"
        asked = _under(row, "input.") or _under(row, "inputs.")
        texts, reference = runs.asked_and_answered(asked, _under(row, "outputs.")), _under(row, "reference.")
        scores = [
            runs.RecordedScore(
                id=f"{name}/{key}",
                judge=key,
                value=value,
                meta={"source": "experiment"},
                about="",
                place=f"feedback.{key}",
            )
            for key, one in (_under(row, "feedback.") or {}).items()
            if key != NAME and (value := runs.number_or_text(one)) is not None
        ]
        return runs.AssessedRun(runs.RecordedRun(str(name), **texts, reference=runs.reference_text(reference)), scores)

    return runs.AssessedRuns("LangSmith test results", table.source, table.rows, run_of, values, separate=False)


def _under(row: Line, prefix: str) -> dict[str, Any] | None:
    """The cells of columns that begin so, without the empty ones; None without any."""
    found = {name[len(prefix) :]: value for name, value in row.data.items() if name.startswith(prefix)}
    return {name: value for name, value in found.items() if value not in (None, "")} or None
