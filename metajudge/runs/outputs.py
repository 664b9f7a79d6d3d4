"""Output files of runs: lines in the order of the input, attempts that are only appended, small lists of records.

A full disk is reported with the file's name and what to do, in place of a bare ``OSError``.
"""

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BufferedWriter
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import orjson
from pydantic import BaseModel, ValidationError

from metajudge.errors import InputError, OutputError
from metajudge.reading.reasons import reason_of
from metajudge.runs.assessment_tables import ENDINGS, arrow, write_table

R = TypeVar("R", bound=BaseModel)

_AT_ONCE: Final = 4_096


@contextmanager
def written_to(path: Path) -> Iterator[None]:
    """Names the output that could not be written to its end, where the operating system only says why.

    Raises:
        OutputError: a write failed.
    """
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written: {error.strerror or error}; free disk space, and run the same command "
            "again: what is kept in the store is not asked again"
        ) from error


def let_go(file: IO[Any]) -> None:
    """Closes a file of which a write failed; what is still buffered cannot be written either."""
    with suppress(OSError):
        file.close()


class OrderedFile:
    """Collects lines as results come, and puts them in the order of the input at the end.

    Lines go to ``PATH.partial`` as they come. On leaving the context (also after an error or an interruption) what is
    there is written to ``PATH`` in the order of the input, in one atomic step. Where it cannot be written any
    further, and where an error came before the first line, ``PATH`` stays as it was. Memory: 8 bytes a line.

    Raises:
        InputError: the file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partial = path.with_name(path.name + ".partial")
        self._places = array("I")
        self._lengths = array("I")
        if path.is_dir():
            raise InputError(f"{path} is a folder: name a file")
        try:
            self._file = self.partial.open("w+b")
        except OSError as error:
            raise _not_writable(path, error) from None

    def write(self, index: int, line: bytes) -> None:
        """Adds the line of the ``index``-th record of the input; ``b""`` where it has none.

        Raises:
            OutputError: the disk is full.
        """
        self.write_block([index], [line] if line else [])

    def write_block(self, places: Sequence[int], lines: Sequence[bytes]) -> None:
        """Adds the lines of some records, each with its place in the input.

        Raises:
            OutputError: the disk is full.
        """
        if not lines:
            return
        self._places.extend(places)
        self._lengths.extend(map(len, lines))
        with written_to(self.path):
            self._file.write(b"".join(lines))

    def __enter__(self) -> "OrderedFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OutputError):
            let_go(self._file)
            return
        if error is not None and not self._places:  # nothing was done: an earlier file stays as it was
            let_go(self._file)
            self.partial.unlink(missing_ok=True)
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
        places = np.frombuffer(self._places, dtype=np.uintc)
        if bool((places[1:] < places[:-1]).any()):
            self._rewrite(np.argsort(places, kind="stable"))
        self._file.close()
        os.replace(self.partial, self.path)

    def _rewrite(self, order: npt.NDArray[np.intp]) -> None:
        sorted_path = self.partial.with_name(self.partial.name + ".sorted")
        lengths = np.frombuffer(self._lengths, dtype=np.uintc)
        ends = lengths.cumsum(dtype=np.int64)
        with sorted_path.open("wb") as target:
            for some in np.split(order, range(_AT_ONCE, len(order), _AT_ONCE)):
                for end, length in zip(ends[some].tolist(), lengths[some].tolist(), strict=True):
                    self._file.seek(end - length)
                    target.write(self._file.read(length))
        os.replace(sorted_path, self.partial)


class AttemptFile(Generic[R]):
    """A file of attempts that is only appended to; each line is in the file before the next one is written.

    A last line that a killed run cut off is dropped. A file of anything else is refused and stays as it is.

    Args:
        path: made where it is missing; None to write none: then the attempts are in memory alone.
        record: the content of a line.
        kind: what to call a line in messages, as in "a record of `metajudge clash`".
        exclude_none: leave out fields that are None.

    Attributes:
        earlier: the attempts it held; ``appended``: those written since.
        cut: whether a cut last line was dropped.

    Raises:
        InputError: on entering: a folder, a file that cannot be written, or one of something else.
    """

    def __init__(self, path: Path | None, record: type[R], kind: str, *, exclude_none: bool = False) -> None:
        self.path = path
        self.earlier: list[R] = []
        self.appended: list[R] = []
        self.cut = False
        self._record = record
        self._kind = kind
        self._exclude_none = exclude_none
        self._file: BufferedWriter | None = None

    @property
    def attempts(self) -> list[R]:
        """All of them, in the order of the file."""
        return [*self.earlier, *self.appended]

    def __enter__(self) -> "AttemptFile[R]":
        path = self.path
        if path is None:
            return self
        if path.is_dir():
            raise InputError(f"{path} is a folder: name a file")
        try:
            raw = path.read_bytes() if path.exists() else b""
            end = self._read(raw)
            self._file = path.open("ab")
            if self.cut:
                self._file.truncate(end)
            elif raw and not raw.endswith(b"\n"):
                self._file.write(b"\n")
                self._file.flush()
        except OSError as error:
            raise _not_writable(path, error) from None
        return self

    def append(self, record: R) -> None:
        """Adds one attempt; it is in the file when this returns.

        Raises:
            OutputError: the disk is full.
        """
        if self.path is not None:
            assert self._file is not None, "the file is entered first"
            with written_to(self.path):
                self._file.write(record.model_dump_json(exclude_none=self._exclude_none).encode() + b"\n")
                self._file.flush()
        self.appended.append(record)

    def __exit__(self, *_ended: object) -> None:
        if self._file is not None:
            let_go(self._file)  # each line was flushed: only one that failed can be left

    def _read(self, raw: bytes) -> int:
        """Reads the attempts; returns how many bytes of the file are whole lines of them."""
        lines = raw.split(b"\n")
        last = lines[-1]
        try:
            orjson.loads(last or b"null")
        except orjson.JSONDecodeError:
            if not last.startswith(b"{"):
                raise InputError(f"{self.path} ends in what is not {self._kind}; choose another --out") from None
            self.cut = True
            lines.pop()
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                self.earlier.append(self._record.model_validate_json(line))
            except ValidationError as error:
                raise InputError(
                    f"{self.path}:{number} is not {self._kind}: {reason_of(error)}; choose another --out"
                ) from None
        return len(raw) - len(last) if self.cut else len(raw)


def write_lines(path: Path, records: Iterable[Mapping[str, object]]) -> int:
    """Writes plain data as JSONL; without data no file is left, not even an earlier run's.

    Returns:
        The number of lines.

    Raises:
        OutputError: the disk is full.
    """
    lines = [orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in records]
    if lines:
        with written_to(path):
            path.write_bytes(b"".join(lines))
    else:
        path.unlink(missing_ok=True)
    return len(lines)


def _not_writable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be written: {error.strerror}; choose another --out")


def results_file(path: Path) -> OrderedFile:
    """Where the lines of assessments go: a table by the ending of its name, else the lines themselves.

    Raises:
        ConfigurationError: a table, and pyarrow is not installed.
        InputError: the file cannot be made.
    """
    return TableFile(path) if path.suffix.lower() in ENDINGS else OrderedFile(path)


class TableFile(OrderedFile):
    """Collects lines as :class:`~metajudge.runs.outputs.OrderedFile`, and makes a table of them at the end.

    The lines are in ``PATH.lines`` until the table is whole.

    Raises:
        ConfigurationError: pyarrow is not installed.
        InputError: the file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        arrow()
        if path.is_dir():
            raise InputError(f"{path} is a folder: name a file")
        super().__init__(path.with_name(path.name + ".lines"))
        self.table = path

    def __exit__(self, *ended: Any) -> None:
        super().__exit__(*ended)
        if self.path.exists():
            with written_to(self.table), self.path.open("rb") as lines:
                write_table(self.table, lines)
            self.path.unlink()
