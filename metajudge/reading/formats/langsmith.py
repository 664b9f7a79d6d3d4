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

from metajudge.reading.containers.cells import parsed
from metajudge.reading.containers.lines import Line
from metajudge.reading.containers.tables import Table
from metajudge.reading.formats import scored_runs as runs
from metajudge.reading.mapped_items import stem_of
from metajudge.reading.own_notes import KEY, NAME, is_ours
from metajudge.reading.people import PersonScore

_FEEDBACK = "feedback."
_USERS = ("user_name", "user_id", "ls_user_id")


def is_test_results(columns: Sequence[str]) -> bool:
    prefixes = {name.split(".")[0] for name in columns if "." in name}
    return prefixes >= {"feedback", "outputs"} and bool(prefixes & {"input", "inputs"})


def run_of(row: Mapping[str, Any]) -> runs.RecordedRun | None:
    """A run; its category is its name."""
    if not row.get("id"):
        return None
    texts = runs.asked_and_answered(row.get("inputs") or None, row.get("outputs") or None)
    return runs.RecordedRun(id=str(row["id"]), **texts, category=str(row["name"]) if row.get("name") else None)


def score_of(row: Mapping[str, Any]) -> runs.RecordedScore | PersonScore | None:
    """A record of feedback, by an evaluator or by a person; None for what ``metajudge push`` wrote."""
    given = row.get("feedback_source")
    given = parsed(given) if isinstance(given, str) and given.startswith("{") else given
    flat = {name.removeprefix("feedback_source."): one for name, one in row.items() if name != "feedback_source"}
    origin = given if isinstance(given, dict) else {"type": given, **flat}
    if is_ours(origin.get("metadata")) or row.get(f"feedback_source.metadata.{KEY}"):
        return None
    value, run = _score(row), str(row["run_id"]) if row.get("run_id") else None
    if origin.get("type") == "app":  # a person
        by = next((str(one[name]) for one in (origin, flat) for name in _USERS if one.get(name)), None)
        return PersonScore(str(row["key"]), by, run, value, row.get("modified_at") or row.get("created_at"))
    return runs.RecordedScore(
        id=str(row.get("id") or f"{row['run_id']}/{row['key']}"),
        run=run,
        judge=str(row["key"]),
        value=value,
        comment=runs.comment_of(row),
        meta={
            "source": origin.get("type"),
            "value": None if row.get("value") == "" else row.get("value"),
            "time": row.get("created_at"),
        },
    )


def _score(row: Mapping[str, Any]) -> float | str | bool | None:
    """The score, else the value: a category, or data as JSON text."""
    score, value = runs.number_or_text(row.get("score")), row.get("value")
    if score is not None or value in (None, ""):
        return score
    return value if isinstance(value, str | bool) else orjson.dumps(value).decode()


def test_results(table: Table, values: Mapping[str, str]) -> runs.AssessedRuns:
    """Reads an experiment's table: a judgment for every feedback column of a row that is not empty."""

    def run_of(row: Line) -> runs.AssessedRun:
        name = str(row.data.get("id") or row.data.get("run_id") or f"{stem_of(table.source.name)}:{row.number}")
        asked = _under(row, "input.") or _under(row, "inputs.")
        texts, reference = runs.asked_and_answered(asked, _under(row, "outputs.")), _under(row, "reference.")
        feedback = {key: runs.number_or_text(one) for key, one in (_under(row, _FEEDBACK) or {}).items() if key != NAME}
        scores = [
            runs.RecordedScore(
                id=f"{name}/{key}",
                judge=key,
                value=value,
                meta={"source": "experiment"},
                about="",
                place=_FEEDBACK + key,
            )
            for key, value in feedback.items()
            if value is not None
        ]
        return runs.AssessedRun(runs.RecordedRun(id=name, **texts, reference=runs.reference_text(reference)), scores)

    return runs.AssessedRuns("LangSmith test results", table.source, table.rows, run_of, values, separate=False)


def _under(row: Line, prefix: str) -> dict[str, Any] | None:
    """The cells of columns that begin so, without the empty ones; None without any."""
    found = {name[len(prefix) :]: value for name, value in row.data.items() if name.startswith(prefix)}
    return {name: value for name, value in found.items() if value not in (None, "")} or None
