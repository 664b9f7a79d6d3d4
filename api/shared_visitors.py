"""Sessions and attempts to log in, shared by replicas in their PostgreSQL database."""

import secrets
import time
from typing import Final

from metajudge.store.postgres_store import PostgresStore
from metajudge.store.sql import Connection

from .visitors import LOGINS_PER_MINUTE

_NAME: Final = "sessions"


class SharedVisitors:
    """Those of all replicas; they outlive a restart.

    Attempts to log in are counted by the minute of the clock, so that two minutes' attempts may follow each other.
    """

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    async def secret(self) -> bytes:
        """The secret of the first replica that asked."""

        def take(connection: Connection) -> bytes:
            connection.execute(
                "INSERT INTO service_secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                [_NAME, secrets.token_bytes(32)],
            )
            ((found,),) = connection.execute("SELECT value FROM service_secrets WHERE name = $1", [_NAME]).fetchall()
            return bytes(found)

        return await self._store.change_again(take)

    async def is_ended(self, mark: str) -> bool:
        query = "SELECT 1 FROM service_ended_sessions WHERE mark = $1"
        return bool(await self._store.read(lambda connection: connection.execute(query, [mark]).fetchall()))

    async def end(self, mark: str, expires_at: float) -> None:
        def end(connection: Connection) -> None:
            connection.execute("DELETE FROM service_ended_sessions WHERE expires_at < $1", [time.time()])
            connection.execute(
                "INSERT INTO service_ended_sessions (mark, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                [mark, expires_at],
            )

        await self._store.change_again(end)

    async def login_wait(self, address: str) -> float:
        now = time.time()
        minute = int(now // 60)

        def count(connection: Connection) -> int:
            connection.execute("DELETE FROM service_logins WHERE minute < $1", [minute])
            ((attempts,),) = connection.execute(
                "INSERT INTO service_logins (address, minute, attempts) VALUES ($1, $2, 1) "
                "ON CONFLICT (address, minute) DO UPDATE SET attempts = service_logins.attempts + 1 RETURNING attempts",
                [address, minute],
            ).fetchall()
            return int(attempts)

        return 0.0 if await self._store.change(count) <= LOGINS_PER_MINUTE else 60 - now % 60
