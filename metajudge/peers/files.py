"""The files a peers run appends to: every attempt a line, written at once, never changed."""

import json
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Generic, TypeVar

from pydantic import BaseModel

from metajudge.errors import InputError
from metajudge.runs.outputs import let_go, written_to

T = TypeVar("T", bound=BaseModel)


class AttemptLog(Generic[T]):
    """Appends records as lines; what a killed run left of a line is cut off, for it is no record.

    Args:
        path: the file, made where it is missing.
        read: reads the records of an existing file.

    Attributes:
        earlier: the records there were; ``appended``: those written since.
    """

    def __init__(self, path: Path, read: Callable[[Path], tuple[T, ...]]) -> None:
        self.path = path
        self.appended: list[T] = []
        if path.is_dir():
            raise InputError(f"{path} is a folder: name a file")
        try:
            self._file = path.open("ab+")
            self._mend_last_line()
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}; choose another --out") from None
        try:
            self.earlier = read(path) if path.stat().st_size else ()
        except InputError:
            self._file.close()
            raise

    def _mend_last_line(self) -> None:
        self._file.seek(0)
        size, last = 0, b"\n"
        for last in self._file:
            size += len(last)
        if last.endswith(b"\n"):
            return
        if not last.startswith(b"{"):  # nothing of ours: it is the user's, and stays as it is
            self._file.close()
            raise InputError(f"{self.path} ends in what is no record of a run: choose another --out")
        if _is_whole(last):
            self._file.write(b"\n")
            self._file.flush()
        else:
            self._file.truncate(size - len(last))

    def append(self, record: T) -> None:
        """Writes one record; it is in the file when this returns."""
        with written_to(self.path):
            self._file.write(record.model_dump_json(exclude_none=True).encode() + b"\n")
            self._file.flush()
        self.appended.append(record)

    def __enter__(self) -> "AttemptLog[T]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        let_go(self._file)  # each line was flushed: only one that failed can be left


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
