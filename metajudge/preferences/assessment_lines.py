"""Assessments as lines of JSON that DuckDB reads."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from metajudge.errors import InputError
from metajudge.readers.assessment_tables import ENDINGS, assessment_lines
from metajudge.types import Assessment

M = TypeVar("M", bound=BaseModel)


def write_assessments(given: Iterable[Assessment], out: Path) -> None:
    """Writes the columns that an export reads, for each assessment."""
    with out.open("wb", buffering=1 << 20) as stream:
        stream.writelines(to_line(_row(assessment) | {"line": row}) for row, assessment in enumerate(given))


def to_line(row: dict[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def to_text(data: Any) -> str:
    """JSON without spaces, as the store's own functions give it back."""
    return orjson.dumps(data).decode()


def _row(assessment: Assessment) -> dict[str, Any]:
    """The columns that have a value."""
    bar = assessment.guarantee
    row = {
        "judgment_id": assessment.judgment_id,
        "judgment_digest": assessment.judgment_digest,
        "item_id": assessment.item_id,
        "judge": assessment.judge,
        "status": assessment.status.value,
        "accepted": assessment.kept,
        "score": assessment.final_score,
        "probability": assessment.probability,
        "calibration": assessment.calibration,
        "bar": None if bar is None else bar.threshold,
        "target": None if bar is None else bar.target,
        "delta": None if bar is None else bar.delta,
        "approximate": None if bar is None else bar.approximate,
        "promise_judges": None if bar is None else to_text(bar.judges),
        "promise_unit": None if bar is None else bar.unit,
        "promise_questions": None if bar is None else bar.questions,
        "marks": to_text(assessment.probability_marks),
        "strategy": assessment.strategy,
        "threshold": assessment.threshold,
        "rubric": assessment.rubric,
        "rubric_digest": assessment.rubric_digest,
        "panel_digest": assessment.panel_digest,
        "agents": ", ".join(f"{one.agent} ({one.model})" for one in assessment.agents),
        "version": assessment.metajudge_version,
        "action": None if assessment.decision is None else assessment.decision.action.value,
        "policy": None if assessment.decision is None else assessment.decision.policy,
    }
    return {name: value for name, value in row.items() if value is not None}


def read_assessments(path: Path) -> Iterator[Assessment]:
    """The assessments of a file of `metajudge vet --out`, in its order; errors as in :func:`read_lines`."""
    return read_lines(path, Assessment)


def read_lines(path: Path, record: type[M]) -> Iterator[M]:
    """The lines of a file of `metajudge vet --out` as records, in its order; of a table, its column `assessment`.

    Args:
        record: an assessment, or those of its fields that are needed.

    Raises:
        InputError: a line is no assessment, or the file has none; with file and line.
    """
    count = 0
    try:
        with contextlib.ExitStack() as stack:
            table = path.suffix.lower() in ENDINGS
            lines = assessment_lines(path) if table else stack.enter_context(path.open("rb"))
            for number, line in enumerate(lines, 1):
                if line.strip():
                    count += 1
                    yield _read(line, record, path, number)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if not count:
        raise InputError(f"{path} contains no assessments: write some with `metajudge vet ... --out {path}`")


def _read(line: bytes, record: type[M], path: Path, number: int) -> M:
    try:
        return record.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{path}:{number}: no assessment: {at + ': ' if at else ''}{first['msg']}; expected a line of "
            "`metajudge vet --out`"
        ) from None
