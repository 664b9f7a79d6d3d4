"""Where the results of a run go: lines of JSON, or a table."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from metajudge.errors import InputError
from metajudge.readers.assessment_tables import ENDINGS, arrow, write_table
from metajudge.runs.outputs import OrderedFile, written_to


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self.path.exists():
            with written_to(self.table):
                write_table(self.table, _lines_of(self.path))
            self.path.unlink()


def _lines_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        yield from stream
