"""The audit log: policies, snapshots, proposals, backtests, activations and audit records."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import duckdb
import orjson

from metajudge.store.database import only_row
from metajudge.store.protocol import AuditEntry

Connection = duckdb.DuckDBPyConnection


class DuckDBAuditLog:
    """Entries by kind and subject, oldest first; nothing is ever changed."""

    def __init__(
        self,
        write: Callable[[Callable[[Connection], Any]], Awaitable[Any]],
        read: Callable[[Callable[[Connection], Any]], Awaitable[Any]],
    ) -> None:
        self._write = write
        self._read = read

    async def append(self, kind: str, subject: str, payload: Mapping[str, Any], *, now: float) -> AuditEntry:
        """Adds an entry, durable when this returns."""
        text = orjson.dumps(payload).decode()
        number: int = await self._write(lambda connection: _append(connection, kind, subject, now, text))
        return AuditEntry(number, kind, subject, now, dict(payload))

    async def entries(self, kind: str, subject: str | None = None, limit: int | None = None) -> list[AuditEntry]:
        """The entries of a kind (about one subject), oldest first; ``limit`` keeps the newest."""
        found: list[AuditEntry] = await self._read(lambda cursor: _entries(cursor, kind, subject, limit))
        return found


def _append(connection: Connection, kind: str, subject: str, now: float, payload: str) -> int:
    (number,) = only_row(connection, "SELECT coalesce(max(entry_id), 0) + 1 FROM audit_log")
    connection.execute("INSERT INTO audit_log VALUES ($1, $2, $3, $4, $5)", [number, kind, subject, now, payload])
    return int(number)


def _entries(cursor: Connection, kind: str, subject: str | None, limit: int | None) -> list[AuditEntry]:
    rows = cursor.execute(
        "SELECT entry_id, kind, subject, recorded_at, payload FROM audit_log "
        "WHERE kind = $1 AND ($2 IS NULL OR subject = $2) ORDER BY entry_id DESC LIMIT $3",
        [kind, subject, 2**62 if limit is None else limit],
    ).fetchall()
    return [AuditEntry(n, kind, about, at, orjson.loads(text)) for n, kind, about, at, text in reversed(rows)]
