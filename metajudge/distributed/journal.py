"""Calls of a batch in flight, kept so that a killed worker's successor repeats none of those that were answered."""

import os
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from metajudge.distributed.place import Place
from metajudge.errors import FailureKind, StoreError
from metajudge.store.rows import reply_of_call, storable
from metajudge.types import CallRecord, Reply, Usage

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

EARLIER = "earlier.jsonl"
"""The file of what runs that were cut off have left."""


def encode(call: CallRecord) -> bytes:
    """A call as a line."""
    try:
        return orjson.dumps(call)
    except TypeError:  # a lone surrogate, which UTF-8 cannot have
        text, model, failure = map(storable, (call.reply_text, call.reply_model, call.failure_message))
        return orjson.dumps(replace(call, reply_text=text, reply_model=model, failure_message=failure))


def decode(line: bytes) -> CallRecord:
    """A call from a line; one of version 0.2 begins with a letter."""
    data = orjson.loads(line.removeprefix(b"c"))
    usage, kind = data.pop("usage"), data.pop("failure_kind")
    return CallRecord(
        **data,
        usage=None if usage is None else Usage(**usage),
        failure_kind=None if kind is None else FailureKind(kind),
    )


class BatchJournal:
    """The calls of one batch: a line each, written when the call ends, gone when the batch's results are written.

    On a file system it is one file, and a call survives the process once :meth:`append` returns. In an object store
    each call is an object of its own that is sent while the run goes on, so a killed process may lose the last few.

    Args:
        name: of the batch; where a killed worker left a journal, its answers are taken over.
    """

    def __init__(self, place: Place, name: str) -> None:
        self._place, self._name = place, name
        self.calls = [call for file in place.names_of(f"{name}.*jsonl") for call in read_journal(place, file)]
        self._replies = replies_of(self.calls)
        self._handle: int | None = None
        self._sender: ThreadPoolExecutor | None = None
        self._sent: list[Future[None]] = []

    def find(self, key: str) -> Reply | None:
        return self._replies.get(key)

    def append(self, call: CallRecord) -> None:
        """Keeps a call.

        Raises:
            StoreError: it could not be written.
        """
        line = encode(call) + b"\n"
        if self._place.path is not None:
            self._append_line(self._place.path / f"{self._name}.jsonl", line)
        else:
            self._sender = self._sender or ThreadPoolExecutor(8, thread_name_prefix="journal")
            self._sent.append(self._sender.submit(self._place.write, f"{self._name}.{uuid.uuid4().hex}.jsonl", line))
        self.calls.append(call)
        self._replies.update(replies_of([call]))

    def close(self) -> None:
        """Waits until everything is written.

        Raises:
            StoreError: something could not be.
        """
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        if self._sender is not None:
            self._sender.shutdown()
            self._sender = None
        sent, self._sent = self._sent, []
        for one in sent:
            one.result()

    def discard(self) -> None:
        """Removes the journal: what it contains is kept elsewhere."""
        self.close()
        self._place.delete(self._place.names_of(f"{self._name}.*jsonl"))

    def _append_line(self, path: Path, line: bytes) -> None:
        try:
            if self._handle is None:
                self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                line = b"\n" + line  # ends what a killed worker left half-written
            if os.write(self._handle, line) != len(line):
                raise OSError("the disk is full")
        except OSError as error:
            raise StoreError(f"cannot save a call in {path}: {error.strerror or error}") from error


class CallJournals:
    """Cache and ledger of a worker: a journal for each batch it works on.

    Calls made within :meth:`batch` belong to that batch, also those of tasks started there.

    Args:
        place: of the journals, with the replies of runs that were cut off (:data:`EARLIER`).
        stored: finds the replies that the driver's store has; None where there is no store.
    """

    def __init__(self, place: Place, stored: Callable[[str], Awaitable[Reply | None]] | None = None) -> None:
        self._place, self._stored = place, stored
        self._earlier = replies_of(read_journal(place, EARLIER))
        self._open: dict[str, BatchJournal] = {}

    @contextmanager
    def batch(self, name: str) -> Iterator[BatchJournal]:
        """The journal of a batch, while it is worked on."""
        journal = BatchJournal(self._place, name)
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
        found = self._open[current_batch.get()].find(key) or self._earlier.get(key)
        return await self._stored(key) if found is None and self._stored is not None else found

    def record_call(self, call: CallRecord) -> None:
        """See :class:`~metajudge.providers.model.Ledger`."""
        self._open[current_batch.get()].append(call)

    async def flush(self) -> None:
        """Nothing to wait for: :meth:`record_call` has written its line."""


def gather_journals(journals: Place, calls: Place, run_id: str) -> list[CallRecord]:
    """Moves what killed runs left into one file (:data:`EARLIER`) for this run, and into the files of calls.

    Returns:
        The calls that were in no file of calls yet.
    """
    left = [name for name in journals.names_of("*.jsonl") if name != EARLIER]
    found: dict[str, list[CallRecord]] = {}
    for name in left:
        found.setdefault(name.partition(".")[0], []).extend(read_journal(journals, name))
    known = [*read_journal(journals, EARLIER), *(call for batch in found.values() for call in batch)]
    journals.write(EARLIER, b"\n".join(encode(call) for call in known))
    # A worker may have died between keeping a batch's calls and removing its journal.
    kept = calls.names_of("*.parquet")
    fresh = [
        call for name, batch in found.items() if not any(one.startswith(f"{name}-") for one in kept) for call in batch
    ]
    if fresh:
        write_calls(calls, f"left-{run_id}.parquet", fresh)
    journals.delete(left)
    return fresh


def write_calls(place: Place, name: str, calls: Iterable[CallRecord]) -> None:
    """Writes calls as Parquet, whole or not at all."""
    place.write_table(name, pa.Table.from_pylist([_row(call) for call in calls], schema=CALLS))


def read_journal(place: Place, name: str) -> Iterator[CallRecord]:
    """The calls of a journal; a line cut off by a kill was never acknowledged and is skipped."""
    for line in (place.read_bytes(name) or b"").splitlines():
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
