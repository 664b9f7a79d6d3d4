"""Phoenix's span annotations beside their spans: annotations of models as verdicts, people's as labels.

Read are a folder with both, as arize-phoenix 20 and its client 3.5 give them (fixtures made by them are in
``tests/reading/interop/``), as JSONL, JSON, CSV or Parquet: annotations of ``client.spans.get_span_annotations()`` or
of the frame of ``get_span_annotations_dataframe()`` with its index, spans of ``client.spans.get_spans()`` or of the
frame of ``get_spans_dataframe()``. The label is the verdict, a category; where it is missing, the score is, a grade.
"""

from collections.abc import Callable, Mapping
from typing import Any

from metajudge.reading.containers.cells import cell, text_in
from metajudge.reading.formats.scored_runs import number_or_text
from metajudge.reading.formats.specs import Row, Spec, get

_NAME = "annotation_name|name"


def _attribute(name: str) -> Callable[[Row], Any]:
    """Reads an attribute of a span: a column of the frame, or in nested data."""

    def read(row: Row) -> Any:
        nested = row.get("attributes")
        return cell(nested, name) if isinstance(nested, Mapping) else row.get(f"attributes.{name}")

    return read


def _score(row: Row) -> float | str | None:
    return number_or_text(get(row, "result.score"))


def _id(row: Row) -> str:
    """The annotation's own id, else what it is about, its name and who gave it."""
    parts = (get(row, where) or "" for where in ("span_id", _NAME, "identifier"))
    return str(row.get("id") or "/".join(map(str, parts)))


def is_span(record: Row) -> bool:
    """Whether a record is a span."""
    return cell(record, "context.span_id") is not None and _attribute("input.value")(record) is not None


SPEC = Spec(
    name="Phoenix annotations",
    run={
        "id": "context.span_id",
        "asked": _attribute("input.value"),
        "answered": _attribute("output.value"),
        "model": _attribute("llm.model_name"),
    },
    score={
        "name": _NAME,
        "by": "identifier",
        "run": "span_id",
        "value": lambda row: text_in(get(row, "result.label")) or _score(row),
        "reason": "result.explanation",
        "id": _id,
    },
    meta={
        "source": "annotator_kind",
        "score": lambda row: _score(row) if get(row, "result.label") is not None else None,
        "time": "updated_at|created_at",
    },
    person="annotator_kind=HUMAN",
    people={"annotator": "identifier|user_id"},
    ours="metadata",
)
FORMAT, run_of, score_of = SPEC.name, SPEC.run_of, SPEC.score_of
