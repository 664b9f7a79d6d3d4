"""Jobs shared by all replicas of the service on one PostgreSQL database.

A job's items are in the database until it ends; each result is one row. :mod:`.shared_lanes` distributes the work: a
replica takes a lane, vets its next items without a result, and puts it back. The lanes of a killed replica go to
another one after their lease expires; earlier replies are in the store.
"""

import asyncio
import contextlib
import logging
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
from fastapi import HTTPException

from metajudge.errors import MetajudgeError, StoreUnavailableError
from metajudge.runs.loop import RunEnd, Stop
from metajudge.store.postgres_store import PostgresStore
from metajudge.store.stored_queries import GatheredReads
from metajudge.types import Judgment

from .ledger import JobRow, location_of
from .limits import Limits
from .metrics import Metrics
from .panels import Panels
from .queue import BUDGET_SPENT, UNEXPECTED, JobQueue, JobState, JobStatus
from .shared_lanes import FREE, LANE_ITEMS, LEASE_S, Lane, Lanes
from .shared_rows import JobRows, listening
from .tasks import Asked, Found, Tasks, asked_of, to_text
from .uploads import Numbered

LOOK_EVERY_S = 2.0
"""Seconds after which a lane without a notification is found."""
LEAVE_S = 5.0
"""Seconds that a stopping replica has to put back its lanes."""
CHANGED_S = 2.0

_log = logging.getLogger("metajudge.api")


class SharedJobs(JobQueue):
    """A :class:`~.queue.JobQueue` over the store's database.

    Args:
        lease_s: seconds after which a replica that does not renew its lease is considered dead.
        lane_items: items of a lane that are vetted before other jobs' lanes have their turn.
    """

    def __init__(
        self,
        panels: Panels,
        store: PostgresStore,
        limits: Limits,
        metrics: Metrics,
        tasks: Tasks | None = None,
        *,
        lease_s: float = LEASE_S,
        lane_items: int = LANE_ITEMS,
    ) -> None:
        self._rows = JobRows(store)
        self._scratch = tempfile.TemporaryDirectory(prefix="metajudge-uploads-")
        super().__init__(panels, self._rows, Path(self._scratch.name), limits, metrics, tasks)
        self._store = store
        self._lanes = Lanes(store, self._rows.channel, lease_s)
        self._renew_every_s = lease_s / 4
        self._lane_items = lane_items
        self._stops: dict[str, list[Stop]] = {}
        self._waiting: dict[str, asyncio.Event] = {}
        self._workers: list[asyncio.Task[None]] = []
        self._background: list[asyncio.Task[None]] = []
        self._held: set[Lane] = set()
        self._wake = asyncio.Event()
        self._leaving = False

    @property
    def running(self) -> int:
        return len(self._stops)

    async def start(self) -> None:
        """Joins the other replicas.

        Raises:
            StoreError: the database cannot be reached.
        """
        await self._lanes.supply()
        self._workers = [asyncio.create_task(self._kept_going(self._work)) for _ in range(self._limits.jobs_running)]
        self._background = [
            asyncio.create_task(self._kept_going(self._renew)),
            asyncio.create_task(self._kept_going(lambda: listening(self._store, self._rows.channel, self._notified))),
        ]

    def hurry(self) -> None:
        self._store.hurry()

    async def stop(self) -> None:
        """Stops within ``LEAVE_S``; other replicas or the next start continue unfinished jobs."""
        self._leaving = True
        self._store.hurry()
        self._wake.set()
        for stops in self._stops.values():
            for stop in stops:
                stop.ask(RunEnd.INTERRUPTED)
        await asyncio.wait(self._workers, timeout=LEAVE_S)
        tasks = [*self._workers, *self._background]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._scratch.cleanup()

    async def add(self, job_id: str, owner: str, choice: Asked, items: int, key: str | None) -> tuple[bytes, str]:
        """Stores a job with its items, its lanes and its response atomically.

        Raises:
            HTTPException: 503, too many jobs wait.
        """
        waiting = await self.waiting()
        if waiting >= self._limits.jobs_queued:
            raise HTTPException(503, f"{waiting} jobs already wait: try again later", {"Retry-After": "30"})
        row = JobRow(job_id, owner, to_text(choice), items, JobState.QUEUED.value, None, time.time(), None)
        body, location = JobStatus.of(row, {}).model_dump_json().encode(), location_of(job_id)
        await self._rows.add(row, self._upload_of(job_id), key, body, location)
        return body, location

    async def cancel(self, job_id: str) -> JobStatus:
        """Cancels a job on all replicas; an ended job is deleted."""
        status = await self.status(job_id)
        if status.state.ended:
            await self._rows.forget(job_id)
            return status
        await self._rows.end(job_id, JobState.CANCELLED)
        return await self.status(job_id)

    async def changed(self, job_id: str) -> None:
        """Waits for a replica's notification about a job, at most ``CHANGED_S`` seconds."""
        event = self._waiting.setdefault(job_id, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), CHANGED_S)
        if self._waiting.get(job_id) is event:
            del self._waiting[job_id]

    async def _notified(self, job_id: str) -> None:
        if job_id == FREE:
            self._wake.set()
            return
        self.changed_hook(job_id)
        event = self._waiting.pop(job_id, None)
        if event is not None:
            event.set()
        if job_id in self._stops:
            state = await self.state(job_id)
            if state is None or state.ended:
                for stop in self._stops.get(job_id, ()):
                    stop.ask(RunEnd.INTERRUPTED)

    async def _kept_going(self, work: Callable[[], Awaitable[Any]]) -> None:
        """Restarts a task after errors, such as a lost server, until this replica stops."""
        while not self._leaving:
            try:
                await work()
            except (psycopg.Error, MetajudgeError) as error:
                _log.warning("the queue of jobs is unavailable, retrying: %s", error)
            except Exception as error:
                _log.error("the queue of jobs failed, retrying", exc_info=error)
            await asyncio.sleep(0.0 if self._leaving else LOOK_EVERY_S)

    async def _pause(self) -> None:
        """Waits for a free lane or the stop of this replica, at most ``LOOK_EVERY_S`` seconds."""
        if not self._leaving:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), LOOK_EVERY_S)

    async def _work(self) -> None:
        """Works on lanes, one at a time."""
        while not self._leaving:
            self._wake.clear()
            lane = await self._lanes.take()
            if lane is None:
                await self._pause()
                continue
            self._held.add(lane)
            try:
                await self._work_lane(lane)
            finally:
                self._held.discard(lane)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._renew_every_s)
            if self._held:
                await self._lanes.renew(self._held)

    async def _work_lane(self, lane: Lane) -> None:
        """Vets the next items of a lane, and puts it back if there may be more."""
        try:
            more = await self._vet_lane(lane)
        except StoreUnavailableError:
            more = True
            await asyncio.sleep(LOOK_EVERY_S)
        except MetajudgeError as error:
            more = False
            await self._rows.end(lane.job_id, JobState.FAILED, str(error))
        except Exception as error:
            more = False
            _log.error("job %s failed", lane.job_id, exc_info=error)
            await self._rows.end(lane.job_id, JobState.FAILED, UNEXPECTED)
        if more:
            await self._lanes.put_back(lane)

    async def _vet_lane(self, lane: Lane) -> bool:
        """Vets the next items of a lane; returns whether there may be more."""
        job_id = lane.job_id
        row = await self._rows.begin(job_id)
        items = await self._rows.next_items(lane, self._lane_items, row.request) if row is not None else []
        if row is None or not items:
            await self._rows.finish_lane(lane)
            return False
        if self._leaving:
            return True
        stop = Stop()
        self._stops.setdefault(job_id, []).append(stop)
        try:
            end = await self._vet_items(row, items, stop)
        finally:
            self._stops[job_id].remove(stop)
            if not self._stops[job_id]:
                del self._stops[job_id]
        if end is RunEnd.BUDGET:
            await self._rows.end(job_id, JobState.FAILED, BUDGET_SPENT)
        return end is RunEnd.FINISHED or self._leaving

    async def _vet_items(self, row: JobRow, items: Sequence[Numbered], stop: Stop) -> RunEnd:
        choice = asked_of(row.request)
        around: Mapping[str, list[Judgment]] = {}
        if self._reads_evidence(choice):
            judgments = [one.record for one in items if isinstance(one.record, Judgment)]
            around = await self._rows.judgments_of(row.job_id, [one.item.id for one in judgments])
        done: dict[str, tuple[int, str, str, bytes]] = {}

        async def keep_all(keys: Sequence[str]) -> dict[str, bool]:
            kept = await self._rows.keep_results(row.job_id, [done[key] for key in keys])
            return dict.fromkeys(keys, kept)

        results = GatheredReads(keep_all)  # batches results that arrive during a commit

        async def keep(item: int, found: Found) -> bool:
            key = str(item)
            done[key] = (item, found.subject_id, found.status, found.payload)
            return bool(await results.get(key))

        return await self._work_on(choice, items, lambda item_id: around.get(item_id, ()), keep, stop)
