"""One writer thread that brings the database up to date in groups, behind a write-ahead log.

A record is acknowledged when it is in the log (see :mod:`metajudge.store.write_ahead`). Order is kept: if a record
is in the database, so is everything acknowledged before it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from metajudge.errors import StoreError
from metajudge.store.tickets import Ticket, answer
from metajudge.store.write_ahead import WriteAhead

T = TypeVar("T")

COMMIT_EVERY_S: Final = 0.25
MAX_GROUP: Final = 1_000
MAX_GROUP_BYTES: Final = 2_000_000
"""A group is committed when its first record is this old, or at this many records or bytes."""
BUSY_GROUP: Final = 50
BUSY_EVERY_S: Final = 1.0
"""After a group of this many records the next one waits this long: a commit costs nearly the same for any number."""
MAX_QUEUED: Final = 4_000
MAX_QUEUED_BYTES: Final = 16_000_000
"""Beyond this, awaited writes wait for the database to catch up."""


@dataclass(frozen=True, slots=True)
class _Write(Generic[T]):
    row: T
    size: int
    segment: int


@dataclass(frozen=True, slots=True)
class _Task:
    run: Callable[[], Any]
    ticket: Ticket


class GroupCommit(Generic[T]):
    """Queue and thread in front of a commit function.

    Args:
        commit: puts a group into the database and notes the number of its log segment, called in the writer
            thread; whatever it raises ends the writer.
        encode: turns a record into its bytes in the log.
        name: of the store, for messages.
        ahead: the log; None for a database in memory.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[T], int], None],
        encode: Callable[[T], bytes],
        name: str,
        ahead: WriteAhead | None = None,
    ) -> None:
        self._commit = commit
        self._encode = encode
        self._name = name
        self._ahead = ahead
        self._queue: deque[_Write[T] | _Task] = deque()
        self._wake = threading.Condition()
        self._due: float | None = None
        self._every_s = COMMIT_EVERY_S
        self._records = 0
        self._bytes = 0
        self._busy = False
        self._closing = False
        self._error: StoreError | None = None
        self._told = False
        self._thread = threading.Thread(target=self._work, name="metajudge-store", daemon=True)
        self._thread.start()

    @property
    def behind(self) -> bool:
        """Whether an acknowledged record is not in the database yet."""
        return self._busy or self._records > 0

    def put(self, row: T) -> None:
        """Acknowledges a record on return, without waiting for anything.

        Raises:
            StoreError: the log or the database has failed before or fails now, or the store is closed.
        """
        payload = self._encode(row)
        with self._wake:
            self._check_open()
            try:
                segment = 0 if self._ahead is None else self._ahead.append(payload)
            except OSError as error:
                self._fail(error, [])
                raise self._told_error() from error
            self._queue.append(_Write(row, len(payload), segment))
            self._records += 1
            self._bytes += len(payload)
            if self._due is None:
                self._due = time.monotonic() + self._every_s
                self._wake.notify()
            elif self._records == MAX_GROUP or self._bytes >= MAX_GROUP_BYTES:
                self._due = 0.0
                self._wake.notify()

    async def write(self, row: T) -> None:
        """Acknowledges a record on return, first waiting for room.

        Raises:
            StoreError: as for :meth:`put`.
        """
        while self._records >= MAX_QUEUED or self._bytes >= MAX_QUEUED_BYTES:
            await self.flush()
        self.put(row)

    async def flush(self) -> None:
        """Returns when the database has everything acknowledged so far."""
        await self.run(lambda: None)

    async def run(self, task: Callable[[], Any]) -> Any:
        """Runs a function in the writer thread, after what is queued and apart from any group.

        A StoreError it raises is the caller's alone; anything else ends the writer.
        """
        ticket = Ticket.new()
        with self._wake:
            self._check_open()
            if self._ahead is not None:
                self._ahead.rotate()  # a segment contains at most one group
            self._queue.append(_Task(task, ticket))
            self._due = 0.0
            self._wake.notify()
        return await ticket.future

    def stop(self) -> StoreError | None:
        """Commits the queue and ends the thread (blocks); returns a failure that was not reported yet."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        untold = None if self._told else self._error
        self._told = True
        return untold

    def _check_open(self) -> None:
        if self._error is not None:
            raise self._told_error()
        if self._closing:
            raise StoreError(f"the store {self._name} is closed; open it again to write to it")

    def _told_error(self) -> StoreError:
        assert self._error is not None
        self._told = True
        return self._error

    def _work(self) -> None:
        while group := self._next_group():
            try:
                reply = self._process(group)
            except BaseException as error:  # waiting callers must get the error before the thread ends
                with self._wake:
                    self._fail(error, group)
                return
            self._busy = False
            if reply is not None:
                answer([reply])

    def _next_group(self) -> "list[_Write[T] | _Task]":
        """Waits for a group: the writes up to the next task, or one task; empty when closed."""
        with self._wake:
            while not self._closing and (self._due is None or self._due > time.monotonic()):
                self._wake.wait(None if self._due is None else self._due - time.monotonic())
            group: list[_Write[T] | _Task] = []
            while self._queue and not (group and isinstance(self._queue[0], _Task)):
                entry = self._queue.popleft()
                group.append(entry)
                if isinstance(entry, _Task):
                    break
                self._records -= 1
                self._bytes -= entry.size
            if self._ahead is not None and not self._queue:
                self._ahead.rotate()
            self._busy = bool(group)
            self._due = 0.0 if self._queue else None
            return group

    def _process(self, group: "list[_Write[T] | _Task]") -> tuple[Ticket, Any] | None:
        first = group[0]
        if isinstance(first, _Task):
            try:
                return first.ticket, first.run()
            except StoreError as error:
                return first.ticket, error
        writes = [entry for entry in group if isinstance(entry, _Write)]
        self._commit([write.row for write in writes], writes[-1].segment)
        self._every_s = COMMIT_EVERY_S if len(writes) < BUSY_GROUP else BUSY_EVERY_S
        if self._ahead is not None:
            self._ahead.drop(writes[-1].segment)
        return None

    def _fail(self, cause: BaseException, group: Sequence[_Write[T] | _Task]) -> None:
        """Ends the writer; call with the lock held."""
        lost = [*group, *self._queue]
        self._queue.clear()
        kept = (
            "Acknowledged records are in its log and will be read when it is opened again"
            if self._ahead is not None
            else "Its contents are lost"
        )
        error = StoreError(
            f"the store {self._name} could not be written to: {cause}. {kept}. Further writes are refused: fix the "
            "cause (disk space, permissions), then run the same command again to resume"
        )
        error.__cause__ = cause
        self._error = error
        self._closing = True
        self._wake.notify()
        tickets = [entry.ticket for entry in lost if isinstance(entry, _Task)]
        self._told = self._told or bool(tickets)
        answer([(ticket, error) for ticket in tickets])
