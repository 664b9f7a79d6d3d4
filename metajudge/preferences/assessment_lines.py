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
        stream.writelines(map(to_line, rows))


def to_line(row: dict[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def to_text(names: Sequence[str]) -> str:
    """A list as the store's own JSON functions give it back."""
    return orjson.dumps(names).decode()


def assessment_rows(given: Path | Iterable[Assessment]) -> Iterator[dict[str, Any]]:
    """The columns that an export reads, for each assessment; of a file as :func:`read_assessments` reads it."""
    if isinstance(given, Path):
        alike = AlikeAssessments()
        yield from (alike.row(line, given, at) | {"line": row} for row, (at, line) in enumerate(_lines(given)))
    else:
        yield from (_row(assessment) | {"line": row} for row, assessment in enumerate(given))


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


_NAMED: Final = ("judgment_id", "judgment_digest", "item_id", "judge")
_IGNORED: Final = ("do", "kept")
"""What follows from the other fields, and is not read."""
_SIGNAL: Final = {"value", "state", "detail"}
_NUMBER: Final = (float, type(None))
MOST_KEPT: Final = 1_000
"""Different assessments that are kept for comparison."""


class AlikeAssessments:
    """Reads the columns of lines; those that differ from a checked line in what is each judgment's own need no check.

    That is names, digest, score, probability and signals, whose types are looked at here. All other fields of such
    lines are equal.
    """

    def __init__(self) -> None:
        self._checked: dict[bytes, dict[str, Any]] = {}
        self._hits = 0

    def row(self, line: bytes, path: Path, number: int) -> dict[str, Any]:
        """The columns of a line.

        Args:
            path, number: where it stands.

        Raises:
            InputError: it is no assessment.
        """
        own, rest = _apart(line) if self._worthwhile else (None, b"")
        known = None if own is None else self._checked.get(rest)
        if known is not None and own is not None:
            self._hits += 1
            return known | own
        row = _row(_read(line, Assessment, path, number))
        if own is not None and len(self._checked) < MOST_KEPT:
            self._checked[rest] = row
        return row

    @property
    def _worthwhile(self) -> bool:
        return len(self._checked) < MOST_KEPT or self._hits >= MOST_KEPT


def _apart(line: bytes) -> tuple[dict[str, Any] | None, bytes]:
    """The columns of a line that are the judgment's own, and the JSON of everything else; None where one is unusual."""
    try:
        data = orjson.loads(line)
        own = {name: data.pop(name) for name in _NAMED}
        score, probability, signals = data.pop("final_score"), data.pop("probability"), data.pop("signals")
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return None, b""
    if not all(type(value) is str for value in own.values()) or type(score) not in _NUMBER:
        return None, b""
    if type(probability) not in _NUMBER or not _are_signals(signals):
        return None, b""
    for name in _IGNORED:
        data.pop(name, None)
    return own | {"score": score, "probability": probability}, orjson.dumps(data)


def _are_signals(given: Any) -> bool:
    if type(given) is not dict:
        return given is None
    for one in given.values():
        if type(one) is not dict or one.keys() != _SIGNAL or type(one["value"]) not in _NUMBER:
            return False
        if type(one["state"]) is not str or type(one["detail"]) is not str:
            return False
    return True


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
    for number, line in _lines(path):
        yield _read(line, record, path, number)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers, from 1."""
    count = 0
    try:
        with contextlib.ExitStack() as stack:
            table = path.suffix.lower() in ENDINGS
            lines = assessment_lines(path) if table else stack.enter_context(path.open("rb"))
            for number, line in enumerate(lines, 1):
                if line.strip():
                    count += 1
                    yield number, line
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
