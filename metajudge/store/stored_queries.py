"""The reading half of a store: queries in SQL for both databases."""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import orjson

from metajudge.store import queries
from metajudge.store.protocol import AuditEntry, RunRecord
from metajudge.store.sql import Ask, Connection, Dialect
from metajudge.types import Assessment, Judgment

T = TypeVar("T")
MAX_TOGETHER: Final = 256
_ENTRY: Final = ("entry_id", "kind", "subject", "recorded_at", "payload")


class GatheredReads(Generic[T]):
    """Looks keys up, many in one query.

    Args:
        read: the values of the keys that have one.
    """

    def __init__(self, read: Callable[[Sequence[str]], Awaitable[Mapping[str, T]]]) -> None:
        self._read = read
        self._waiting: dict[str, asyncio.Future[T | None]] = {}
        self._reader: asyncio.Task[None] | None = None

    async def get(self, key: str) -> T | None:
        """The value of a key, None if it has none; raises the read's exception."""
        answer = self._waiting.get(key)
        if answer is None:
            answer = self._waiting[key] = asyncio.get_running_loop().create_future()
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read_all())
        return await asyncio.shield(answer)  # others may wait for it too

    async def _read_all(self) -> None:
        while self._waiting:
            keys = list(self._waiting)[:MAX_TOGETHER]
            asked = {key: self._waiting.pop(key) for key in keys}
            try:
                found = await self._read(keys)
            except BaseException as error:
                for answer in asked.values():
                    _fail(answer, error)
                if not isinstance(error, Exception):
                    raise
                continue
            for key, answer in asked.items():
                if not answer.done():
                    answer.set_result(found.get(key))


def _fail(answer: "asyncio.Future[T | None]", error: BaseException) -> None:
    if answer.done():
        return
    if isinstance(error, asyncio.CancelledError):
        answer.cancel()
    else:
        answer.set_exception(error)
        answer.exception()  # raised in callers that still wait; marks it as retrieved if none do


class StoredAuditLog:
    """Append-only entries by kind and subject: policies, snapshots, proposals, backtests, activations."""

    def __init__(self, write: Ask, read: Ask, dialect: Dialect) -> None:
        self._write = write
        self._read = read
        self._dialect = dialect
        self._appended: Counter[str] = Counter()

    async def append(self, kind: str, subject: str, payload: Mapping[str, Any], *, now: float) -> AuditEntry:
        """Adds an entry, durable when this returns."""
        text = orjson.dumps(payload).decode()

        def add(connection: Connection) -> int:
            (number,) = self._dialect.numbers(connection, "audit_log", "entry_id", 1)
            self._dialect.insert(connection, "audit_log", _ENTRY, [(number, kind, subject, now, text)])
            return number

        number = await self._write(add)
        self._appended[kind] += 1
        return AuditEntry(number, kind, subject, now, dict(payload))

    def appended(self, kind: str) -> int:
        """A number that grows whenever this process adds an entry of a kind; other processes' entries do not count."""
        return self._appended[kind]

    async def entries(self, kind: str, subject: str | None = None, limit: int | None = None) -> list[AuditEntry]:
        """The entries of a kind (about one subject), oldest first; ``limit`` keeps the newest."""
        return await self._read(lambda connection: _entries(connection, kind, subject, limit))


def _entries(connection: Connection, kind: str, subject: str | None, limit: int | None) -> list[AuditEntry]:
    rows = connection.execute(
        "SELECT entry_id, kind, subject, recorded_at, payload FROM audit_log "
        "WHERE kind = $1 AND ($2::VARCHAR IS NULL OR subject = $2) ORDER BY entry_id DESC LIMIT $3",
        [kind, subject, 2**62 if limit is None else limit],
    ).fetchall()
    return [AuditEntry(n, kind, about, at, orjson.loads(text)) for n, kind, about, at, text in reversed(rows)]


class StoredQueries(ABC):
    """What a :class:`~metajudge.store.protocol.Store` answers by :meth:`ask` alone; see there."""

    @abstractmethod
    async def ask(self, question: Callable[[Connection], T], /) -> T: ...

    async def judgments(self) -> list[Judgment]:
        return await self.ask(queries.judgments)

    async def find_judgment(self, judgment_digest: str) -> Judgment | None:
        return await self.ask(lambda connection: queries.find_judgment(connection, judgment_digest))

    async def newest_assessments(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Assessment]]:
        return await self.ask(lambda connection: queries.newest_assessments(connection, after, limit))

    async def run_assessments(self, run_id: str, after: int = 0, limit: int = 1000) -> list[tuple[int, Assessment]]:
        return await self.ask(lambda connection: queries.run_assessments(connection, run_id, after, limit))

    async def runs(self, limit: int = 50) -> list[RunRecord]:
        return await self.ask(lambda connection: queries.runs(connection, limit))

    async def show(self, name: str) -> dict[str, Any] | None:
        return await self.ask(lambda connection: queries.show(connection, name))
