"""One writer thread that commits groups of records to PostgreSQL, and reconnects when the server is restarted.

A record that is awaited is acknowledged once it is committed; one that is only put is committed with the next group,
within ``COMMIT_EVERY_S``. If a commit is not confirmed, the database is checked for the group before it is sent
again, so that no record is lost or duplicated.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import psycopg

from metajudge.errors import StoreError, StoreUnavailableError
from metajudge.store.postgres_connections import Connections, Pauses, PgConnection, lost, passing
from metajudge.store.postgres_journal import PostgresJournal, Record
from metajudge.store.tickets import Ticket, answer

COMMIT_EVERY_S: Final = 0.02
MAX_GROUP: Final = 500
MAX_QUEUED: Final = 20_000
"""Maximum queue; it is only reached while the server is unreachable, and then writes are refused."""
_PING_S: Final = 5.0
_CLOSING_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Entry:
    """A record, or only a ticket that is answered once everything before it is committed."""

    record: Record | None
    ticket: Ticket | None


class PostgresWriter:
    """Queue and thread in front of a :class:`PostgresJournal`.

    Args:
        connections: source of connections, and how long to retry.
        connection: an open one, which the thread takes over.
        claim: marks the writer as alive on a new connection; False while an earlier connection still does.
        committed: called in the thread with the records that are in the database now.
    """

    def __init__(
        self,
        connections: Connections,
        connection: PgConnection,
        journal: PostgresJournal,
        claim: Callable[[PgConnection], bool],
        committed: Callable[[Sequence[Record]], None],
    ) -> None:
        self._connections = connections
        self._connection: PgConnection | None = connection
        self._journal = journal
        self._claim = claim
        self._claimed = False
        self._committed = committed
        self._queue: deque[_Entry] = deque()
        self._wake = threading.Condition()
        self._due: float | None = None
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
            StoreError: an earlier write failed, the server is unreachable, or the store is closed.
        """
        self._add(_Entry(record, None))

    async def write(self, record: Record) -> None:
        """Returns once a record, and everything put before it, is committed.

        Raises:
            StoreError: as for :meth:`put`; the record may have been committed if the connection broke.
        """
        ticket = Ticket.new()
        self._add(_Entry(record, ticket))
        await ticket.future

    async def flush(self) -> None:
        """Returns once everything accepted before is committed."""
        if not self.behind and self._error is None and self._away is None and not self._closing.is_set():
            return
        ticket = Ticket.new()
        self._add(_Entry(None, ticket))
        await ticket.future

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
                raise self._connections.closed()
            if self._error is not None:
                self._reported = True
                raise self._error
            if self._away is not None:
                raise self._away
            if len(self._queue) >= MAX_QUEUED:
                raise StoreUnavailableError(
                    f"the store {self._connections.url} does not accept writes and {MAX_QUEUED} are queued: check the "
                    "server, then run the same command again to resume"
                )
            self._queue.append(entry)
            if entry.ticket is not None:
                self._due = 0.0
                self._wake.notify()
            elif self._due is None:
                self._due = time.monotonic() + COMMIT_EVERY_S
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
            self._connection.close()

    def _next_group(self) -> list[_Entry] | None:
        """Waits for a group; an empty one means to check the connection, None the end."""
        with self._wake:
            idle_until = time.monotonic() + _PING_S
            while not self._closing.is_set():
                due = idle_until if self._due is None else self._due
                if due <= time.monotonic():
                    break
                self._wake.wait(due - time.monotonic())
            if self._closing.is_set() and not self._queue:
                return None
            group = [self._queue.popleft() for _ in range(min(MAX_GROUP, len(self._queue)))]
            self._busy = bool(group)
            self._due = 0.0 if self._queue else None
            return group

    def _process(self, group: list[_Entry]) -> None:
        """Commits a group, with retries; callers that wait too long get an error, and their records are dropped."""
        self._number += 1
        pauses = Pauses(self._connections.patience_s)
        until: float | None = None
        while (failure := self._attempt(group)) is not None:
            if self._closing.is_set():
                until = until or time.monotonic() + _CLOSING_S
                if time.monotonic() > until:
                    raise failure
                time.sleep(0.1)
            elif not pauses.wait(self._closing) and pauses.over:
                group = self._give_up_waiting(group, failure)
                pauses = Pauses(self._connections.patience_s)
        self._away = None
        self._committed([entry.record for entry in group if entry.record is not None])
        answer([(entry.ticket, None) for entry in group if entry.ticket is not None])

    def _attempt(self, group: Sequence[_Entry]) -> StoreError | None:
        """Tries to commit a group; returns the failure if a retry may succeed.

        Raises:
            StoreError, psycopg.Error: a retry cannot succeed.
        """
        records = [entry.record for entry in group if entry.record is not None]
        try:
            connection = self._connection
            if connection is None:
                connection = self._connection = self._connections.connect()
                if self._journal.committed(connection) >= self._number:
                    return None  # committed: only the confirmation was lost
            if not self._claimed:
                self._claimed = self._claim(connection)
            if records:
                self._journal.commit(connection, records, self._number)
            else:
                connection.execute("SELECT 1")
        except psycopg.Error as error:
            if self._connection is not None and (lost(error) or self._connection.closed):
                self._connection.close()
                self._connection, self._claimed = None, False
            if not passing(error):
                raise
            return self._connections.store_error(error, "write to")
        except StoreUnavailableError as error:
            return error
        return None

    def _give_up_waiting(self, group: list[_Entry], error: StoreError) -> list[_Entry]:
        """Fails waiting callers and refuses new writes until the server is back; calls that were put are kept."""
        with self._wake:
            self._away = error if isinstance(error, StoreUnavailableError) else StoreUnavailableError(str(error))
            tickets = [entry.ticket for entry in (*group, *self._queue) if entry.ticket is not None]
            self._queue = deque(entry for entry in self._queue if entry.ticket is None)
        answer([(ticket, self._away) for ticket in tickets])
        return [entry for entry in group if entry.ticket is None]

    def _fail(self, cause: BaseException, group: Sequence[_Entry]) -> None:
        failure = self._connections.store_error(cause, "write to") if isinstance(cause, psycopg.Error) else cause
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
            tickets = [entry.ticket for entry in lost if entry.ticket is not None]
            self._reported = self._reported or bool(tickets)
        answer([(ticket, error) for ticket in tickets])
