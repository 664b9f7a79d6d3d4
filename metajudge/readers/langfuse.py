"""Langfuse's score exports: scores by evaluators, as grades of what the trace answered.

Two documented shapes are read (langfuse.com, as of October 2026):

- the blob storage export ("Blob storage export field reference"): ``scores/`` with ``id, trace_id, observation_id,
  name, value, source, comment, data_type, string_value, ...``, joined with ``traces/`` or ``observations_v2/`` (``id,
  input, output``) in the same folder, as JSONL, JSON, CSV or Parquet. The names of the API's v3 (``traceId,
  stringValue, dataType``) are read too;
- a trace as JSON, as the UI downloads it or ``GET /api/public/traces/{id}`` gives it: the trace with its ``scores``.

``EVAL`` scores (LLM as a judge) and ``API`` scores are read; ``ANNOTATION`` scores are people's: they are
counted, and not read as verdicts or labels yet.
The judge is the score's name, because the export does not name the evaluator's model. ``NUMERIC`` and ``BOOLEAN``
values are grades; a category is one where ``--map-values`` says which; ``TEXT`` is none.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from metajudge.readers.json_object import entries_of, read_object
from metajudge.readers.lines import BadLine, Line, Reject, Source
from metajudge.readers.people import ByPeople, PersonScore
from metajudge.readers.reader import FoundJudgment, LineReader
from metajudge.readers.scored_runs import (
    RecordedRun,
    RecordedScore,
    asked_and_answered,
    judgment_of,
    number_or_text,
)
from metajudge.readers.vocabulary import Vocabulary
from metajudge.types import Judgment

SCORE_FOLDERS = ("scores",)
RUN_FOLDERS = ("observations_v2", "traces", "observations")
_PEOPLE = "ANNOTATION"


def is_score(record: Mapping[str, Any]) -> bool:
    return record.keys() >= {"name", "value", "source"} and ("trace_id" in record or "traceId" in record)


def is_run(record: Mapping[str, Any]) -> bool:
    keys = record.keys()
    return keys >= {"id", "input", "output"} and bool(
        keys & {"project_id", "projectId", "trace_id", "traceId", "timestamp"}
    )


def is_trace(data: Mapping[str, Any]) -> bool:
    trace = data.get("trace") if isinstance(data.get("trace"), dict) else data
    scores = data.get("scores", trace.get("scores") if isinstance(trace, dict) else None)
    return isinstance(scores, list) and isinstance(trace, dict) and trace.keys() >= {"id", "input", "output"}


def run_of(row: Mapping[str, Any]) -> RecordedRun | None:
    """A trace, or an observation; a root observation represents its trace."""
    if not row.get("id"):
        return None
    trace = _get(row, "trace_id", "traceId")
    root = trace is not None and not _get(row, "parent_observation_id", "parentObservationId")
    return RecordedRun(
        id=str(row["id"]),
        aliases=(str(trace),) if root else (),
        **asked_and_answered(_get(row, "input"), _get(row, "output")),
        category=_text(_get(row, "trace_name", "name")),
        model=_text(_get(row, "provided_model_name", "model")),
    )


def score_of(row: Mapping[str, Any]) -> RecordedScore | PersonScore:
    """A score, by an evaluator or by a person.

    Raises:
        BadLine: free text, which is no grade.
    """
    if row.get("source") == _PEOPLE:
        return PersonScore(str(row["name"]), _text(_get(row, "author_user_id", "authorUserId")))
    kind = _get(row, "data_type", "dataType") or "NUMERIC"
    text = _get(row, "string_value", "stringValue")
    if kind == "TEXT":
        raise BadLine("data_type: a TEXT score is no grade")
    run = _get(row, "observation_id", "observationId", "trace_id", "traceId")
    return RecordedScore(
        id=str(row.get("id") or f"{run}/{row['name']}"),
        run=None if run is None else str(run),
        judge=str(row["name"]),
        value=str(text) if kind == "CATEGORICAL" and text else number_or_text(row.get("value")),
        comment=_text(row.get("comment")),
        meta={
            "source": row.get("source"),
            "evaluator": _get(row, "evaluator_id", "evaluatorId"),
            "string_value": text,
        },
    )


class LangfuseTrace:
    """Reads one trace with its scores."""

    format = "Langfuse trace"

    def __init__(self, source: Source, values: Mapping[str, str]) -> None:
        self.source = source
        self._vocabulary = Vocabulary(values)

    def read(self) -> Iterator[FoundJudgment | Reject | ByPeople]:
        data = read_object(self.source)
        trace = data["trace"] if isinstance(data.get("trace"), dict) else data
        observations = data.get("observations") or trace.get("observations")
        observations = observations if isinstance(observations, list) else []
        whole = RecordedRun(
            id=str(trace["id"]),
            **asked_and_answered(trace.get("input"), trace.get("output")),
            category=_text(trace.get("name")),
        )
        found = (run_of(one) for one in observations if isinstance(one, dict))
        runs = {run.id: run for run in found if run is not None} | {whole.id: whole}

        def made(row: Line) -> list[Judgment | PersonScore]:
            score = score_of(row.data)
            if isinstance(score, PersonScore):
                return [score]
            run = runs.get(score.run or whole.id)
            if run is None:
                raise BadLine(f"the trace contains no observation {score.run!r}")
            return [judgment_of(score, run, self._vocabulary)]

        rows = entries_of(data.get("scores") or trace.get("scores"))
        yield from LineReader(self.format, self.source, lambda: rows, made, "a Langfuse score").read()


def _get(row: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that is not empty."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _text(value: Any) -> str | None:
    return None if value in (None, "") else str(value)
