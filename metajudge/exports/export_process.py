"""An export in a process of its own, for a service that must neither wait nor grow.

The process reads what to do from its standard input and writes the result to its standard output. It ends, and
removes its folder, as soon as its standard input closes: no export outlives the service that asked for it.
"""

import os
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from metajudge.errors import ConfigurationError, InputError, MetajudgeError, StoreError
from metajudge.exports.export import ExportResult, export_vetted
from metajudge.exports.intake import Vetted
from metajudge.exports.request import ExportRequest
from metajudge.exports.workspace import DiskFullError, NeedsMemoryError, readable_errors
from metajudge.types.frozen import Frozen
from metajudge.types.location import store_location

MEMORY: Final = "400MB"
"""What DuckDB may use in the process; Python and the libraries take another 150 MB."""
COMMAND: Final = (
    *(sys.executable, "-P", "-c"),
    "import sys; from metajudge.exports.export_process import main; sys.exit(main())",
)
"""How the process is started; the order's folder follows, so that it is known even where no order arrives."""
_TRIES: Final = 500
ARCHIVE: Final = "preferences.zip"
_KINDS: Final[tuple[type[MetajudgeError], ...]] = (
    DiskFullError,
    NeedsMemoryError,
    InputError,
    ConfigurationError,
    StoreError,
)


class Order(Frozen):
    """What is to be exported.

    Attributes:
        folder: where the archive is made; the process may use all of it and removes it where it is left alone.
        store: path or URL.
    """

    request: ExportRequest
    folder: Path
    store: str


class ProcessResult(Frozen):
    """The result: ``summary`` where the archive was made, else the error's class and message."""

    summary: dict[str, Any] | None = None
    error: str = ""
    detail: str = ""

    def raise_error(self) -> None:
        """Raises the error the export ended in, of the class it had.

        Raises:
            MetajudgeError: the export failed.
        """
        if self.summary is None:
            kind = next((one for one in _KINDS if one.__name__ == self.error), MetajudgeError)
            raise kind(self.detail)


def main() -> int:
    """Does what one line of standard input says, and writes the outcome to standard output."""
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library's progress bar is no outcome
    folder = Path(sys.argv[-1])
    line = sys.stdin.buffer.readline()
    threading.Thread(target=_end_with_caller, args=(folder,), daemon=True).start()
    if not line:  # the caller died before it sent anything; the thread ends this process
        threading.Event().wait()
    order = Order.model_validate_json(line)
    try:
        outcome = ProcessResult(summary=_summary(_export(order)))
    except MetajudgeError as error:
        kind = next((one for one in _KINDS if isinstance(error, one)), MetajudgeError)
        outcome = ProcessResult(error=kind.__name__, detail=str(error))
    with os.fdopen(output, "wb") as stream:
        stream.write(outcome.model_dump_json().encode())
    return 0


def _end_with_caller(folder: Path) -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    for _ in range(_TRIES):  # the main thread may be making files in it
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
        time.sleep(0.01)
    os._exit(1)


def _export(order: Order) -> ExportResult:
    made = order.folder / "preferences"
    result = export_vetted(
        made,
        order.request,
        Vetted(store=store_location(order.store), store_name="the store"),
        input_state=[],
        sources=["the service's store"],
        memory=MEMORY,
    )
    with readable_errors(order.folder / ARCHIVE):
        shutil.make_archive(str((order.folder / ARCHIVE).with_suffix("")), "zip", made)
    return result


def _summary(result: ExportResult) -> dict[str, Any]:
    """What a caller wants to know without opening the archive."""
    read = result.stats["read"]
    return {
        "rows": result.rows,
        "kept": result.stats["decisions"]["kept"],
        "dropped": result.stats["decisions"]["dropped"],
        "decisions_ignored": result.stats["decisions"]["ignored"],
        "rows_outside_guarantee": result.stats["rows_outside_guarantee"],
        "judgments": read["judgments"],
        "filtered_out": read["filtered_out"],
        "conflicting_items": read["conflicting_items"],
        "conflicting_item_ids": [one[:80] for one in read["conflicting_item_ids"][:5]],
    }
