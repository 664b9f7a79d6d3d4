"""Calls of a batch in flight, kept so that a killed worker's successor repeats none of those that were answered."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from metajudge.distributed.folder import replace_file, write_table
from metajudge.errors import StoreError
from metajudge.store.rows import decode, encode, reply_of_call
from metajudge.types import CallRecord, Reply

current_batch: ContextVar[str] = ContextVar("current_batch")
"""Name of the batch that is worked on; tasks inherit it from the batch that starts them."""

CALLS = pa.schema(
    [
        *((name, pa.string()) for name in ("key", "endpoint", "model")),
        *((name, pa.int64()) for name in ("draw", "attempt")),
        ("status", pa.string()),
        *((name, pa.float64()) for name in ("started_at", "latency_s")),
        *((name, pa.string()) for name in ("run_id", "reply_text", "reply_model", "finish")),
        *((name, pa.int64()) for name in ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens")),
        ("cost_usd", pa.float64()),
        *((name, pa.string()) for name in ("failure_kind", "failure_message")),
        ("http_status", pa.int64()),
    ]
)
"""Columns of the files of calls."""


class BatchJournal:
    """The calls of one batch: a line each, written when the call ends, gone when the batch's results are written.

    Args:
        path: of the file; where a killed worker left one, its answers are taken over.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.calls = list(read_journal(path))
        self._replies = replies_of(self.calls)
        self._handle: int | None = None

    def find(self, key: str) -> Reply | None:
        return self._replies.get(key)

    def append(self, call: CallRecord) -> None:
        """Keeps a call; it survives the process when this returns.

        Raises:
            StoreError: it could not be written.
        """
        line = encode(call) + b"\n"
        try:
            if self._handle is None:
                self._handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                line = b"\n" + line  # ends what a killed worker left half-written
            if os.write(self._handle, line) != len(line):
                raise OSError("the disk is full")
        except OSError as error:
            raise StoreError(f"cannot save a call in {self.path}: {error.strerror or error}") from error
        self.calls.append(call)
        self._replies.update(replies_of([call]))

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def discard(self) -> None:
        """Removes the file: what it contains is kept elsewhere."""
        self.close()
        self.path.unlink(missing_ok=True)


class CallJournals:
    """Cache and ledger of a worker: a journal for each batch it works on.

    Calls made within :meth:`batch` belong to that batch, also those of tasks started there.

    Args:
        folder: of the journals.
        earlier: replies of runs that were cut off.
    """

    def __init__(self, folder: Path, earlier: dict[str, Reply]) -> None:
        self._folder = folder
        self._earlier = earlier
        self._open: dict[str, BatchJournal] = {}

    @contextmanager
    def batch(self, name: str) -> Iterator[BatchJournal]:
        """The journal of a batch, while it is worked on."""
        journal = BatchJournal(self._folder / f"{name}.jsonl")
        self._open[name] = journal
        token = current_batch.set(name)
        try:
            yield journal
        finally:
            current_batch.reset(token)
            del self._open[name]
            journal.close()

    async def find_reply(self, key: str) -> Reply | None:
        """See :class:`~metajudge.providers.model.CallCache`."""
        return self._open[current_batch.get()].find(key) or self._earlier.get(key)

    def record_call(self, call: CallRecord) -> None:
        """See :class:`~metajudge.providers.model.Ledger`."""
        self._open[current_batch.get()].append(call)


def gather_journals(folder: Path, calls: Path, run_id: str) -> Path:
    """Moves what killed runs left into one file for this run's workers, and into the files of calls.

    Returns:
        The file, which may be empty.
    """
    target = folder / "earlier.jsonl"
    left = [path for path in sorted(folder.glob("*.jsonl")) if path != target]
    found = {path.stem: list(read_journal(path)) for path in left}
    known = [*read_journal(target), *(call for batch in found.values() for call in batch)]
    replace_file(target, b"\n".join(encode(call) for call in known))
    # A worker may have died between keeping a batch's calls and removing its journal.
    fresh = [call for name, batch in found.items() if not any(calls.glob(f"{name}-*")) for call in batch]
    if fresh:
        write_calls(calls / f"left-{run_id}.parquet", fresh)
    for path in left:
        path.unlink()
    return target


def write_calls(path: Path, calls: Iterable[CallRecord]) -> None:
    """Writes calls as Parquet, whole or not at all."""
    write_table(path, pa.Table.from_pylist([_row(call) for call in calls], schema=CALLS))


def read_journal(path: Path) -> Iterator[CallRecord]:
    """The calls of a journal; a line cut off by a kill was never acknowledged and is skipped."""
    if not path.exists():
        return
    for line in path.read_bytes().splitlines():
        with suppress(orjson.JSONDecodeError):
            call = decode(line)
            assert isinstance(call, CallRecord)
            yield call


def replies_of(calls: Iterable[CallRecord]) -> dict[str, Reply]:
    """The replies that calls left, by key, as they are taken from a cache."""
    found = ((call.key, reply_of_call(call)) for call in calls)
    return {key: reply for key, reply in found if reply is not None}


def _row(call: CallRecord) -> dict[str, Any]:
    row = {name: getattr(call, name) for name in CALLS.names if hasattr(call, name)}
    row["failure_kind"] = None if call.failure_kind is None else call.failure_kind.value
    return row if call.usage is None else row | asdict(call.usage)
