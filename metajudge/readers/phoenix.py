"""Phoenix's span annotations beside their spans: annotations of models as verdicts, people's as labels.

Read are a folder with both, as arize-phoenix 20 and its client 3.5 give them (fixtures made by them are in
``tests/readers/interop/``), as JSONL, JSON, CSV or Parquet:

- annotations: ``client.spans.get_span_annotations()`` (``span_id, name, annotator_kind, identifier, result``) or the
  frame of ``get_span_annotations_dataframe()`` with its index (``span_id, annotation_name, annotator_kind,
  result.label, result.score, result.explanation``);
- spans: ``client.spans.get_spans()`` (``context.span_id``, ``attributes``) or the frame of ``get_spans_dataframe()``.

The label is the verdict, a category; where it is missing, the score is, a grade. The judge is ``IDENTIFIER/NAME``. What
``HUMAN`` annotators say is a label of the verdicts of the same name on the same span.
"""

from collections.abc import Mapping
from typing import Any

from metajudge.readers.cells import cell, text_in
from metajudge.readers.own_notes import KEY, is_ours
from metajudge.readers.people import PersonScore
from metajudge.readers.scored_runs import RecordedRun, RecordedScore, asked_and_answered, number_or_text
from metajudge.readers.stated_scores import reason_text

FORMAT = "Phoenix annotations"
_PEOPLE = "HUMAN"


def is_annotation(record: Mapping[str, Any]) -> bool:
    """Whether a record is an annotation without the texts of its span."""
    keys = record.keys()
    named = "name" in keys or "annotation_name" in keys
    return named and keys >= {"annotator_kind", "span_id"} and not keys & {"input", "output"}


def is_span(record: Mapping[str, Any]) -> bool:
    """Whether a record is a span."""
    return cell(record, "context.span_id") is not None and _attribute(record, "input.value") is not None


def run_of(row: Mapping[str, Any]) -> RecordedRun | None:
    """A span as question and answer."""
    name = cell(row, "context.span_id")
    if not name:
        return None
    asked, answered = (_attribute(row, f"{side}.value") for side in ("input", "output"))
    return RecordedRun(
        id=str(name), **asked_and_answered(asked, answered), model=text_in(_attribute(row, "llm.model_name"))
    )


def score_of(row: Mapping[str, Any]) -> RecordedScore | PersonScore | None:
    """An annotation, by a model or by a person; None for what ``metajudge push`` wrote."""
    if is_ours(row.get("metadata")) or f"metadata.{KEY}" in row:
        return None
    name, run = str(row.get("annotation_name") or row["name"]), text_in(row.get("span_id"))
    label, score = text_in(cell(row, "result.label")), number_or_text(cell(row, "result.score"))
    by = text_in(row.get("identifier"))
    value = label if label is not None else score
    if row.get("annotator_kind") == _PEOPLE:
        time = row.get("updated_at") or row.get("created_at")
        return PersonScore(name, by or text_in(row.get("user_id")), run, value, time)
    return RecordedScore(
        id=str(row.get("id") or f"{run}/{name}/{by or ''}"),
        run=run,
        judge=name if by is None else f"{by}/{name}",
        value=value,
        comment=reason_text(cell(row, "result.explanation")),
        meta={
            "source": row.get("annotator_kind"),
            "judge_model": by,
            "score": score if label is not None else None,
            "time": row.get("updated_at") or row.get("created_at"),
        },
        name=name,
    )


def _attribute(row: Mapping[str, Any], name: str) -> Any:
    """An attribute of a span: a column of the frame, or in nested data."""
    nested = row.get("attributes")
    if isinstance(nested, Mapping):
        return cell(nested, name)
    return row.get(f"attributes.{name}")
