"""Assessments as lines of a file of ``metajudge vet --out``."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from metajudge.errors import InputError
from metajudge.runs.assessment_tables import ENDINGS, assessment_lines
from metajudge.types import Assessment

M = TypeVar("M", bound=BaseModel)


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
    count = number = 0
    try:
        with contextlib.ExitStack() as stack:
            table = path.suffix.lower() in ENDINGS
            lines = assessment_lines(path) if table else stack.enter_context(path.open("rb"))
            for line in lines:
                number += 1
                if line.strip():
                    count += 1
                    yield record.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{path}:{number}: no assessment: {at + ': ' if at else ''}{first['msg']}; expected a line of "
            "`metajudge vet --out`"
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if not count:
        raise InputError(f"{path} contains no assessments: write some with `metajudge vet ... --out {path}`")
