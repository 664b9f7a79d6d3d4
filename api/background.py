"""What the service does in the background: outcomes are made, sent and told about; promises are monitored."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from metajudge.monitor.records import record_alarms, reports, send_alarms
from metajudge.monitor.report import PromiseReport
from metajudge.outcomes.model import Callback
from metajudge.outcomes.sending import PAUSE_S, Sender
from metajudge.store import Store
from metajudge.webhooks.webhook import Webhook

from .computing import Computing
from .jobs import JobQueue
from .tasks import JobState

LEAVE_S = 3.0
"""How long events on their way may take when the service stops; what is cut off is sent again at the next start."""
JOBS_AT_START = 200
"""The newest jobs that are looked at when the service starts, for ends that were not told because it was killed."""
CHECK_AFTER_S = 2.0
"""Seconds between a decision and the check that follows it: decisions in a row share one check."""

_log = logging.getLogger("metajudge.api")


async def repeated(work: Callable[[], Awaitable[Any]], pause_s: float, failed: str) -> None:
    """Does work again and again until cancelled, with pauses; a failure is logged with what it means."""
    while True:
        try:
            await work()
        except Exception as error:
            _log.error(failed, exc_info=error)
        await asyncio.sleep(pause_s)


class OutcomeFlow:
    """Collects and sends outcomes while the service runs.

    Args:
        webhook: receives outcomes, and ends of jobs and reviews; None to send none.
    """

    def __init__(self, store: Store | None, jobs: JobQueue, webhook: Webhook | None) -> None:
        self._store = store
        self._jobs = jobs
        self._sender = None
        if store is not None and webhook is not None:
            self._sender = Sender(store, webhook, callbacks=True, say=_log.warning)
        self._ended: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self.closing = False

    async def start(self) -> None:
        """Begins; called before the first job goes on, so that whatever is decided is for the webhook."""
        if self._store is None:
            return
        if self._sender is None:
            work = repeated(self._store.outcomes.collect_all, PAUSE_S, "outcomes could not be made of decisions")
            self._tasks = [asyncio.create_task(work)]
            return
        await self._sender.start()
        self._jobs.changed_hook = self._ended.add
        self._ended |= {one.job_id for one in await self._jobs.page(None, JOBS_AT_START)}
        sending = self._sender.keep_sending(lambda error: _log.error("outcomes were not sent", exc_info=error))
        telling = repeated(self._tell_ended, PAUSE_S / 2, "the webhook was not told which jobs ended")
        self._tasks = [asyncio.create_task(sending), asyncio.create_task(telling)]

    async def close(self) -> None:
        """Ends after the events on their way, or after :data:`LEAVE_S` seconds."""
        self.closing = True
        if self._sender is not None and self._tasks:
            self._sender.end()
            await asyncio.wait(self._tasks[:1], timeout=LEAVE_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _tell_ended(self) -> None:
        """Tells the webhook which jobs have ended."""
        assert self._sender is not None
        assert self._store is not None
        since = await self._sender.registered_at() if self._ended else 0.0
        for job_id in sorted(self._ended):
            state = await self._jobs.state(job_id)
            if state is not None and not state.ended:
                continue
            if state is not None:
                status = await self._jobs.status(job_id)
                at = status.ended_at or time.time()
                if at >= since:
                    data = status.model_dump(mode="json")
                    await self._store.outcomes.call_back([Callback.of("job", job_id, JobState(state).value, at, data)])
            self._ended.discard(job_id)


class Promises:
    """Checks the promises of a store, one check at a time.

    Args:
        webhook: receives alarms; None to send none.

    Attributes:
        last: the newest reports of a check, without drift; empty before the first.
    """

    def __init__(self, store: Store | None, computing: Computing, webhook: Webhook | None) -> None:
        self.last: tuple[PromiseReport, ...] = ()
        self._store = store
        self._computing = computing
        self._webhook = webhook
        self._wanted = False
        self._task: asyncio.Task[None] | None = None

    def check_later(self) -> None:
        """Schedules a check after a pause; what is asked for meanwhile is the same check."""
        if self._store is None:
            return
        self._wanted = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._while_wanted())

    async def _while_wanted(self) -> None:
        while self._wanted:
            await asyncio.sleep(CHECK_AFTER_S)
            self._wanted = False
            try:
                await self._computing.ask(self.check)
            except Exception as error:
                _log.error("the promises could not be checked", exc_info=error)

    async def close(self) -> None:
        """Ends a check that waits; one that is running ends with the computations."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def check(self) -> None:
        """Tests every promise, records new alarms, and sends what was not delivered yet."""
        if self._store is None:
            return
        now = time.time()
        self.last = tuple(await reports(self._store, now=now, reviewed_only=True))
        for one in await record_alarms(self._store, self.last, now=now):
            _log.warning("promise %s is broken: its guarantee is stamped on nothing from now on", one.promise_id)
        if self._webhook is not None:
            await send_alarms(self._webhook, self._store, _log.warning)
