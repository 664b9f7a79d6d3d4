"""Langfuse's score exports: scores by evaluators, as grades of what the trace answered.

Three documented shapes are read (langfuse.com and its SDK 5.0, as of November 2026): the blob storage export
(``scores/`` joined with ``traces/`` or ``observations_v2/`` in the same folder, as JSONL, JSON, CSV or Parquet);
records of the API, as ``metajudge pull langfuse`` writes them (scores of its v3 beside observations of its v2); and a
trace with its ``scores`` as JSON, as the UI downloads it.

``EVAL`` scores (LLM as a judge) and ``API`` scores are verdicts; ``ANNOTATION`` scores, of annotation queues too, are
people's. The judge is the score's name, because the export does not name the evaluator's model. ``NUMERIC`` values are
grades, ``BOOLEAN`` and ``CATEGORICAL`` ones categories; ``TEXT`` and ``CORRECTION`` are neither.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from metajudge.reading.containers.cells import object_in, objects_in, text_in
from metajudge.reading.containers.kinds import entries_of
from metajudge.reading.containers.lines import BadLine, Source
from metajudge.reading.containers.tables import Table
from metajudge.reading.formats import scored_runs as runs
from metajudge.reading.formats.specs import Row, Spec, get
from metajudge.reading.people import PersonScore

SCORE_FOLDERS = ("scores",)
RUN_FOLDERS = ("observations_v2", "traces", "observations")
_KIND, _WORD, _TRACE = "data_type|dataType|=NUMERIC", "string_value|stringValue", "trace_id|traceId"
_TEXTS = ("TEXT", "CORRECTION")
_BOOLEANS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}


def _aliases(row: Row) -> tuple[str, ...]:
    """The trace that a root observation represents."""
    trace, parent = get(row, _TRACE), get(row, "parent_observation_id|parentObservationId")
    return (str(trace),) if trace is not None and (row.get("isRootObservation") is True or not parent) else ()


def _run(row: Row) -> str | None:
    """The trace or observation; a session or an experiment of the API's v3 has no answer."""
    subject = object_in(row.get("subject"))
    about = text_in(subject.get("id")) if subject.get("kind") in ("trace", "observation") else None
    return text_in(get(row, f"observation_id|observationId|{_TRACE}") or about)


def _value(row: Row) -> float | str | bool | None:
    """A number, a category's name, or a boolean (1 or 0 in the export); None for a person's free text.

    Raises:
        BadLine: free text, which is no grade.
    """
    kind, text, number = get(row, _KIND), get(row, _WORD), runs.number_or_text(row.get("value"))
    if kind in _TEXTS:
        if row.get("source") == "ANNOTATION":
            return None
        raise BadLine(f"data_type: a {kind} score is no grade")
    if kind == "CATEGORICAL" and text:
        return str(text)
    return _BOOLEANS.get(str(text if number is None else number).lower(), number) if kind == "BOOLEAN" else number


SPEC = Spec(
    name="Langfuse scores",
    run={
        "id": "id",
        "aliases": _aliases,
        "asked": "input",
        "answered": "output",
        "category": "trace_name|name",
        "model": "provided_model_name|model",
    },
    score={"judge": "name", "run": _run, "value": _value, "reason": "comment", "id": "id"},
    meta={"source": "source", "evaluator": "evaluator_id|evaluatorId", "string_value": _WORD, "time": "timestamp"},
    person="source=ANNOTATION",
    people={"annotator": "author_user_id|authorUserId"},
    ours="metadata",
)
FORMAT = "Langfuse trace"
run_of, score_of = SPEC.run_of, SPEC.score_of


def trace_in(source: Source, data: Row, values: Mapping[str, str]) -> runs.AssessedRuns | None:
    """Reads one trace with its scores; None for another object."""
    trace = data["trace"] if isinstance(data.get("trace"), dict) else data
    scores = data.get("scores", trace.get("scores"))
    if not isinstance(scores, list) or not trace.keys() >= {"id", "input", "output"}:
        return None

    def observed(row: Row) -> runs.RecordedRun | None:
        run = run_of(row)
        return None if run is None else replace(run, aliases=())  # a root observation is the trace, which is here

    def of_trace(row: Row) -> runs.RecordedScore | PersonScore | None:
        score = score_of(row)
        if isinstance(score, PersonScore):
            return replace(score, target=score.target or str(trace["id"]))
        return None if score is None else replace(score, run=score.run or str(trace["id"]))

    def table(rows: Any) -> Table:
        return Table("JSON list", source, lambda: iter(entries_of(rows)))

    given = [trace, *reversed(objects_in(data.get("observations") or trace.get("observations")))]
    said, missing = table(scores or trace.get("scores")), "the trace contains no observation {}"
    return runs.joined(
        FORMAT, [table(given)], observed, said, of_trace, values, shape="a Langfuse score", missing=missing
    )
