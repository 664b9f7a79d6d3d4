"""Monitors the service's promises in the background: tests them on people's decisions, records and sends alarms."""

import asyncio
import logging
import time

from metajudge.monitor.records import record_alarms, reports, send_alarms
from metajudge.monitor.report import PromiseReport
from metajudge.store.protocol import Store
from metajudge.webhooks.webhook import Webhook

from .computing import Computing

PAUSE_S = 2.0
"""Seconds between a decision and the check that follows it: decisions in a row share one check."""

_log = logging.getLogger("metajudge.api")


class Promises:
    """Checks the promises of a store, one check at a time.

    Args:
        webhook: receives alarms; None to send none.
        pause_s: before each check.

    Attributes:
        last: the newest reports of a check, without drift; empty before the first.
    """

    def __init__(
        self, store: Store | None, computing: Computing, webhook: Webhook | None, pause_s: float = PAUSE_S
    ) -> None:
        self.last: tuple[PromiseReport, ...] = ()
        self._store = store
        self._computing = computing
        self._webhook = webhook
        self._pause_s = pause_s
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
            await asyncio.sleep(self._pause_s)
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
