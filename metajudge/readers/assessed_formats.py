"""Formats whose records are runs with what was said of them: each a way to recognise a record and one to read it.

A new tool is one module with these two functions, one line here, and a file that the tool wrote.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from metajudge.readers.assessed_runs import AssessedRun
from metajudge.readers.lines import BadLine

Records = Callable[[Mapping[str, Any]], list[Any] | None]


@dataclass(frozen=True, slots=True)
class AssessedFormat:
    """A format.

    Attributes:
        name: for people.
        recognises: whether a record is of this format, by its keys; None where records are only found inside an object.
        run_of: a record as a run with its scores; raises what :func:`~metajudge.readers.reader.attempt` reports.
        inside: the records in a file that is one object; None where the object is of another format. Without it such
            a file contains one record.
    """

    name: str
    recognises: Callable[[Mapping[str, Any]], bool] | None
    run_of: Callable[[Mapping[str, Any]], AssessedRun]
    inside: Records | None = None

    def records(self, data: Mapping[str, Any]) -> list[Any] | None:
        """The records of a file that is one object; None where it is of another format."""
        if self.inside is not None and (found := self.inside(data)) is not None:
            return found
        return [data] if self.recognises is not None and self.recognises(data) else None

    def read(self, record: Mapping[str, Any]) -> AssessedRun:
        """A record as a run with its scores.

        Raises:
            BadLine: it is of another format; also what ``run_of`` raises.
        """
        if self.recognises is not None and not self.recognises(record):
            raise BadLine(f"no record of {self.name}: its fields are {', '.join(map(str, list(record)[:8]))}")
        return self.run_of(record)


@cache
def assessed_formats() -> tuple[AssessedFormat, ...]:
    """All formats; the first one that recognises a record is meant."""
    from metajudge.readers import argilla, fastchat, label_studio, lm_eval, mlflow, openai_evals, ragas, rewardbench2

    return (
        AssessedFormat(rewardbench2.RESULTS, None, rewardbench2.run_of, rewardbench2.rows_in),
        AssessedFormat(mlflow.FORMAT, mlflow.is_trace, mlflow.trace_of),
        AssessedFormat(argilla.FORMAT, argilla.is_record, argilla.record_of),
        AssessedFormat(openai_evals.FORMAT, openai_evals.is_output_item, openai_evals.run_of, openai_evals.page_of),
        AssessedFormat(label_studio.FORMAT, label_studio.is_task, label_studio.run_of),
        AssessedFormat(lm_eval.FORMAT, lm_eval.is_sample, lm_eval.run_of),
        AssessedFormat(fastchat.PAIRS, fastchat.is_pair, fastchat.pair_of),
        AssessedFormat(fastchat.GRADES, fastchat.is_grade, fastchat.grade_of),
        AssessedFormat(ragas.ANNOTATIONS, ragas.is_annotation, ragas.annotation_of, ragas.annotations_in),
        AssessedFormat(ragas.FORMAT, ragas.is_row, ragas.row_of),
    )


def format_of(record: Mapping[str, Any]) -> AssessedFormat | None:
    """The format of a record; None where it is none of these."""
    return next((one for one in assessed_formats() if one.recognises is not None and one.recognises(record)), None)
