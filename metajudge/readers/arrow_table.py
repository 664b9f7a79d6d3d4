"""Arrow files (Feather, version 2), record batch by record batch."""

from collections.abc import Iterator
from typing import Any

from metajudge.errors import InputError
from metajudge.installation import install_command
from metajudge.readers.lines import Line, Reject, Source
from metajudge.readers.parquet_table import plain, raw_of


class ArrowTable:
    """Rows of an Arrow file; batches are mapped into memory one at a time."""

    format = "Arrow"

    def __init__(self, source: Source) -> None:
        self.source = source

    def columns(self) -> tuple[str, ...]:
        return tuple(self._opened().schema.names)

    def rows(self) -> Iterator[Line | Reject]:
        import pyarrow

        file, number = self._opened(), 0
        try:
            for at in range(file.num_record_batches):
                for row in file.get_batch(at).to_pylist():
                    number += 1
                    data = {name: plain(cell) for name, cell in row.items()}
                    yield Line(number, raw_of(data), data)
        except (OSError, pyarrow.ArrowException) as error:
            reason = f"the file is damaged; nothing after this row can be read ({error})"
            yield Reject(self.source.name, number + 1, reason, "")

    def _opened(self) -> Any:
        try:
            import pyarrow
            import pyarrow.ipc
        except ImportError:
            raise InputError(
                f"{self.source.name} is an Arrow file, which needs pyarrow: {install_command('inputs')}"
            ) from None
        try:
            return pyarrow.ipc.open_file(pyarrow.memory_map(str(self.source.path)))
        except (OSError, pyarrow.ArrowException) as error:
            raise InputError(f"{self.source.name} cannot be read as an Arrow file: {error}") from None
