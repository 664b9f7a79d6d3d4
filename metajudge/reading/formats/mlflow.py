"""MLflow's traces with their assessments, and the tables of its evaluations: judges' as verdicts, people's as labels.

Read are the two forms of traces that mlflow 3.17 writes (fixtures made by it are in ``tests/reading/interop/``),
``Trace.to_json()`` and the frame of ``mlflow.search_traces()``, as JSONL, JSON, CSV or Parquet, and the rows of
``eval_results_table.json`` (``METRIC/score``, ``METRIC/justification``; also ``value`` and ``rationale``).

Feedback of a judge or of code is a verdict on the trace, with an error it is none; the judge is ``SOURCE_ID/NAME``.
Feedback of people is a label; one that its author replaced (``valid: false``) is left out. An expectation with a name
such as ``expected_response`` is the item's reference, any other one a label. A metric of a table without a
justification is a program's.
"""

import re
from collections.abc import Iterator
from typing import Any

import orjson

from metajudge.reading.containers.cells import object_in, objects_in, parsed
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.formats import scored_runs as runs
from metajudge.reading.formats.specs import ENTRY, Row, Spec, get
from metajudge.reading.own_notes import is_ours
from metajudge.types import digest

_NO_JUDGES = ("", "default")
"""Ids of sources that say nothing."""
_REFERENCES = ("reference", "ground_truth", "answer", "gold_answer")


def _is_trace(record: Row) -> bool:
    info = record.get("info")
    if isinstance(info, dict):
        return "trace_id" in info and isinstance(record.get("data"), dict)
    return record.keys() >= {"trace_id", "trace", "assessments", "request", "response"}


def _opened(row: Row) -> Row:
    """The trace, with the reference that its expectations state.

    Raises:
        BadLine: the row contains no trace.
    """
    trace = row if "info" in row else parsed(row["trace"])
    if not isinstance(trace, dict) or not isinstance(trace.get("info"), dict):
        raise BadLine("trace: it is no trace as MLflow writes it")
    stated = [one for one in _assessments(trace) if _is_reference(one)]
    expected = stated[-1]["expectation"] if stated else {}
    value = expected.get("value", expected.get("serialized_value"))
    return {**trace, "row": row, "id": str(trace["info"]["trace_id"]), "reference": _plain(value) if stated else None}


def _assessments(trace: Row) -> list[Any]:
    return [one for one in trace["info"].get("assessments") or () if not is_ours(one.get("metadata"))]


def _is_reference(one: Row) -> bool:
    name = str(one["assessment_name"])
    return one.get("expectation") is not None and (name.startswith("expected") or name in _REFERENCES)


def _each(trace: Row) -> Iterator[Row]:
    for one in _assessments(trace):
        source, name = one.get("source") or {}, one["assessment_name"]
        by, kind = str(source.get("source_id") or ""), str(source.get("source_type"))
        if _is_reference(one) or (kind == "HUMAN" and one.get("valid") is False):
            continue
        said = one.get("feedback") or one.get("expectation") or {}
        value, error = said.get("value"), said.get("error")
        yield {
            "name": name,
            "by": None if by in _NO_JUDGES else by,
            "value": value if kind == "HUMAN" else _plain(value),
            "reason": one.get("rationale"),
            "error": error and str(error.get("error_message") or error.get("error_code") or error),
            "id": one.get("assessment_id") or f"{one.get('trace_id')}/{name}",
            "kind": kind,
            "time": get(one, "last_update_time|create_time"),
            "metadata": one.get("metadata"),
        }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | bool | int | float | None) else orjson.dumps(value).decode()


def _text(key: str, of_span: str) -> Any:
    """Reads input or output: of the root span, else of the frame, else the previews."""

    def read(trace: Row) -> Any:
        spans = objects_in(object_in(trace.get("data")).get("spans"))
        root = next((one for one in spans if not one.get("parent_span_id")), {})
        found = parsed((root.get("attributes") or {}).get(of_span))
        row = trace["row"]
        return found if found not in (None, "") else row.get(key, parsed(trace["info"].get(f"{key}_preview")))

    return read


SPEC = Spec(
    name="MLflow traces",
    marks="info|trace data|trace",
    test=_is_trace,
    opened=_opened,
    run={
        "id": "id",
        "asked": _text("request", "mlflow.spanInputs"),
        "answered": _text("response", "mlflow.spanOutputs"),
        "reference": "reference",
    },
    each=_each,
    score={**ENTRY, "id": "id"},
    meta={"source": "kind", "time": "time", "": "metadata"},
    person="kind=HUMAN",
    people={"annotator": "by"},
)
_METRIC = re.compile(r"(.+)/(?:score|value|rating)")
_REASONS = ("justification", "rationale")
_ASKED = "|".join(["inputs", *runs.QUESTION_KEYS])
_ANSWERED = "|".join(["outputs", "predictions", "prediction", *runs.ANSWER_KEYS])
_REFERENCE = "ground_truth|targets|target|expected_response|expectations"


def _scores(row: Row) -> Iterator[Row]:
    """The metrics of a row; one of which nothing stands in the row has no value."""
    for column, value in row.items():
        if (named := _METRIC.fullmatch(column)) is not None:
            told = [row[end] for name in _REASONS if (end := f"{named[1]}/{name}") in row]
            given = {"name": named[1], "value": runs.number_or_text(value)}
            yield {**given, "reason": told[0]} if told else {**given, "kind": "CODE"}


def _row_id(row: Row) -> str:
    return f"mlflow/{digest([str(get(row, where)) for where in (_ASKED, _ANSWERED, _REFERENCE)])[:16]}"


TABLE = Spec(
    name="MLflow evaluation table",
    marks=_ASKED,
    test=lambda record: any(map(_METRIC.fullmatch, record)),
    run={"id": _row_id, "asked": _ASKED, "answered": _ANSWERED, "reference": _REFERENCE},
    each=_scores,
    meta={"source": "kind"},
)
