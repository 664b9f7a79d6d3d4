"""Jobs that all replicas of the service on one PostgreSQL database work on together.

A job's items lie in the database until it ends, a result a row, each at most once. :mod:`.shared_lanes` says who works
on what: a replica takes a lane, vets its next items without a result, and puts it back. What a killed replica worked on
goes to another one once its lease has run out; what was asked for it before is in the store.
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
from metajudge.store.gathered_reads import GatheredReads
from metajudge.store.postgres_store import PostgresStore
from metajudge.types import Assessment, Judgment

from .ledger import JobRow
from .limits import Limits
from .metrics import Metrics
from .panels import Choice, Panels
from .queue import BUDGET_SPENT, UNEXPECTED, JobQueue, JobState, JobStatus, location_of
from .shared_lanes import FREE, LANE_ITEMS, LEASE_S, Lane, Lanes
from .shared_rows import JobRows, listening
from .uploads import Numbered

LOOK_EVERY_S = 2.0
"""A lane that was not announced is found after this long."""
LEAVE_S = 5.0
"""Seconds that a replica which leaves has to give back what it works on."""
CHANGED_S = 2.0

_log = logging.getLogger("metajudge.api")


class SharedJobs(JobQueue):
    """A :class:`~.queue.JobQueue` over the store's database.

    Args:
        lease_s: seconds after which a replica that does not renew its lease is taken for dead.
        lane_items: items of a lane that are vetted before other jobs' lanes have their turn.
    """

    def __init__(
        self,
        panels: Panels,
        store: PostgresStore,
        limits: Limits,
        metrics: Metrics,
        *,
        lease_s: float = LEASE_S,
        lane_items: int = LANE_ITEMS,
    ) -> None:
        self._rows = JobRows(store)
        self._scratch = tempfile.TemporaryDirectory(prefix="metajudge-uploads-")
        super().__init__(panels, self._rows, Path(self._scratch.name), limits, metrics)
        self._store = store
        self._lanes = Lanes(store, self._rows.channel, lease_s)
        self._renew_every_s = lease_s / 4
        self._lane_items = lane_items
        self._stops: dict[str, list[Stop]] = {}
        self._waiting: dict[str, asyncio.Event] = {}
        self._workers: list[asyncio.Task[None]] = []
        self._tasks: list[asyncio.Task[None]] = []
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
        self._tasks = [
            asyncio.create_task(self._kept_going(self._renew)),
            asyncio.create_task(self._kept_going(lambda: listening(self._store, self._rows.channel, self._heard))),
        ]

    async def stop(self) -> None:
        """Leaves within ``LEAVE_S``; what is unfinished is the others', or waits for the next start."""
        self._leaving = True
        self._store.hurry()
        self._wake.set()
        for stops in self._stops.values():
            for one in stops:
                one.ask(RunEnd.INTERRUPTED)
        await asyncio.wait(self._workers, timeout=LEAVE_S)
        tasks = [*self._workers, *self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._scratch.cleanup()

    async def add(self, job_id: str, owner: str, choice: Choice, items: int, key: str | None) -> tuple[bytes, str]:
        """Accepts a job with its items, its lanes and its answer: all of it or nothing.

        Raises:
            HTTPException: 503, too many jobs wait.
        """
        waiting = await self.waiting()
        if waiting >= self._limits.jobs_queued:
            raise HTTPException(503, f"{waiting} jobs wait already: try again later", {"Retry-After": "30"})
        row = JobRow(job_id, owner, choice.model_dump_json(), items, JobState.QUEUED.value, None, time.time(), None)
        body, location = JobStatus.of(row, {}).model_dump_json().encode(), location_of(job_id)
        await self._rows.add(row, self._upload_of(job_id), key, body, location)
        return body, location

    async def cancel(self, job_id: str) -> JobStatus:
        """Cancels a job on all replicas; one that has ended is deleted."""
        status = await self.status(job_id)
        if status.state.ended:
            await self._rows.forget(job_id)
            return status
        await self._rows.end(job_id, JobState.CANCELLED)
        return await self.status(job_id)

    async def changed(self, job_id: str) -> None:
        """Returns when a replica told of something new about a job, at the latest after ``CHANGED_S``."""
        event = self._waiting.setdefault(job_id, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), CHANGED_S)
        if self._waiting.get(job_id) is event:
            del self._waiting[job_id]

    async def _heard(self, job_id: str) -> None:
        if job_id == FREE:
            self._wake.set()
            return
        event = self._waiting.pop(job_id, None)
        if event is not None:
            event.set()
        if job_id in self._stops:
            state = await self.state(job_id)
            if state is None or state.ended:
                for stop in self._stops.get(job_id, ()):
                    stop.ask(RunEnd.INTERRUPTED)

    async def _kept_going(self, work: Callable[[], Awaitable[Any]]) -> None:
        """Begins again what a server that was away for a while has ended, until this replica leaves."""
        while not self._leaving:
            try:
                await work()
            except (psycopg.Error, MetajudgeError) as error:
                _log.warning("the queue of jobs is out of reach, trying again: %s", error)
            except Exception as error:
                _log.error("the queue of jobs failed, trying again", exc_info=error)
            await asyncio.sleep(0.0 if self._leaving else LOOK_EVERY_S)

    async def _pause(self) -> None:
        """Returns when a lane may wait or this replica leaves, at the latest after ``LOOK_EVERY_S``."""
        if not self._leaving:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), LOOK_EVERY_S)

    async def _work(self) -> None:
        """Takes lanes, one after the other."""
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
        """Vets the next items of a lane, and puts it back where there may be more to do."""
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
        """Whether there may be more to do."""
        job_id = lane.job_id
        row = await self._rows.begin(job_id)
        items = await self._rows.next_items(lane, self._lane_items) if row is not None else []
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
        choice = Choice.model_validate_json(row.request)
        around: Mapping[str, list[Judgment]] = {}
        if self._panels.reads_evidence(choice):
            around = await self._rows.judgments_of(row.job_id, [one.judgment.item.id for one in items])
        done: dict[str, tuple[int, str, str, bytes]] = {}

        async def keep_all(keys: Sequence[str]) -> dict[str, bool]:
            kept = await self._rows.keep_results(row.job_id, [done[key] for key in keys])
            return dict.fromkeys(keys, kept)

        results = GatheredReads(keep_all)  # results that come while others are being committed are committed together

        async def keep(item: int, found: Assessment) -> bool:
            key = str(item)
            done[key] = (item, found.judgment_id, found.status.value, found.model_dump_json().encode())
            return bool(await results.get(key))

        return await self._vet(choice, items, lambda item_id: around.get(item_id, ()), keep, stop)
