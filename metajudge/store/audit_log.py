"""The audit log of a store."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from metajudge.store.sql import Ask, Connection, Dialect

_ENTRY: Final = ("entry_id", "kind", "subject", "recorded_at", "payload")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One record of the audit log; ``recorded_at`` in seconds since the epoch."""

    entry_id: int
    kind: str
    subject: str
    recorded_at: float
    payload: Mapping[str, Any]


class AuditLog:
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
