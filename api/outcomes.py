"""Outcomes in the background: makes them of what was decided, sends them to the webhook, tells streams about them."""

import asyncio
import contextlib
import logging
import time

from metajudge.outcomes.model import Callback
from metajudge.outcomes.sending import PAUSE_S, Sender
from metajudge.store.protocol import Store
from metajudge.webhooks.webhook import Webhook

from .jobs import JobQueue
from .queue import JobState

LEAVE_S = 3.0
"""How long events on their way may take when the service stops; what is cut off is sent again at the next start."""
JOBS_AT_START = 200
"""The newest jobs that are looked at when the service starts, for ends that were not told because it was killed."""

_log = logging.getLogger("metajudge.api")


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
        self._task: asyncio.Task[None] | None = None
        self.closing = False

    async def start(self) -> None:
        """Begins; called before the first job goes on, so that whatever is decided is for the webhook."""
        if self._store is None:
            return
        if self._sender is not None:
            await self._sender.start()
            self._jobs.changed_hook = self._ended.add
            self._ended |= {one.job_id for one in await self._jobs.page(None, JOBS_AT_START)}
        self._task = asyncio.create_task(self._work(self._store))

    async def close(self) -> None:
        """Ends after the events on their way, or after :data:`LEAVE_S` seconds."""
        self.closing = True
        if self._task is None:
            return
        if self._sender is not None:
            self._sender.end()
        await asyncio.wait([self._task], timeout=LEAVE_S if self._sender is not None else 0)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self, store: Store) -> None:
        if self._sender is None:
            await self._collect(store)
            return
        calling = asyncio.create_task(self._call_back(store, self._sender))
        try:
            await self._sender.keep_sending(lambda error: _log.error("outcomes were not sent", exc_info=error))
        finally:
            calling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await calling

    async def _collect(self, store: Store) -> None:
        while True:
            try:
                await store.outcomes.collect_all()
            except Exception as error:
                _log.error("outcomes could not be made of decisions", exc_info=error)
            await asyncio.sleep(PAUSE_S)

    async def _call_back(self, store: Store, sender: Sender) -> None:
        """Tells the webhook which jobs have ended."""
        while True:
            try:
                if self._ended:
                    await self._tell_ended(store, await sender.registered_at())
            except Exception as error:
                _log.error("the webhook was not told which jobs ended", exc_info=error)
            await asyncio.sleep(PAUSE_S / 2)

    async def _tell_ended(self, store: Store, since: float) -> None:
        for job_id in sorted(self._ended):
            state = await self._jobs.state(job_id)
            if state is not None and not state.ended:
                continue
            if state is not None:
                status = await self._jobs.status(job_id)
                at = status.ended_at or time.time()
                if at >= since:
                    data = status.model_dump(mode="json")
                    await store.outcomes.call_back([Callback.of("job", job_id, JobState(state).value, at, data)])
            self._ended.discard(job_id)
