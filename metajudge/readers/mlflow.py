"""MLflow's traces with their assessments: feedback of judges as verdicts, people's as labels.

Read are the two forms that mlflow 3.17 writes (fixtures made by it are in ``tests/readers/interop/``):
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

from metajudge.readers.cells import object_in, objects_in, parsed
from metajudge.readers.lines import BadLine
from metajudge.readers.own_notes import is_ours
from metajudge.readers.people import PersonScore
from metajudge.readers.scored_runs import AssessedRun, RecordedRun, RecordedScore, asked_and_answered, reference_text
from metajudge.readers.stated_scores import reason_text

FORMAT = "MLflow traces"
_PEOPLE = "HUMAN"
_NO_JUDGES = ("", "default")
"""Ids of sources that say nothing."""
_REFERENCES = ("reference", "ground_truth", "answer", "gold_answer")


def is_trace(record: Mapping[str, Any]) -> bool:
    """Whether a record is a trace, or a row of the frame of traces."""
    info = record.get("info")
    if isinstance(info, dict):
        return "trace_id" in info and isinstance(record.get("data"), dict)
    return record.keys() >= {"trace_id", "trace", "assessments", "request", "response"}


def trace_of(row: Mapping[str, Any]) -> AssessedRun:
    """A trace with its assessments.

    Raises:
        BadLine: the row contains no trace.
    """
    trace = row if "info" in row else parsed(row["trace"])
    if not isinstance(trace, dict) or not isinstance(trace.get("info"), dict):
        raise BadLine("trace: it is no trace as MLflow writes it")
    info = trace["info"]
    found: list[RecordedScore] = []
    people: list[PersonScore] = []
    reference: str | None = None
    for one in info.get("assessments") or ():
        if is_ours(one.get("metadata")):
            continue
        kind = (one.get("source") or {}).get("source_type")
        expected, name = one.get("expectation"), str(one["assessment_name"])
        if expected is not None and (name.startswith("expected") or name in _REFERENCES):
            value = expected.get("value", expected.get("serialized_value"))
            reference = reference_text(value if isinstance(value, str) else orjson.dumps(value).decode())
        elif kind == _PEOPLE:
            people += [] if one.get("valid") is False else [_person(one)]
        else:
            found.append(_score(one, str(kind)))
    asked, answered = _texts(trace, row)
    run = RecordedRun(id=str(info["trace_id"]), **asked_and_answered(asked, answered), reference=reference)
    return AssessedRun(run, found, people)


def _person(one: Mapping[str, Any]) -> PersonScore:
    given = one.get("feedback") or one.get("expectation") or {}
    time = one.get("last_update_time") or one.get("create_time")
    return PersonScore(str(one["assessment_name"]), _source(one), None, given.get("value"), time)


def _score(one: Mapping[str, Any], kind: str) -> RecordedScore:
    name, by = str(one["assessment_name"]), _source(one)
    feedback = one.get("feedback") or one.get("expectation") or {}
    error = feedback.get("error")
    return RecordedScore(
        id=str(one.get("assessment_id") or f"{one.get('trace_id')}/{name}"),
        judge=name if by is None else f"{by}/{name}",
        value=_plain(feedback.get("value")),
        comment=reason_text(one.get("rationale")),
        meta={
            "source": kind,
            "judge_model": by,
            "time": one.get("last_update_time") or one.get("create_time"),
            **(one.get("metadata") or {}),
        },
        name=name,
        error=None if not error else str(error.get("error_message") or error.get("error_code") or error),
    )


def _source(one: Mapping[str, Any]) -> str | None:
    given = str((one.get("source") or {}).get("source_id") or "")
    return None if given in _NO_JUDGES else given


def _plain(value: Any) -> float | str | bool | None:
    return value if isinstance(value, str | bool | int | float | None) else orjson.dumps(value).decode()


def _texts(trace: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Any, Any]:
    """Input and output: of the root span, else of the frame, else the previews."""
    spans = objects_in(object_in(trace.get("data")).get("spans"))
    root = next((one for one in spans if not one.get("parent_span_id")), {})
    attributes = root.get("attributes") or {}
    info = trace["info"]
    found = [parsed(attributes.get(key)) for key in ("mlflow.spanInputs", "mlflow.spanOutputs")]
    for place, key in enumerate(("request", "response")):
        if found[place] in (None, ""):
            found[place] = row.get(key) if key in row else parsed(info.get(f"{key}_preview"))
    return found[0], found[1]
