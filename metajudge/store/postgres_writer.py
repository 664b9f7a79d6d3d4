"""One writer thread that commits groups of records to PostgreSQL, through a server that goes away and comes back.

A record that is awaited is acknowledged once it is committed; one that is only put is committed with the next group,
within ``COMMIT_EVERY_S``. A group whose commit was not answered is looked for before it is sent again, so that no
record is lost and none is doubled.
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
"""Beyond this, which takes a server that is away, nothing more is accepted."""
_PING_S: Final = 5.0
_CLOSING_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Entry:
    """A record, or nothing but the wish to know when all before it is committed."""

    record: Record | None
    ticket: Ticket | None


class PostgresWriter:
    """Queue and thread in front of a :class:`PostgresJournal`.

    Args:
        connections: where connections come from, and how long to try.
        connection: an open one, which the thread takes over.
        claim: marks the writer as alive on a new connection; False where an earlier one still does.
        committed: told which records are in the database now, in the thread.
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
        self._told = False
        self._thread = threading.Thread(target=self._work, name="metajudge-store", daemon=True)
        self._thread.start()

    @property
    def behind(self) -> bool:
        """Whether the database lacks something that was taken on."""
        return self._busy or bool(self._queue)

    def put(self, record: Record) -> None:
        """Takes a record on, without waiting for anything.

        Raises:
            StoreError: an earlier write failed, the server is away, or the store is closed.
        """
        self._add(_Entry(record, None))

    async def write(self, record: Record) -> None:
        """Returns once a record, and all that was put before it, is committed.

        Raises:
            StoreError: as for :meth:`put`; the record may have been committed where the connection broke.
        """
        ticket = Ticket.new()
        self._add(_Entry(record, ticket))
        await ticket.future

    async def flush(self) -> None:
        """Returns once all that was taken on before is committed."""
        if not self.behind and self._error is None and self._away is None and not self._closing.is_set():
            return
        ticket = Ticket.new()
        self._add(_Entry(None, ticket))
        await ticket.future

    def stop(self) -> StoreError | None:
        """Commits what is queued and ends the thread (blocks); returns a failure nobody was told of."""
        with self._wake:
            self._closing.set()
            self._wake.notify()
        self._thread.join()
        untold = None if self._told else self._error
        self._told = True
        return untold

    def _add(self, entry: _Entry) -> None:
        with self._wake:
            if self._closing.is_set():
                raise self._connections.closed()
            if self._error is not None:
                self._told = True
                raise self._error
            if self._away is not None:
                raise self._away
            if len(self._queue) >= MAX_QUEUED:
                raise StoreUnavailableError(
                    f"the store {self._connections.url} takes no writes and {MAX_QUEUED} wait already: see to the "
                    "server, then run the same again to go on"
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
            except BaseException as error:  # the thread must never end without telling those who wait
                self._fail(error, group)
                break
            self._busy = False
        if self._connection is not None:
            self._connection.close()

    def _next_group(self) -> list[_Entry] | None:
        """Waits for a group; an empty one is a reason to see whether the connection lives, None the end."""
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
        """Commits a group however often it takes; those who wait too long are told, and what they gave is dropped."""
        self._number += 1
        pauses = Pauses(self._connections.patience_s)
        until: float | None = None
        while (said := self._attempt(group)) is not None:
            if self._closing.is_set():
                until = until or time.monotonic() + _CLOSING_S
                if time.monotonic() > until:
                    raise said
                time.sleep(0.1)
            elif not pauses.wait(self._closing) and pauses.over:
                group = self._give_up_waiting(group, said)
                pauses = Pauses(self._connections.patience_s)
        self._away = None
        self._committed([entry.record for entry in group if entry.record is not None])
        answer([(entry.ticket, None) for entry in group if entry.ticket is not None])

    def _attempt(self, group: Sequence[_Entry]) -> StoreError | None:
        """Tries to commit a group; what went wrong where it may go right in a moment.

        Raises:
            StoreError, psycopg.Error: it never will.
        """
        records = [entry.record for entry in group if entry.record is not None]
        try:
            connection = self._connection
            if connection is None:
                connection = self._connection = self._connections.connect()
                if self._journal.committed(connection) >= self._number:
                    return None  # the answer was lost, not the group
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
            return self._connections.said(error, "write to")
        except StoreUnavailableError as error:
            return error
        return None

    def _give_up_waiting(self, group: list[_Entry], error: StoreError) -> list[_Entry]:
        """Tells those who wait, and refuses what is new until the server is back; calls that were put are kept."""
        with self._wake:
            self._away = error if isinstance(error, StoreUnavailableError) else StoreUnavailableError(str(error))
            tickets = [entry.ticket for entry in (*group, *self._queue) if entry.ticket is not None]
            self._queue = deque(entry for entry in self._queue if entry.ticket is None)
        answer([(ticket, self._away) for ticket in tickets])
        return [entry for entry in group if entry.ticket is None]

    def _fail(self, cause: BaseException, group: Sequence[_Entry]) -> None:
        said = self._connections.said(cause, "write to") if isinstance(cause, psycopg.Error) else cause
        with self._wake:
            lost = [*group, *self._queue]
            self._queue.clear()
            count = sum(one.record is not None for one in lost)
            error = StoreError(
                f"{said}. What was not acknowledged is gone ({count} records), and nothing more is accepted: see to "
                "the cause, then run the same command again to go on"
            )
            error.__cause__ = cause
            self._error = error
            tickets = [entry.ticket for entry in lost if entry.ticket is not None]
            self._told = self._told or bool(tickets)
        answer([(ticket, error) for ticket in tickets])
