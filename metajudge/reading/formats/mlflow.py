"""MLflow's traces with their assessments: feedback of judges as verdicts, people's as labels.

Read are the two forms that mlflow 3.17 writes (fixtures made by it are in ``tests/reading/interop/``):
``Trace.to_json()``, one trace an object, a line or an entry of a list (``{"info": {"trace_id", "assessments"},
"data": {"spans"}}``), and the frame of ``mlflow.search_traces()`` as JSONL, JSON, CSV or Parquet (columns ``trace_id,
trace, request, response, assessments, ...``).

An assessment has a name, a source (``LLM_JUDGE``, ``HUMAN``, ``CODE``) and ``feedback`` or an ``expectation``.
Feedback of a judge or of code is a verdict on the trace: a number a grade, a boolean or a word a category; one with
an error is no verdict. The judge is ``SOURCE_ID/NAME``. Feedback of people is a label of the verdicts of the same
name; one that its author replaced (``valid: false``) is left out, and so is what ``metajudge push`` wrote. An
expectation with a name such as ``expected_response`` is the item's reference, any other one a label. Input and output
of the root span are question and answer.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from metajudge.reading.containers.cells import object_in, objects_in, parsed
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.formats import scored_runs as runs
from metajudge.reading.own_notes import is_ours
from metajudge.reading.people import PersonScore

FORMAT = "MLflow traces"
_NO_JUDGES = ("", "default")
"""Ids of sources that say nothing."""
_REFERENCES = ("reference", "ground_truth", "answer", "gold_answer")


def is_trace(record: Mapping[str, Any]) -> bool:
    """Whether a record is a trace, or a row of the frame of traces."""
    info = record.get("info")
    if isinstance(info, dict):
        return "trace_id" in info and isinstance(record.get("data"), dict)
    return record.keys() >= {"trace_id", "trace", "assessments", "request", "response"}


def trace_of(row: Mapping[str, Any]) -> runs.AssessedRun:
    """A trace with its assessments.

    Raises:
        BadLine: the row contains no trace.
    """
    trace = row if "info" in row else parsed(row["trace"])
    if not isinstance(trace, dict) or not isinstance(trace.get("info"), dict):
        raise BadLine("trace: it is no trace as MLflow writes it")
    info = trace["info"]
    found: list[runs.RecordedScore] = []
    people: list[PersonScore] = []
    reference: str | None = None
    for one in info.get("assessments") or ():
        if is_ours(one.get("metadata")):
            continue
        source, expected, name = one.get("source") or {}, one.get("expectation"), str(one["assessment_name"])
        by = str(source.get("source_id") or "")
        judge, kind = None if by in _NO_JUDGES else by, source.get("source_type")
        if expected is not None and (name.startswith("expected") or name in _REFERENCES):
            value = expected.get("value", expected.get("serialized_value"))
            reference = runs.reference_text(value if isinstance(value, str) else orjson.dumps(value).decode())
            continue
        feedback, time = one.get("feedback") or expected or {}, one.get("last_update_time") or one.get("create_time")
        value = feedback.get("value")
        if kind != "HUMAN":
            error = feedback.get("error")
            score = runs.named_score(
                name,
                judge,
                value if isinstance(value, str | bool | int | float | None) else orjson.dumps(value).decode(),
                one.get("rationale"),
                id=str(one.get("assessment_id") or f"{one.get('trace_id')}/{name}"),
                meta={"source": str(kind), "judge_model": judge, "time": time, **(one.get("metadata") or {})},
                error=None if not error else str(error.get("error_message") or error.get("error_code") or error),
            )
            found.append(score)
        elif one.get("valid") is not False:
            people.append(PersonScore(name, judge, None, value, time))
    texts = runs.asked_and_answered(*_texts(trace, row))
    return runs.AssessedRun(runs.RecordedRun(id=str(info["trace_id"]), **texts, reference=reference), found, people)


def _texts(trace: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Any, Any]:
    """Input and output: of the root span, else of the frame, else the previews."""
    spans = objects_in(object_in(trace.get("data")).get("spans"))
    root = next((one for one in spans if not one.get("parent_span_id")), {})

    def text(key: str, of_span: str) -> Any:
        found = parsed((root.get("attributes") or {}).get(of_span))
        if found not in (None, ""):
            return found
        return row[key] if key in row else parsed(trace["info"].get(f"{key}_preview"))

    return text("request", "mlflow.spanInputs"), text("response", "mlflow.spanOutputs")
