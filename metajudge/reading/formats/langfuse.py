"""Langfuse's score exports: scores by evaluators, as grades of what the trace answered.

Three documented shapes are read (langfuse.com and its SDK 5.0, as of November 2026):

- the blob storage export ("Blob storage export field reference"): ``scores/`` with ``id, trace_id, observation_id,
  name, value, source, comment, data_type, string_value, ...``, joined with ``traces/`` or ``observations_v2/`` (``id,
  input, output``) in the same folder, as JSONL, JSON, CSV or Parquet;
- records of the API, as ``metajudge pull langfuse`` writes them: scores of its v3 (``dataType``, ``subject`` with
  ``kind``, ``id`` and ``traceId``) beside observations of its v2;
- a trace as JSON, as the UI downloads it or ``GET /api/public/traces/{id}`` gives it: the trace with its ``scores``.

``EVAL`` scores (LLM as a judge) and ``API`` scores are verdicts; ``ANNOTATION`` scores are people's: labels of the
verdicts of the same name on the same trace or observation. Scores by ``metajudge push`` are neither.
The judge is the score's name, because the export does not name the evaluator's model. ``NUMERIC`` values are grades,
``BOOLEAN`` and ``CATEGORICAL`` ones categories (grades where ``--map-values`` says which); ``TEXT`` and
``CORRECTION`` are neither.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from metajudge.reading.containers.cells import object_in, objects_in, text_in
from metajudge.reading.containers.kinds import entries_of
from metajudge.reading.containers.lines import BadLine, Source
from metajudge.reading.containers.tables import Table
from metajudge.reading.formats import scored_runs as runs
from metajudge.reading.own_notes import is_ours
from metajudge.reading.people import PersonScore

FORMAT = "Langfuse trace"
SCORE_FOLDERS = ("scores",)
RUN_FOLDERS = ("observations_v2", "traces", "observations")
_TEXTS = ("TEXT", "CORRECTION")
_BOOLEANS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}


def is_score(record: Mapping[str, Any]) -> bool:
    return record.keys() >= {"name", "value", "source"} and bool(record.keys() & {"trace_id", "traceId", "subject"})


def is_run(record: Mapping[str, Any]) -> bool:
    placed = record.keys() & {"project_id", "projectId", "trace_id", "traceId", "timestamp"}
    return record.keys() >= {"id", "input", "output"} and bool(placed)


def is_trace(data: Mapping[str, Any]) -> bool:
    trace = data.get("trace") if isinstance(data.get("trace"), dict) else data
    scores = data.get("scores", trace.get("scores") if isinstance(trace, dict) else None)
    return isinstance(scores, list) and isinstance(trace, dict) and trace.keys() >= {"id", "input", "output"}


def run_of(row: Mapping[str, Any]) -> runs.RecordedRun | None:
    """A trace, or an observation; a root observation represents its trace."""
    if not row.get("id"):
        return None
    trace = runs.pick(row, "trace_id", "traceId")
    top = row.get("isRootObservation") is True or not runs.pick(row, "parent_observation_id", "parentObservationId")
    return runs.RecordedRun(
        id=str(row["id"]),
        aliases=(str(trace),) if trace is not None and top else (),
        **runs.asked_and_answered(runs.pick(row, "input"), runs.pick(row, "output")),
        category=text_in(runs.pick(row, "trace_name", "name")),
        model=text_in(runs.pick(row, "provided_model_name", "model")),
    )


def score_of(row: Mapping[str, Any]) -> runs.RecordedScore | PersonScore | None:
    """A score, by an evaluator or by a person; None for what ``metajudge push`` wrote.

    Raises:
        BadLine: free text, which is no grade.
    """
    if is_ours(row.get("metadata")):
        return None
    kind, text = runs.pick(row, "data_type", "dataType") or "NUMERIC", runs.pick(row, "string_value", "stringValue")
    subject = object_in(row.get("subject"))  # of the API's v3; a session or an experiment has no answer
    about = text_in(subject.get("id")) if subject.get("kind") in ("trace", "observation") else None
    run = text_in(runs.pick(row, "observation_id", "observationId", "trace_id", "traceId") or about)
    if row.get("source") == "ANNOTATION":
        author = text_in(runs.pick(row, "author_user_id", "authorUserId"))
        value = None if kind in _TEXTS else _value(kind, row.get("value"), text)
        return PersonScore(str(row["name"]), author, run, value, row.get("timestamp"))
    if kind in _TEXTS:
        raise BadLine(f"data_type: a {kind} score is no grade")
    return runs.RecordedScore(
        id=str(row.get("id") or f"{run}/{row['name']}"),
        run=run,
        judge=str(row["name"]),
        value=_value(kind, row.get("value"), text),
        comment=runs.comment_of(row),
        meta={
            "source": row.get("source"),
            "evaluator": runs.pick(row, "evaluator_id", "evaluatorId"),
            "string_value": text,
            "time": row.get("timestamp"),
        },
    )


def _value(kind: str, value: Any, text: Any) -> float | str | bool | None:
    """A number, a category's name, or a boolean (1 or 0 in the export)."""
    if kind == "CATEGORICAL" and text:
        return str(text)
    number = runs.number_or_text(value)
    return _BOOLEANS.get(str(text if number is None else number).lower(), number) if kind == "BOOLEAN" else number


def langfuse_trace(source: Source, data: Mapping[str, Any], values: Mapping[str, str]) -> runs.AssessedRuns:
    """Reads one trace with its scores.

    Args:
        source: the file.
        data: what it contains.
        values: category -> grade, as the user says.
    """
    trace = data["trace"] if isinstance(data.get("trace"), dict) else data
    texts = runs.asked_and_answered(trace.get("input"), trace.get("output"))
    whole = runs.RecordedRun(id=str(trace["id"]), **texts, category=text_in(trace.get("name")))

    def of_trace(row: Mapping[str, Any]) -> runs.RecordedScore | PersonScore | None:
        score = score_of(row)
        if isinstance(score, PersonScore):
            return replace(score, target=score.target or whole.id)
        return None if score is None else replace(score, run=score.run or whole.id)

    def observed(row: Mapping[str, Any]) -> runs.RecordedRun | None:
        run = whole if row is trace else run_of(row)
        return None if run is None else replace(run, aliases=())  # a root observation is the trace, which is here

    def table(rows: Any) -> Table:
        return Table("JSON list", source, lambda: iter(entries_of(rows)))

    given = [trace, *reversed(objects_in(data.get("observations") or trace.get("observations")))]
    scores, missing = table(data.get("scores") or trace.get("scores")), "the trace contains no observation {}"
    return runs.joined(
        FORMAT, [table(given)], observed, scores, of_trace, values, shape="a Langfuse score", missing=missing
    )
