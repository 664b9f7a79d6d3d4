"""Responses by idempotency key in the PostgreSQL database shared by replicas."""

import time
from typing import Any

from metajudge.store.postgres_store import PostgresStore
from metajudge.store.sql import Connection

from .ledger import KEEP_ANSWERS_S, Answer

TAKEN_OVER_AFTER_S = 5.0
"""Seconds after which the key of a lost replica is free again; a running replica whose connection was interrupted has
reconnected by then."""
_CLEAR_EVERY_S = 300.0

_TAKE = """
    INSERT INTO service_answers (owner, key, fingerprint, at, writer_id) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (owner, key) DO UPDATE SET fingerprint = excluded.fingerprint, at = excluded.at,
        writer_id = excluded.writer_id, status = NULL, body = NULL, location = NULL
    WHERE service_answers.at < $6 OR (service_answers.status IS NULL AND service_answers.at < $7
        AND service_answers.writer_id NOT IN ({alive}))
    RETURNING 1
"""


class SharedAnswers:
    """Responses of all replicas; a key belongs to one replica until it responds, releases it or is killed."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._take = _TAKE.format(alive=store.writers_alive)
        self._cleared_at = float("-inf")

    async def begin(self, owner: str, key: str, fingerprint: str) -> Answer | None:
        """Takes a key for a request; None if it was free, else its entry."""
        now = time.time()
        await self._forget_old(now)
        values = [owner, key, fingerprint, now, self._store.writer_id, now - KEEP_ANSWERS_S, now - TAKEN_OVER_AFTER_S]

        def take(connection: Connection) -> tuple[Any, ...] | None:
            if connection.execute(self._take, values).fetchall():
                return None
            rows = connection.execute(
                "SELECT fingerprint, status, coalesce(body, ''::BYTEA), location FROM service_answers "
                "WHERE owner = $1 AND key = $2",
                [owner, key],
            ).fetchall()
            return rows[0] if rows else (fingerprint, None, b"", None)  # released meanwhile: the caller retries

        found = await self._store.change(take)
        return None if found is None else Answer(*found)

    async def answered(self, owner: str, key: str, status: int, body: bytes, location: str | None) -> None:
        """Stores the response."""
        await self._store.change_again(
            lambda connection: keep_answer(connection, self._store.writer_id, owner, key, status, body, location)
        )

    async def release(self, owner: str, key: str) -> None:
        """Releases a key whose request failed."""
        values = [owner, key, self._store.writer_id]
        await self._store.change_again(
            lambda connection: connection.execute(
                "DELETE FROM service_answers WHERE owner = $1 AND key = $2 AND writer_id = $3 AND status IS NULL",
                values,
            )
        )

    async def _forget_old(self, now: float) -> None:
        if now - self._cleared_at < _CLEAR_EVERY_S:
            return
        self._cleared_at = now
        await self._store.change_again(
            lambda connection: connection.execute("DELETE FROM service_answers WHERE at < $1", [now - KEEP_ANSWERS_S])
        )


def keep_answer(
    connection: Connection, writer_id: int, owner: str, key: str, status: int, body: bytes, location: str | None
) -> None:
    """Stores a response, unless another replica has taken the key."""
    connection.execute(
        "UPDATE service_answers SET status = $4, body = $5, location = $6 "
        "WHERE owner = $1 AND key = $2 AND writer_id = $3 AND status IS NULL",
        [owner, key, writer_id, status, body, location],
    )
