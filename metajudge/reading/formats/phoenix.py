"""Phoenix's span annotations beside their spans: annotations of models as verdicts, people's as labels.

Read are a folder with both, as arize-phoenix 20 and its client 3.5 give them (fixtures made by them are in
``tests/reading/interop/``), as JSONL, JSON, CSV or Parquet:

- annotations: ``client.spans.get_span_annotations()`` (``span_id, name, annotator_kind, identifier, result``) or the
  frame of ``get_span_annotations_dataframe()`` with its index (``span_id, annotation_name, annotator_kind,
  result.label, result.score, result.explanation``);
- spans: ``client.spans.get_spans()`` (``context.span_id``, ``attributes``) or the frame of ``get_spans_dataframe()``.

The label is the verdict, a category; where it is missing, the score is, a grade. The judge is ``IDENTIFIER/NAME``. What
``HUMAN`` annotators say is a label of the verdicts of the same name on the same span.
"""

from collections.abc import Mapping
from typing import Any

from metajudge.reading.containers.cells import cell, text_in
from metajudge.reading.formats.scored_runs import (
    RecordedRun,
    RecordedScore,
    asked_and_answered,
    named_score,
    number_or_text,
)
from metajudge.reading.own_notes import KEY, is_ours
from metajudge.reading.people import PersonScore

FORMAT = "Phoenix annotations"


def is_annotation(record: Mapping[str, Any]) -> bool:
    """Whether a record is an annotation without the texts of its span."""
    keys = record.keys()
    return bool(keys & {"name", "annotation_name"}) and (
        keys >= {"annotator_kind", "span_id"} and not keys & {"input", "output"}
    )


def is_span(record: Mapping[str, Any]) -> bool:
    """Whether a record is a span."""
    return cell(record, "context.span_id") is not None and _attribute(record, "input.value") is not None


def run_of(row: Mapping[str, Any]) -> RecordedRun | None:
    """A span as question and answer."""
    name = cell(row, "context.span_id")
    if not name:
        return None
    texts = asked_and_answered(_attribute(row, "input.value"), _attribute(row, "output.value"))
    return RecordedRun(id=str(name), **texts, model=text_in(_attribute(row, "llm.model_name")))


def score_of(row: Mapping[str, Any]) -> RecordedScore | PersonScore | None:
    """An annotation, by a model or by a person; None for what ``metajudge push`` wrote."""
    if is_ours(row.get("metadata")) or f"metadata.{KEY}" in row:
        return None
    name, run, by = str(row.get("annotation_name") or row["name"]), text_in(row.get("span_id")), row.get("identifier")
    label, score = text_in(cell(row, "result.label")), number_or_text(cell(row, "result.score"))
    by, value, time = text_in(by), score if label is None else label, row.get("updated_at") or row.get("created_at")
    if row.get("annotator_kind") == "HUMAN":
        return PersonScore(name, by or text_in(row.get("user_id")), run, value, time)
    other = score if label is not None else None
    noted = {"source": row.get("annotator_kind"), "judge_model": by, "score": other, "time": time}
    told, own = cell(row, "result.explanation"), str(row.get("id") or f"{run}/{name}/{by or ''}")
    return named_score(name, by, value, told, id=own, run=run, meta=noted)


def _attribute(row: Mapping[str, Any], name: str) -> Any:
    """An attribute of a span: a column of the frame, or in nested data."""
    nested = row.get("attributes")
    return cell(nested, name) if isinstance(nested, Mapping) else row.get(f"attributes.{name}")
