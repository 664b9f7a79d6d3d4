"""Answers of the service by idempotency key, in the store."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from metajudge.store.sql import Asks, Connection, reads, writes

if TYPE_CHECKING:
    from metajudge.store.store import Store

KEEP_ANSWERS_S = 86_400.0
TAKEN_OVER_AFTER_S = 5.0
"""Seconds after which the key of a lost process is free again; a running one whose connection was interrupted has
reconnected by then."""
_CLEAR_EVERY_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The response under an idempotency key; ``status`` is None while the request is in progress."""

    fingerprint: str
    status: int | None
    body: bytes
    location: str | None


class StoredAnswers(Asks):
    """Responses of all processes; a key belongs to one of them until it responds, releases it or is killed."""

    def __init__(self, store: "Store") -> None:
        super().__init__(store.change_again, store.read)
        self._store = store
        self._cleared_at = float("-inf")

    async def begin(self, owner: str, key: str, fingerprint: str) -> Answer | None:
        """Takes a key for a request; None if it was free, else its entry."""
        now = time.time()
        await self._forget_old(now)
        mine = (owner, key, fingerprint, now, self._store.writer_id)

        def take(connection: Connection) -> Answer | None:
            if connection.insert(
                "service_answers", ("owner", "key", "fingerprint", "at", "writer_id"), [mine], "ON CONFLICT DO NOTHING"
            ):
                return None
            rows = connection.rows(
                f"""SELECT fingerprint, status, body, location, at, writer_id FROM service_answers
                    WHERE owner = $1 AND key = $2 {connection.for_update}""",  # noqa: S608
                [owner, key],
            )
            if not rows:
                return Answer(fingerprint, None, b"", None)  # released meanwhile: the caller retries
            first, status, body, location, at, writer = rows[0]
            lost = status is None and at < now - TAKEN_OVER_AFTER_S and writer not in connection.alive()
            if not lost and at >= now - KEEP_ANSWERS_S:
                return Answer(first, status, body or b"", location)
            connection.execute(
                """UPDATE service_answers SET fingerprint = $3, at = $4, writer_id = $5, status = NULL, body =
                    NULL, location = NULL WHERE owner = $1 AND key = $2""",
                mine,
            )
            return None

        return await self._store.change(take)

    @writes
    def answered(
        self, connection: Connection, owner: str, key: str, status: int, body: bytes, location: str | None
    ) -> None:
        """Stores the response."""
        keep_answer(connection, self._store.writer_id, owner, key, status, body, location)

    @writes
    def release(self, connection: Connection, owner: str, key: str) -> None:
        """Releases a key whose request failed."""
        connection.execute(
            "DELETE FROM service_answers WHERE owner = $1 AND key = $2 AND writer_id = $3 AND status IS NULL",
            [owner, key, self._store.writer_id],
        )

    async def _forget_old(self, now: float) -> None:
        if now - self._cleared_at < _CLEAR_EVERY_S:
            return
        self._cleared_at = now
        query = "DELETE FROM service_answers WHERE at < $1"
        await self._write(lambda connection: connection.execute(query, [now - KEEP_ANSWERS_S]))


def keep_answer(
    connection: Connection, writer_id: int, owner: str, key: str, status: int, body: bytes, location: str | None
) -> None:
    """Stores a response, unless another process has taken the key."""
    connection.execute(
        """UPDATE service_answers SET status = $4, body = $5, location = $6
            WHERE owner = $1 AND key = $2 AND writer_id = $3 AND status IS NULL""",
        [owner, key, writer_id, status, body, location],
    )


class RunAnswers(Asks):
    """What finished runs came to, by everything that they depend on."""

    OWNER: Final = "metajudge vet"
    _TABLES: Final = {
        "assessments": "assessment_id",
        "annotations": "annotation_id",
        "audit_log": "entry_id",
        "review_events": "event_id",
    }

    def __init__(self, store: "Store") -> None:
        super().__init__(store.change_again, store.read)
        self._writer_id = store.writer_id

    @reads
    def find(self, connection: Connection, key: str) -> bytes | None:
        """The answer stored under a key.

        None if there is none, or if a result, decision or log entry was added since.
        """
        query = "SELECT body FROM service_answers WHERE owner = $1 AND key = $2 AND fingerprint = $3"
        return next(iter(connection.column(query, [self.OWNER, key, self._state(connection)])), None)

    @writes
    def keep(self, connection: Connection, key: str, body: bytes) -> None:
        """Keeps an answer with the state that the store has now."""
        connection.execute(
            """INSERT INTO service_answers (owner, key, fingerprint, status, body, at, writer_id)
                VALUES ($1, $2, $3, 200, $4, $5, $6) ON CONFLICT (owner, key) DO UPDATE SET
                fingerprint = excluded.fingerprint, body = excluded.body, at = excluded.at""",
            [self.OWNER, key, self._state(connection), body, time.time(), self._writer_id],
        )

    def _state(self, connection: Connection) -> str:
        """The newest row of each table that a result depends on."""
        queries = (f"SELECT coalesce(max({name}), 0) FROM {table}" for table, name in self._TABLES.items())  # noqa: S608
        return "/".join(str(connection.row(query)[0]) for query in queries)
