"""Assessments as lines of JSON that DuckDB reads; a large file is checked in a process of its own meanwhile."""

import contextlib
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from metajudge.errors import InputError, MetajudgeError
from metajudge.readers.assessment_tables import ENDINGS, assessment_lines
from metajudge.types import Assessment

M = TypeVar("M", bound=BaseModel)

LARGE: Final = 32_000_000
"""Files of so many bytes and more are worth a process, whose start takes half a second."""
_MAIN: Final = "import sys; from metajudge.preferences.assessment_lines import main; sys.exit(main(*sys.argv[1:]))"


@contextlib.contextmanager
def writing_assessments(given: Path | Iterable[Assessment] | None, out: Path) -> Iterator[None]:
    """Has the rows of some assessments in a file once the block is left; a large file is worked on beside the block.

    Raises:
        InputError: a line is no assessment, or the file has none; with file and line.
    """
    if not isinstance(given, Path) or not sys.executable or not _is_large(given):
        yield
        write_lines(out, () if given is None else assessment_rows(given))
        return
    command = [sys.executable, "-c", _MAIN, str(given), str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own module
        try:
            yield
            _, errors = process.communicate()
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise InputError(errors.strip() or f"{given} could not be read: the process that checks it ended at once")


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Writes rows as lines of JSON."""
    with path.open("wb", buffering=1 << 20) as stream:
        for row in rows:
            stream.write(to_line(row))


def to_line(row: dict[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def to_text(names: Sequence[str]) -> str:
    """A list as the store's own JSON functions give it back."""
    return orjson.dumps(names).decode()


def assessment_rows(given: Path | Iterable[Assessment]) -> Iterator[dict[str, Any]]:
    for number, assessment in enumerate(read_assessments(given) if isinstance(given, Path) else given):
        bar = assessment.guarantee
        yield {
            "line": number,
            "judgment_id": assessment.judgment_id,
            "judgment_digest": assessment.judgment_digest,
            "item_id": assessment.item_id,
            "judge": assessment.judge,
            "status": assessment.status.value,
            "accepted": assessment.accepted,
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


def _is_large(path: Path) -> bool:
    try:
        return path.stat().st_size >= LARGE
    except OSError:
        return False


def main(source: str, out: str) -> int:
    """Writes the rows of a file of assessments; says on standard error what is wrong with it."""
    try:
        write_lines(Path(out), assessment_rows(Path(source)))
    except (MetajudgeError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0
