"""The parts that replicas of the service share on one PostgreSQL database."""

import asyncio
import contextlib
import secrets
import time
from contextlib import AsyncExitStack
from typing import Final

from metajudge.errors import ConfigurationError, MetajudgeError
from metajudge.installation import install_command
from metajudge.store.postgres_store import PostgresStore
from metajudge.store.protocol import Store
from metajudge.store.sql import Connection
from metajudge.vetting.engine import Engine

from .keys import Caller
from .limits import BURST_S, LOGINS_PER_MINUTE, refuse_until
from .metrics import Metrics
from .options import ServiceOptions
from .panels import Panels
from .rubrics import Rubrics
from .service import Kept
from .tasks import Tasks

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


class SharedRates:
    """:class:`~.limits.Rates` of all replicas together.

    Args:
        per_minute: of each key without a rate of its own; None for no limit.
    """

    def __init__(self, store: PostgresStore, per_minute: int | None) -> None:
        self._store = store
        self._per_minute = per_minute

    async def check(self, caller: Caller, what: str) -> None:
        rate = caller.requests_per_minute or self._per_minute
        if rate is not None:
            refuse_until(await self._store.limits.take(caller.name, rate, BURST_S), what)


REFRESH_S = 2.0


async def shared_parts(
    stack: AsyncExitStack, options: ServiceOptions, engine: Engine, panels: Panels, metrics: Metrics, tasks: Tasks
) -> Kept:
    """Responses, jobs, sessions and rates in the store's database; also follows the rubrics of other replicas.

    Raises:
        ConfigurationError: extra ``postgres`` is missing.
    """
    try:
        from metajudge.store.postgres_store import PostgresStore

        from .shared_jobs import SharedJobs
        from .shared_rows import SharedAnswers
    except ImportError as error:
        raise ConfigurationError(
            f"a service on PostgreSQL needs extra packages ({error.name}): {install_command('postgres')}"
        ) from None
    store = engine.store
    assert isinstance(store, PostgresStore)
    await _refresh(panels.rubrics, store)
    refreshing = asyncio.create_task(_keep_fresh(panels.rubrics, store))
    stack.callback(refreshing.cancel)
    jobs = SharedJobs(panels, store, options.limits, metrics, tasks)
    return Kept(
        SharedAnswers(store), jobs, SharedVisitors(store), SharedRates(store, options.limits.requests_per_minute)
    )


async def _keep_fresh(rubrics: Rubrics, store: Store) -> None:
    while True:
        await asyncio.sleep(REFRESH_S)
        with contextlib.suppress(MetajudgeError):  # the server is unavailable: retried next time
            await _refresh(rubrics, store)


async def _refresh(rubrics: Rubrics, store: Store) -> None:
    """Adds the rubrics in the audit log to this replica's own."""
    rubrics.take({entry.subject: entry.payload["rubric"] for entry in await store.audit_log.entries("rubric")})
