"""One writer thread that commits groups of records, and connects anew when the database was restarted.

A record that is awaited is acknowledged once it is committed; one that is only put is committed with the next group.
If a commit is not confirmed, the database is asked for the group before it is sent again, so that no record is lost
or doubled.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from metajudge.errors import StoreError, StoreUnavailableError
from metajudge.store.journal import Record, commit, committed
from metajudge.store.sql import Engine, Pauses

MAX_GROUP: Final = 500
MAX_QUEUED: Final = 20_000
"""Maximum queue; it is only reached while the database does not answer, and then writes are refused."""
_PING_S: Final = 5.0
_CLOSING_S: Final = 5.0
_Ticket = asyncio.Future[Any]
"""The place of an answer to a caller that waits in an event loop."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A record, or only a ticket that is answered once everything before it is committed."""

    record: Record | None
    ticket: _Ticket | None


class Writer:
    """Queue and thread in front of :func:`metajudge.store.journal.commit`.

    Args:
        engine: source of connections, and how long to retry.
        connection: an open one, which the thread takes over.
        writer_id: its row of ``writers``.
        committed: called in the thread with the records that are in the database now.
    """

    def __init__(
        self, engine: Engine, connection: Any, writer_id: int, committed: Callable[[Sequence[Record]], None]
    ) -> None:
        self._engine = engine
        self._connection: Any = connection
        self._id = writer_id
        self._claimed = True  # the caller holds the connection it opened
        self._committed = committed
        self._queue: deque[_Entry] = deque()
        self._wake = threading.Condition()
        self._busy = False
        self._number = 0
        self._closing = threading.Event()
        self._away: StoreUnavailableError | None = None
        self._error: StoreError | None = None
        self._reported = False
        self._thread = threading.Thread(target=self._work, name="metajudge-store", daemon=True)
        self._thread.start()

    @property
    def behind(self) -> bool:
        """Whether an accepted record is not in the database yet."""
        return self._busy or bool(self._queue)

    def put(self, record: Record) -> None:
        """Accepts a record without waiting.

        Raises:
            StoreError: an earlier write failed, the database does not answer, or the store is closed.
        """
        self._add(_Entry(record, None))

    async def write(self, record: Record) -> None:
        """Returns once a record, and everything put before it, is committed.

        Raises:
            StoreError: as for :meth:`put`; the record may have been committed if the connection broke.
        """
        ticket = asyncio.get_running_loop().create_future()
        self._add(_Entry(record, ticket))
        await ticket

    async def flush(self) -> None:
        """Returns once everything accepted before is committed."""
        if not self.behind and self._error is None and self._away is None and not self._closing.is_set():
            return
        ticket = asyncio.get_running_loop().create_future()
        self._add(_Entry(None, ticket))
        await ticket

    def stop(self) -> StoreError | None:
        """Commits the queue and ends the thread (blocks); returns a failure that was not reported yet."""
        with self._wake:
            self._closing.set()
            self._wake.notify()
        self._thread.join()
        untold = None if self._reported else self._error
        self._reported = True
        return untold

    def _add(self, entry: _Entry) -> None:
        with self._wake:
            if self._closing.is_set():
                raise self._engine.closed()
            if self._error is not None:
                self._reported = True
                raise self._error
            if self._away is not None:
                raise self._away
            if len(self._queue) >= MAX_QUEUED:
                raise StoreUnavailableError(
                    f"the store {self._engine.name} does not accept writes and {MAX_QUEUED} are queued: check the "
                    "database, then run the same command again to resume"
                )
            self._queue.append(entry)
            self._wake.notify()

    def _work(self) -> None:
        while True:
            group = self._next_group()
            if group is None:
                break
            try:
                self._process(group)
            except BaseException as error:  # waiting callers must get the error before the thread ends
                self._fail(error, group)
                break
            self._busy = False
        if self._connection is not None:
            self._engine.resign(self._connection, self._id)
            self._connection.close()

    def _next_group(self) -> list[_Entry] | None:
        """Waits for a group; an empty one means to check the connection, None the end."""
        with self._wake:
            self._wake.wait_for(lambda: self._queue or self._closing.is_set(), _PING_S)
            if self._closing.is_set() and not self._queue:
                return None
            group = [self._queue.popleft() for _ in range(min(MAX_GROUP, len(self._queue)))]
            self._busy = bool(group)
            return group

    def _process(self, group: list[_Entry]) -> None:
        """Commits a group, with retries; callers that wait too long get an error, and their records are dropped."""
        self._number += 1
        pauses = Pauses(self._engine.patience_s)
        until: float | None = None
        while (failure := self._attempt(group)) is not None:
            if self._closing.is_set():
                until = until or time.monotonic() + _CLOSING_S
                if time.monotonic() > until:
                    raise failure
                time.sleep(0.1)
            elif not pauses.wait(self._closing) and pauses.over:
                group = self._give_up_waiting(group, failure)
                pauses = Pauses(self._engine.patience_s)
        self._away = None
        self._committed([entry.record for entry in group if entry.record is not None])
        _answer(group)

    def _attempt(self, group: Sequence[_Entry]) -> StoreError | None:
        """Tries to commit a group; returns the failure if a retry may succeed.

        Raises:
            StoreError, a failure of the engine: a retry cannot succeed.
        """
        records = [entry.record for entry in group if entry.record is not None]
        try:
            connection = self._connection
            if connection is None:
                connection = self._connection = self._engine.connect()
                if committed(connection, self._id) >= self._number:
                    return None  # committed: only the confirmation was lost
            if not self._claimed:
                self._claimed = self._engine.claim(connection, self._id)
            if records:
                commit(self._engine, connection, self._id, records, self._number)
            else:
                connection.execute("SELECT 1")
        except self._engine.failures as error:
            if self._connection is not None and (
                self._engine.lost(error) or getattr(self._connection, "closed", False)
            ):
                self._connection.close()
                self._connection, self._claimed = None, False
            if not self._engine.passing(error):
                raise
            return self._engine.store_error(error, "write to")
        except StoreUnavailableError as error:
            return error
        return None

    def _give_up_waiting(self, group: list[_Entry], error: StoreError) -> list[_Entry]:
        """Fails waiting callers and refuses new writes until the database is back; calls that were put are kept."""
        with self._wake:
            self._away = error if isinstance(error, StoreUnavailableError) else StoreUnavailableError(str(error))
            waiting = [*group, *self._queue]
            self._queue = deque(entry for entry in self._queue if entry.ticket is None)
        _answer(waiting, self._away)
        return [entry for entry in group if entry.ticket is None]

    def _fail(self, cause: BaseException, group: Sequence[_Entry]) -> None:
        failure = self._engine.store_error(cause, "write to") if isinstance(cause, self._engine.failures) else cause
        with self._wake:
            lost = [*group, *self._queue]
            self._queue.clear()
            count = sum(one.record is not None for one in lost)
            error = StoreError(
                f"{failure}. Records that were not acknowledged are lost ({count}), and further writes are refused: "
                "fix the cause, then run the same command again to resume"
            )
            error.__cause__ = cause
            self._error = error
            self._reported = self._reported or any(one.ticket is not None for one in lost)
        _answer(lost, error)


def _answer(entries: Iterable[_Entry], error: StoreError | None = None) -> None:
    """Tells callers that wait that their records are committed, or raises the error where they do."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Ticket]] = {}
    for entry in entries:
        if entry.ticket is not None:
            by_loop.setdefault(entry.ticket.get_loop(), []).append(entry.ticket)
    for loop, tickets in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, tickets, error)


def _resolve(tickets: Sequence[_Ticket], error: StoreError | None) -> None:
    for ticket in tickets:
        if ticket.done():  # cancelled meanwhile
            continue
        if error is None:
            ticket.set_result(None)
        else:
            ticket.set_exception(error)
