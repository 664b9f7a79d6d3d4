"""Exports: another process reads the store and builds the archive, and it is sent.

Each export has its own folder next to the store (in ``STORE.exports/``). The archive is sent from an unlinked file, so
nothing remains to clean up afterwards. If the service is killed, its export process removes the folder; if that is
killed too, the next start or export does.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

from fastapi import HTTPException

from metajudge.exports import ExportRequest
from metajudge.exports.export_process import ARCHIVE, COMMAND, Order, ProcessResult
from metajudge.exports.workspace import DiskFullError, NeedsMemoryError, readable_errors
from metajudge.store import Store
from metajudge.types.location import PostgresUrl

from .options import ServiceOptions

T = TypeVar("T")

_LOCK: Final = ".lock"
_PIECE: Final = 256 * 1024
_PLACE: Final = re.compile(r'^  File "([^"\n]*)", (line \d+, in \w+)', re.MULTILINE)
_log = logging.getLogger("metajudge.api")


@dataclass(frozen=True, slots=True)
class Archive:
    """A finished export.

    Attributes:
        file: open at its beginning; already unlinked.
        size: in bytes.
        summary: rows and counts, as plain data.
    """

    file: BinaryIO
    size: int
    summary: dict[str, Any]

    def pieces(self) -> Iterator[bytes]:
        """The content; closes the file at the end."""
        with self.file:
            while piece := self.file.read(_PIECE):
                yield piece


async def archive_of(store: Store, options: ServiceOptions, asked: ExportRequest) -> Archive:
    """Makes an archive; cancellation ends the process and removes its folder.

    Raises:
        HTTPException: 507 if the disk is full or the export exceeds its memory limit.
        MetajudgeError: the export is refused, or the store cannot be read.
    """
    base = options.own_file("exports")
    assert base is not None, "a service with a store has a folder beside it"
    stack, begun = contextlib.ExitStack(), set[asyncio.Future[Any]]()

    async def step(work: Coroutine[Any, Any, T]) -> T:
        """Work in a thread: it continues after cancellation, so the folder is removed only after it."""
        task = asyncio.ensure_future(work)
        begun.add(task)
        return await asyncio.shield(task)

    try:
        folder = await step(asyncio.to_thread(stack.enter_context, _own_folder(base)))
        location = options.store.secret if isinstance(options.store, PostgresUrl) else str(options.store)
        await store.ask(lambda _: None)  # what was acknowledged is in the database now
        summary = await _exported(Order(request=asked, folder=folder, store=location))
        file = await step(asyncio.to_thread((folder / ARCHIVE).open, "rb"))
        return Archive(file, os.fstat(file.fileno()).st_size, summary)
    except DiskFullError:
        _log.exception("the disk is full: an export failed")
        detail = "the disk for exports is full: free space there and try again"
        raise HTTPException(507, detail) from None
    except NeedsMemoryError:
        detail = "the export needs more memory than its limit: narrow it with `filters`"
        raise HTTPException(507, detail) from None
    finally:
        if begun:
            await asyncio.wait(begun)
        await asyncio.to_thread(stack.close)


def sweep(options: ServiceOptions) -> None:
    """Removes files of exports of a killed service; those in progress, also of other replicas, are kept."""
    base = options.own_file("exports")
    if base is not None and base.is_dir():
        with _locked(base / _LOCK):
            _sweep(base)


def _sweep(base: Path) -> None:
    for folder in base.iterdir():
        if folder.is_dir():
            with contextlib.suppress(OSError), _locked(folder / _LOCK, wait=False):
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _own_folder(base: Path) -> Iterator[Path]:
    """A new locked folder, removed at the end."""
    with contextlib.ExitStack() as stack:
        with readable_errors(base):
            base.mkdir(mode=0o700, exist_ok=True)
            with _locked(base / _LOCK):  # no sweep between making the folder and locking it
                _sweep(base)
                folder = Path(tempfile.mkdtemp(dir=base))
                stack.callback(shutil.rmtree, folder, ignore_errors=True)
                stack.enter_context(_locked(folder / _LOCK))
        yield folder


@contextlib.contextmanager
def _locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Locks a file; the lock ends with the process.

    Raises:
        BlockingIOError: another process has locked it, and ``wait`` is false.
    """
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


async def _exported(order: Order) -> dict[str, Any]:
    """Runs the export process. Raises MetajudgeError: the error the process reports."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*COMMAND, str(order.folder), stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(order.model_dump_json().encode() + b"\n")  # stays open: the process ends when it closes
        await process.stdin.drain()
        output, error_output = await asyncio.gather(process.stdout.read(), process.stderr.read())
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if process.stdin is not None:
            process.stdin.close()
    if process.returncode or not output.strip():
        # Only code locations are logged: the error output may quote judged text.
        found = _PLACE.findall(error_output[-20_000:].decode("utf-8", "replace"))
        places = [f"{file.rpartition('/')[2]} {line}" for file, line in found]
        _log.error("the export process ended with exit code %s: %s", process.returncode, ", ".join(places[-5:]))
        raise RuntimeError(f"the export process ended with {process.returncode}")
    outcome = ProcessResult.model_validate_json(output)
    outcome.raise_error()
    assert outcome.summary is not None
    return outcome.summary
