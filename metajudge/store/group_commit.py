"""One writer thread that commits what has gathered, and answers after the commit.

A commit costs milliseconds however little it holds, so writes wait a moment for company. Order is kept:
what is acknowledged implies that everything queued before it is durable too.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from metajudge.errors import StoreError

T = TypeVar("T")

MAX_GROUP: Final = 1_000
MAX_QUEUED: Final = 2_000
MAX_QUEUED_CHARS: Final = 16_000_000
AWAITED_LINGER_S: Final = 0.003
UNAWAITED_LINGER_S: Final = 0.1
REST: Final = 10
MAX_REST_S: Final = 0.06
"""A commit that took d seconds is followed by a rest of ``REST * d``, at most this: a trickle of writes, each
waiting for its own commit, would otherwise keep a core busy."""
QUIET_S: Final = 0.01
"""A rest ends early for an awaited write when nothing has arrived for so long: no company is coming."""


@dataclass(frozen=True, slots=True)
class _Ticket:
    """Where the answer goes."""

    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


@dataclass(frozen=True, slots=True)
class _Write(Generic[T]):
    row: T | None
    size: int
    ticket: _Ticket | None


@dataclass(frozen=True, slots=True)
class _Task:
    run: Callable[[], Any]
    ticket: _Ticket


class GroupCommit(Generic[T]):
    """Queue and thread in front of a commit function.

    Args:
        commit: makes a group durable, called in the writer thread; whatever it raises ends the writer.
        name: what is written to, for messages.
    """

    def __init__(self, commit: Callable[[Sequence[T]], None], name: str) -> None:
        self._commit = commit
        self._name = name
        self._queue: deque[_Write[T] | _Task] = deque()
        self._wake = threading.Condition()
        self._due: float | None = None
        self._arrived = 0.0
        self._awaited = False
        self._rested_at = 0.0
        self._chars = 0
        self._closing = False
        self._error: StoreError | None = None
        self._told = False
        self._thread = threading.Thread(target=self._work, name="metajudge-store", daemon=True)
        self._thread.start()

    @property
    def full(self) -> bool:
        return len(self._queue) >= MAX_QUEUED or self._chars >= MAX_QUEUED_CHARS

    def put(self, row: T, size: int) -> None:
        """Queues a write nobody waits for.

        Raises:
            StoreError: a commit has failed before, or the store is closed.
        """
        self._enqueue(_Write(row, size, None), UNAWAITED_LINGER_S)

    async def write(self, row: T, size: int) -> None:
        """Queues a write, first waiting for room, and returns when it is durable."""
        while self.full:
            await self.flush()
        ticket = _new_ticket()
        self._enqueue(_Write(row, size, ticket), AWAITED_LINGER_S)
        await ticket.future

    async def flush(self) -> None:
        """Returns when everything queued so far is durable."""
        ticket = _new_ticket()
        self._enqueue(_Write(None, 0, ticket), 0.0)
        await ticket.future

    async def run(self, task: Callable[[], Any]) -> Any:
        """Runs a function in the writer thread, after what is queued and apart from any group.

        A StoreError it raises is the caller's alone; anything else ends the writer.
        """
        ticket = _new_ticket()
        self._enqueue(_Task(task, ticket), 0.0)
        return await ticket.future

    def stop(self) -> StoreError | None:
        """Commits what is queued and ends the thread (blocks); returns a failure nobody was told of."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        untold = None if self._told else self._error
        self._told = True
        return untold

    def _enqueue(self, entry: _Write[T] | _Task, linger: float) -> None:
        now = time.monotonic()
        due = max(now + linger, self._rested_at) if linger else now
        with self._wake:
            if self._error is not None:
                self._told = True
                raise self._error
            if self._closing:
                raise StoreError(f"the store {self._name} is closed; open it again to write to it")
            self._queue.append(entry)
            self._arrived = now
            if isinstance(entry, _Write):
                self._chars += entry.size
            sooner = self._due is None or due < self._due
            awaited = entry.ticket is not None
            if sooner:
                self._due = due
            if sooner or awaited > self._awaited or len(self._queue) == MAX_GROUP:
                self._wake.notify()
            self._awaited |= awaited

    def _work(self) -> None:
        while group := self._next_group():
            started = time.monotonic()
            try:
                answers = self._process(group)
            except BaseException as error:  # the thread must never end without telling those who wait
                self._fail(error, group)
                return
            with self._wake:
                self._chars -= sum(entry.size for entry in group if isinstance(entry, _Write))
            ended = time.monotonic()
            self._rested_at = ended + min(REST * (ended - started), MAX_REST_S)
            _answer(answers)

    def _next_group(self) -> list[_Write[T] | _Task]:
        """Waits for a group: writes up to the next task, or one task; empty when closed."""
        with self._wake:
            while not self._closing and len(self._queue) < MAX_GROUP:
                pause = self._pause()
                if pause is not None and pause <= 0:
                    break
                self._wake.wait(pause)
            group: list[_Write[T] | _Task] = []
            while self._queue and len(group) < MAX_GROUP:
                if group and isinstance(self._queue[0], _Task):
                    break
                entry = self._queue.popleft()
                group.append(entry)
                if isinstance(entry, _Task):
                    break
            self._due = time.monotonic() if self._queue else None
            self._awaited = any(entry.ticket is not None for entry in self._queue)
            return group

    def _pause(self) -> float | None:
        """Seconds until the next commit is due; None while nothing is queued."""
        if self._due is None:
            return None
        due = min(self._due, self._arrived + QUIET_S) if self._awaited else self._due
        return due - time.monotonic()

    def _process(self, group: list[_Write[T] | _Task]) -> list[tuple[_Ticket, Any]]:
        first = group[0]
        if isinstance(first, _Task):
            try:
                return [(first.ticket, first.run())]
            except StoreError as error:
                return [(first.ticket, error)]
        writes = [entry for entry in group if isinstance(entry, _Write)]
        rows = [write.row for write in writes if write.row is not None]
        if rows:
            self._commit(rows)
        return [(write.ticket, None) for write in writes if write.ticket is not None]

    def _fail(self, cause: BaseException, group: list[_Write[T] | _Task]) -> None:
        with self._wake:
            lost = [*group, *self._queue]
            self._queue.clear()
            count = sum(isinstance(entry, _Task) or entry.row is not None for entry in lost)
            error = StoreError(
                f"the store {self._name} could not be written to: {cause}. {count} writes since the last commit "
                "are lost, everything acknowledged before is kept. Nothing more is accepted: see to the cause "
                "(disk space, permissions), then run the same command again to go on"
            )
            error.__cause__ = cause
            self._error = error
            tickets = [entry.ticket for entry in lost if entry.ticket is not None]
            self._told = self._told or bool(tickets)
        _answer([(ticket, error) for ticket in tickets])


def _new_ticket() -> _Ticket:
    loop = asyncio.get_running_loop()
    return _Ticket(loop, loop.create_future())


def _answer(answers: list[tuple[_Ticket, Any]]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Ticket, Any]]] = {}
    for ticket, value in answers:
        by_loop.setdefault(ticket.loop, []).append((ticket, value))
    for loop, answered in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, answered)


def _resolve(answers: list[tuple[_Ticket, Any]]) -> None:
    for ticket, value in answers:
        if ticket.future.done():  # cancelled meanwhile
            continue
        if isinstance(value, BaseException):
            ticket.future.set_exception(value)
        else:
            ticket.future.set_result(value)
