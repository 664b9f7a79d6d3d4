"""The systems that this service watches while it runs."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from metajudge.errors import ConfigurationError, MetajudgeError
from metajudge.store.protocol import Store
from metajudge.strategies import StrategyName, Vetter
from metajudge.systems.catalogue import open_system
from metajudge.systems.pull import since_of
from metajudge.systems.system import System
from metajudge.systems.watch import Watch
from metajudge.systems.watch_state import WatchState
from metajudge.types import Assessment, Judgment, Status
from metajudge.types.location import PostgresUrl

from .metrics import Metrics
from .options import ServiceOptions
from .panels import Choice, Panels
from .watch_tables import WatchTable

LOCK_PAUSE_S = 5.0
"""Seconds between two tries to be the replica that watches."""
_log = logging.getLogger("metajudge.api")


class _PanelVet:
    """Vets by a panel of the service, each judgment in a trace of its own."""

    def __init__(self, panels: Panels, choice: Choice, store: Store, metrics: Metrics) -> None:
        self._panels = panels
        self._choice = choice
        self._store = store
        self._metrics = metrics

    @property
    def reads_others(self) -> bool:
        return self._panels.reads_evidence(self._choice)

    async def known(self, judgment: Judgment) -> bool:
        vetter: Vetter = self._panels.vetter(self._choice)
        if vetter.panel_for(judgment).strategy is StrategyName.SIGNALS:  # their assessments depend on what is around
            return await self._store.find_judgment(judgment.digest) is not None
        key = vetter.key(judgment)
        found = (await self._store.find_assessments([key])).get(key)
        return found is not None and found.status is Status.ASSESSED

    async def vet(self, judgment: Judgment, others: Sequence[Judgment]) -> Assessment:
        found = await self._panels.vet(judgment, self._choice, others)
        self._metrics.assessed(found)
        return found


class Watches:
    """The watches of a service, each a task while the service runs.

    Args:
        environ: where keys and addresses of systems are read from.

    Raises:
        ConfigurationError: two watches of one name, no store to keep positions, an unknown panel, a system that cannot
            be opened, or a time that is none.
    """

    def __init__(self, options: ServiceOptions, panels: Panels, store: Store | None, metrics: Metrics) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._shared = isinstance(options.store, PostgresUrl)
        self._store = store
        tables = options.watches
        titles = [table.title for table in tables]
        if double := next((title for title in titles if titles.count(title) > 1), None):
            raise ConfigurationError(f"service.watches: two are named {double!r}: give each a name of its own")
        if tables and store is None:
            raise ConfigurationError("service.watches: positions are kept in the store: give the service a store")
        self.watches = [] if store is None else [_watch(table, options, panels, store, metrics) for table in tables]

    @property
    def states(self) -> list[WatchState]:
        """Where each watch stands, in the order of the file."""
        return [watch.state for watch in self.watches]

    def start(self) -> None:
        """Begins to watch."""
        self._tasks = [asyncio.create_task(self._run(watch)) for watch in self.watches]

    def leave(self) -> None:
        """Called at the stop signal: nothing new is begun."""
        for watch in self.watches:
            watch.leave()

    async def close(self) -> None:
        """Stops: what is in flight is given up, and fetched again at the next start."""
        self.leave()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, watch: Watch) -> None:
        while not watch.state.stopped:
            try:
                async with self._only_here(watch.rules.name) as ours:
                    if ours:
                        await watch.run()
                        return
                watch.state.waits_for = "replica"
            except MetajudgeError as error:
                watch.state.error = str(error)
            await asyncio.sleep(LOCK_PAUSE_S)

    @contextlib.asynccontextmanager
    async def _only_here(self, name: str) -> AsyncIterator[bool]:
        """Whether this process is the one that watches: of replicas on one database, one at a time."""
        if not self._shared:
            yield True
            return
        import psycopg

        from metajudge.store.postgres_store import PostgresStore

        assert isinstance(self._store, PostgresStore)
        options = self._store.connections.options
        what = f"metajudge watch {self._store.connections.schema} {name}"
        try:
            connection = await psycopg.AsyncConnection.connect("", autocommit=True, **options)
        except psycopg.Error as error:
            raise ConfigurationError(
                f"watch {name!r}: the database cannot be reached ({type(error).__name__})"
            ) from None
        async with connection:
            cursor = await connection.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [what])
            row = await cursor.fetchone()
            yield row is not None and bool(row[0])


def _watch(table: WatchTable, options: ServiceOptions, panels: Panels, store: Store, metrics: Metrics) -> Watch:
    choice = Choice(panel=table.panel, policy=table.policy)
    panels.vetter(choice)
    rules = table.rules
    since_of(rules.since, datetime.now(UTC))

    def opened(wait: Callable[[float], None]) -> System:
        return open_system(
            table.system,
            options.environ,
            address=table.url,
            project=table.project,
            per_second=table.requests_per_second,
            wait=wait,
        )

    return Watch(rules, opened, _PanelVet(panels, choice, store, metrics), store, told=_tell)


def _tell(state: WatchState, error: Exception | None) -> None:
    fields: dict[str, Any] = {"watch": state.name, "vetted": state.vetted, "failed": state.failed, "put": state.put}
    if error is None and state.error is None:
        _log.info("watch: a round has ended", extra=fields)
    else:
        _log.warning("watch: a round failed, the next one tries again", exc_info=error, extra=fields)
