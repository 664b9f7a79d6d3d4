"""The parts that replicas of the service share on one PostgreSQL database."""

import asyncio
import contextlib
from contextlib import AsyncExitStack

from metajudge.errors import ConfigurationError, MetajudgeError
from metajudge.installation import install_command
from metajudge.store.protocol import Store
from metajudge.vetting.engine import Engine

from .metrics import Metrics
from .options import ServiceOptions
from .panels import Panels
from .rubrics import Rubrics
from .service import Kept
from .tasks import Tasks

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

        from .shared_answers import SharedAnswers
        from .shared_jobs import SharedJobs
        from .shared_rates import SharedRates
        from .shared_visitors import SharedVisitors
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
