"""Assessments out: one JSON object a line, in the order of the input, never half-written."""

import os
from array import array
from pathlib import Path
from types import TracebackType

from metajudge.errors import InputError, OutputError
from metajudge.files.replacing import replacing
from metajudge.runs.output_files import let_go, written_to
from metajudge.types import Assessment


class AssessmentFile:
    """Collects assessments as they come and puts them in input order at the end.

    Lines go to ``PATH.partial`` as they come; on leaving the context (also after an error or an interruption)
    what is there is written to ``PATH`` in input order, in one atomic step. Where it cannot be written any
    further, ``PATH`` stays as it was. Memory: 16 bytes an assessment.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partial = path.with_name(path.name + ".partial")
        self._places = array("q")
        self._offsets = array("q")
        if path.is_dir():
            raise InputError(f"{path} is a folder: name a file for the assessments")
        try:
            self._file = self.partial.open("w+b")
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}; choose another --out") from None

    def write(self, index: int, assessment: Assessment) -> None:
        """Adds the assessment of the ``index``-th record of the input."""
        self._places.append(index)
        self._offsets.append(self._file.tell())
        with written_to(self.path):
            self._file.write(assessment.model_dump_json().encode() + b"\n")

    def __enter__(self) -> "AssessmentFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OutputError):
            let_go(self._file)
            return
        try:
            with written_to(self.path):
                self._finish()
        except OutputError:
            let_go(self._file)
            if error is None:
                raise

    def _finish(self) -> None:
        self._file.flush()
        ordered = sorted(range(len(self._places)), key=self._places.__getitem__)
        if any(ordered[i] != i for i in range(len(ordered))):
            self._rewrite(ordered)
        self._file.close()
        os.replace(self.partial, self.path)

    def _rewrite(self, ordered: list[int]) -> None:
        lines = self._file
        with replacing(self.partial) as part, part.open("wb") as target:
            for position in ordered:
                lines.seek(self._offsets[position])
                target.write(lines.readline())
