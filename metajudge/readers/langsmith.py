"""LangSmith's feedback: scores by evaluators, as grades of what the run answered.

Two documented shapes are read (docs.langchain.com and the ``langsmith`` client 0.14, as of November 2026):

- records of feedback ("Feedback data format": ``id, run_id, key, score, value, comment, feedback_source``, what
  ``Client.list_feedback`` gives) beside the runs ("Run data format": ``id, inputs, outputs``, what
  ``Client.list_runs`` or the bulk export gives) in one folder, as JSONL, JSON, CSV or Parquet;
- an experiment as a table, as ``Client.get_test_results`` gives it: columns ``input.*``, ``outputs.*``,
  ``reference.*`` and ``feedback.KEY``, written with ``to_csv``, ``to_json`` or ``to_parquet``.

Feedback from ``app`` is people's: labels of the verdicts of the same key on the same run. The judge is the key:
feedback does not name the evaluator's model. A score is the grade; where it is missing, ``value`` is a category (or a
grade, where ``--map-values`` says which). Feedback by ``metajudge push`` is neither.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from metajudge.readers.cells import parsed
from metajudge.readers.conversations import text_of
from metajudge.readers.lines import Line
from metajudge.readers.mapped import stem_of
from metajudge.readers.own_notes import KEY, NAME, is_ours
from metajudge.readers.people import PersonScore
from metajudge.readers.scored_runs import (
    AssessedRun,
    AssessedRuns,
    RecordedRun,
    RecordedScore,
    asked_and_answered,
    number_or_text,
    reference_text,
)
from metajudge.readers.tables import Table

_PEOPLE = "app"
_FEEDBACK = "feedback."
_OURS = f"{_FEEDBACK}{NAME}"


def is_test_results(columns: Sequence[str]) -> bool:
    prefixes = {name.split(".")[0] for name in columns if "." in name}
    return "feedback" in prefixes and "outputs" in prefixes and bool(prefixes & {"input", "inputs"})


def run_of(row: Mapping[str, Any]) -> RecordedRun | None:
    """A run; its category is its name."""
    if not row.get("id"):
        return None
    return RecordedRun(
        id=str(row["id"]),
        **asked_and_answered(row.get("inputs") or None, row.get("outputs") or None),
        category=str(row["name"]) if row.get("name") else None,
    )


def score_of(row: Mapping[str, Any]) -> RecordedScore | PersonScore | None:
    """A record of feedback, by an evaluator or by a person; None for what ``metajudge push`` wrote."""
    origin = row.get("feedback_source")
    if isinstance(origin, str) and origin.startswith("{"):
        origin = parsed(origin)
    said = origin.get("metadata") if isinstance(origin, dict) else row.get("feedback_source.metadata")
    if is_ours(said) or row.get(f"feedback_source.metadata.{KEY}"):
        return None
    kind = origin.get("type") if isinstance(origin, dict) else row.get("feedback_source.type", origin)
    if kind == _PEOPLE:
        names = ("user_name", "user_id", "ls_user_id")
        given = [origin.get(name) for name in names] if isinstance(origin, dict) else []
        given += [row.get(f"feedback_source.{name}") for name in names]
        return PersonScore(
            str(row["key"]),
            next((str(one) for one in given if one), None),
            str(row["run_id"]) if row.get("run_id") else None,
            _score(row),
            row.get("modified_at") or row.get("created_at"),
        )
    score, value = _score(row), row.get("value")
    return RecordedScore(
        id=str(row.get("id") or f"{row['run_id']}/{row['key']}"),
        run=str(row["run_id"]) if row.get("run_id") else None,
        judge=str(row["key"]),
        value=score,
        comment=text_of(row["comment"]) if row.get("comment") else None,
        meta={"source": kind, "value": value if value != "" else None, "time": row.get("created_at")},
    )


def _score(row: Mapping[str, Any]) -> float | str | bool | None:
    """The score, else the value: a category, or data as JSON text."""
    score, value = number_or_text(row.get("score")), row.get("value")
    if score is not None or value in (None, ""):
        return score
    return value if isinstance(value, str | bool) else orjson.dumps(value).decode()


def test_results(table: Table, values: Mapping[str, str]) -> AssessedRuns:
    """Reads an experiment's table: a judgment for every feedback column of a row that is not empty."""

    def run_of(row: Line) -> AssessedRun:
        name = str(row.data.get("id") or row.data.get("run_id") or f"{stem_of(table.source.name)}:{row.number}")
        run = RecordedRun(
            id=name,
            **asked_and_answered(
                _under(row, "input.") or _under(row, "inputs.") or None, _under(row, "outputs.") or None
            ),
            reference=reference_text(_under(row, "reference.") or None),
        )
        scores = []
        for column in row.data:
            value = number_or_text(row.data[column]) if column.startswith(_FEEDBACK) and column != _OURS else None
            if value is not None:
                key, meta = column.removeprefix(_FEEDBACK), {"source": "experiment"}
                named = RecordedScore(id=f"{name}/{key}", judge=key, value=value, meta=meta, about="", place=column)
                scores.append(named)
        return AssessedRun(run, scores)

    return AssessedRuns("LangSmith test results", table.source, table.rows, run_of, values, separate=False)


def _under(row: Line, prefix: str) -> dict[str, Any]:
    found = {name[len(prefix) :]: value for name, value in row.data.items() if name.startswith(prefix)}
    return {name: value for name, value in found.items() if value not in (None, "")}
