"""Limits on concurrent work, and rate limits by caller."""

import math
import secrets
import time
from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from starlette.exceptions import HTTPException

from metajudge.store.sql import Connection
from metajudge.types.frozen import Frozen

from .keys import Caller

if TYPE_CHECKING:
    from metajudge.store.store import Store

LOGINS_PER_MINUTE = 20
"""Attempts to log in from one address, on all replicas together."""


Count = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]


class Limits(Frozen):
    """Limits on concurrent work; requests beyond them are refused, not queued.

    Attributes:
        upload_bytes: size of a batch in bytes; it is written to disk as it arrives.
        upload_s: seconds within which a batch must arrive, with pauses of at most ``body_s``; then 408.
        held_bytes: bytes of all request bodies in memory together; beyond it 503.
        batch_items: judgments of one batch.
        in_flight: concurrent requests that ask models; beyond it 503.
        computing: running and waiting computations such as rankings and exports; beyond it 503.
        jobs_running: concurrent jobs.
        jobs_queued: jobs that wait or are being uploaded; beyond it 503.
        job_workers: judgments of a job in flight at once.
        request_s: seconds within which a response must be ready; then 504.
        body_s: seconds within which a request's body must arrive; then 408.
        head_s: seconds within which a request's head must arrive; then the connection is closed.
        requests_per_minute: of each key, unless the key has its own; None for no limit.
        connections: open connections; beyond it 503.
    """

    upload_bytes: Count = 512_000_000
    upload_s: Seconds = 600.0
    held_bytes: Count = 256_000_000
    batch_items: Count = 100_000
    in_flight: Count = 64
    computing: Count = 8
    jobs_running: Count = 2
    jobs_queued: Count = 20
    job_workers: Count = 16
    request_s: Seconds = 120.0
    body_s: Seconds = 20.0
    head_s: Seconds = 10.0
    requests_per_minute: Count | None = None
    connections: Count = 2_000


BURST_S = 60.0
"""A key's requests of so many seconds may come at once."""


class RateLimit:
    """Requests a minute of each caller, over all processes.

    Args:
        per_minute: of each key without a rate of its own; None for no limit.
    """

    def __init__(self, store: "Store", per_minute: int | None) -> None:
        self._store = store
        self._per_minute = per_minute

    async def check(self, caller: Caller, what: str) -> None:
        """Counts a request.

        Args:
            what: the beginning of the error message.

        Raises:
            HTTPException: 429, the caller's rate is used up; with the time to wait.
        """
        rate = caller.requests_per_minute or self._per_minute
        if rate is None:
            return
        wait = await self._store.limits.take(caller.name, rate, BURST_S)
        if wait:
            raise HTTPException(429, f"{what}: try again in {wait:.1f} s", {"Retry-After": str(math.ceil(wait))})


class Visitors:
    """Ended sessions and attempts to log in, of all processes; they outlive a restart.

    Attempts to log in are counted by the minute of the clock, so that two minutes' attempts may follow each other.
    """

    def __init__(self, store: "Store") -> None:
        self._store = store

    async def secret(self) -> bytes:
        """The stored part of the key that signs session cookies: that of the first process that asked."""

        def take(connection: Connection) -> bytes:
            connection.execute(
                "INSERT INTO service_secrets (name, value) VALUES ('sessions', $1) ON CONFLICT DO NOTHING",
                [secrets.token_bytes(32)],
            )
            query = "SELECT value FROM service_secrets WHERE name = 'sessions'"
            return bytes(connection.row(query)[0])

        return await self._store.change_again(take)

    async def is_ended(self, mark: str) -> bool:
        """Whether a session was ended, by its :attr:`~.pages.sessions.Session.mark`."""
        query = "SELECT 1 FROM service_ended_sessions WHERE mark = $1"
        return bool(await self._store.read(lambda connection: connection.rows(query, [mark])))

    async def end(self, mark: str, expires_at: float) -> None:
        """Ends a session for every copy of its cookie, until it would have expired."""

        def end(connection: Connection) -> None:
            connection.execute("DELETE FROM service_ended_sessions WHERE expires_at < $1", [time.time()])
            connection.execute(
                "INSERT INTO service_ended_sessions (mark, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                [mark, expires_at],
            )

        await self._store.change_again(end)

    async def login_wait(self, address: str) -> float:
        """Counts an attempt to log in; returns 0, or the seconds until another one is permitted."""
        now = time.time()
        minute = int(now // 60)

        def count(connection: Connection) -> int:
            connection.execute("DELETE FROM service_logins WHERE minute < $1", [minute])
            (attempts,) = connection.row(
                "INSERT INTO service_logins (address, minute, attempts) VALUES ($1, $2, 1) "
                "ON CONFLICT (address, minute) DO UPDATE SET attempts = service_logins.attempts + 1 RETURNING attempts",
                [address, minute],
            )
            return int(attempts)

        return 0.0 if await self._store.change(count) <= LOGINS_PER_MINUTE else 60 - now % 60
