"""The audit log: policies, snapshots, proposals, backtests, activations and audit records."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import orjson

from metajudge.store.protocol import AuditEntry
from metajudge.store.sql import Ask, Connection, Dialect


class StoredAuditLog:
    """Append-only entries by kind and subject, oldest first."""

    def __init__(self, write: Ask, read: Ask, dialect: Dialect) -> None:
        self._write = write
        self._read = read
        self._dialect = dialect
        self._appended: Counter[str] = Counter()
        self._by_others = 0

    async def append(self, kind: str, subject: str, payload: Mapping[str, Any], *, now: float) -> AuditEntry:
        """Adds an entry, durable when this returns."""
        text = orjson.dumps(payload).decode()
        number = await self._write(lambda connection: _append(connection, self._dialect, kind, subject, now, text))
        self._appended[kind] += 1
        return AuditEntry(number, kind, subject, now, dict(payload))

    def appended(self, kind: str) -> int:
        """A number that grows whenever this process adds an entry of a kind, or :meth:`changed_by_others` is called."""
        return self._appended[kind] + self._by_others

    def changed_by_others(self) -> None:
        """Notes that another process may have added entries through this one."""
        self._by_others += 1

    async def entries(self, kind: str, subject: str | None = None, limit: int | None = None) -> list[AuditEntry]:
        """The entries of a kind (about one subject), oldest first; ``limit`` keeps the newest."""
        return await self._read(lambda connection: _entries(connection, kind, subject, limit))


def _append(connection: Connection, dialect: Dialect, kind: str, subject: str, now: float, payload: str) -> int:
    (number,) = dialect.numbers(connection, "audit_log", "entry_id", 1)
    connection.execute("INSERT INTO audit_log VALUES ($1, $2, $3, $4, $5)", [number, kind, subject, now, payload])
    return number


def _entries(connection: Connection, kind: str, subject: str | None, limit: int | None) -> list[AuditEntry]:
    rows = connection.execute(
        "SELECT entry_id, kind, subject, recorded_at, payload FROM audit_log "
        "WHERE kind = $1 AND ($2::VARCHAR IS NULL OR subject = $2) ORDER BY entry_id DESC LIMIT $3",
        [kind, subject, 2**62 if limit is None else limit],
    ).fetchall()
    return [AuditEntry(n, kind, about, at, orjson.loads(text)) for n, kind, about, at, text in reversed(rows)]
