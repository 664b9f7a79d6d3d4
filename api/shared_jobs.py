"""Jobs that all replicas of the service on one PostgreSQL database work on together.

A job's items lie in the database until it ends, a result a row, each at most once. Who does what is procrastinate's
business: a job has a few lanes (every so-manieth item), and the task of a lane vets the next items without a result and
puts the lane back in the queue. What a killed replica was at is given to another once its heartbeat has stopped; what
was asked for it before is in the store.
"""

import asyncio
import contextlib
import logging
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
from fastapi import HTTPException
from procrastinate.exceptions import AlreadyEnqueued, ProcrastinateException

from metajudge.errors import MetajudgeError, StoreUnavailableError
from metajudge.runs import Job, RunEnd, Stop, run_all
from metajudge.store.gathered_reads import GatheredReads
from metajudge.store.postgres_store import PostgresStore
from metajudge.types import Assessment, Judgment

from .jobs import JobState, JobStatus, Numbered
from .ledger import JobRow, ResultRow
from .metrics import Metrics
from .options import Limits
from .panels import Choice, Panels
from .queue import location_of
from .shared_queue import QUEUE, listening, opened_app
from .shared_rows import JobRows

LANES = 8
LANE_ITEMS = 32
"""Items of a lane that are vetted before other jobs' lanes have their turn."""
HEARTBEAT_S = 2.0
GONE_AFTER_S = 8.0
"""A replica without a heartbeat for this long is taken for dead."""
LOOK_EVERY_S = 2.0
CHANGED_S = 2.0

_log = logging.getLogger("metajudge.api")


class SharedJobs:
    """A :class:`~.queue.JobQueue` over the store's database."""

    def __init__(self, panels: Panels, store: PostgresStore, limits: Limits, metrics: Metrics) -> None:
        self._panels = panels
        self._store = store
        self._rows = JobRows(store)
        self._limits = limits
        self._metrics = metrics
        self._folder = tempfile.TemporaryDirectory(prefix="metajudge-uploads-")
        self._uploads = 0
        self._stops: dict[str, list[Stop]] = {}
        self._waiting: dict[str, asyncio.Event] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._leaving = False

    @property
    def running(self) -> int:
        return len(self._stops)

    async def waiting(self) -> int:
        return await self._rows.count(JobState.QUEUED)

    async def start(self) -> None:
        """Joins the other replicas.

        Raises:
            StoreError: the queue's tables cannot be made or reached.
        """
        self._app = await opened_app(self._store)
        self._lane = self._app.task(name="lane", queue=QUEUE)(self._work_lane)
        self._tasks = [
            asyncio.create_task(_kept_going(self._work)),
            asyncio.create_task(_kept_going(self._look_around)),
            asyncio.create_task(_kept_going(lambda: listening(self._store, self._rows.channel, self._heard))),
        ]

    async def stop(self) -> None:
        """Leaves; what is unfinished is the others', or waits for the next start."""
        self._leaving = True
        for stops in self._stops.values():
            for one in stops:
                one.ask(RunEnd.INTERRUPTED)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._app.close_async()
        self._folder.cleanup()

    @contextlib.contextmanager
    def upload(self) -> Iterator[tuple[str, Path]]:
        """A new job's id, and a file for its judgments, which is read when it is added.

        Raises:
            HTTPException: 503, too many are being sent.
        """
        if self._uploads >= self._limits.jobs_queued:
            detail = f"{self._uploads} jobs are being sent already: try again later"
            raise HTTPException(503, detail, {"Retry-After": "30"})
        job_id = uuid.uuid4().hex
        path = self._upload_of(job_id)
        self._uploads += 1
        try:
            yield job_id, path
        finally:
            self._uploads -= 1
            path.unlink(missing_ok=True)

    def _upload_of(self, job_id: str) -> Path:
        return Path(self._folder.name) / f"{job_id}.jsonl"

    async def add(self, job_id: str, owner: str, choice: Choice, items: int, key: str | None) -> tuple[bytes, str]:
        """Accepts a job with its items and its answer: all of it or nothing.

        Raises:
            HTTPException: 503, too many jobs wait.
        """
        waiting = await self.waiting()
        if waiting >= self._limits.jobs_queued:
            raise HTTPException(503, f"{waiting} jobs wait already: try again later", {"Retry-After": "30"})
        row = JobRow(job_id, owner, choice.model_dump_json(), items, JobState.QUEUED.value, None, time.time(), None)
        body, location = JobStatus.of(row, {}).model_dump_json().encode(), location_of(job_id)
        await self._rows.add(row, self._upload_of(job_id), key, body, location)
        with contextlib.suppress(ProcrastinateException, psycopg.Error):  # whoever looks around next does it
            await self._defer_lanes(job_id)
        return body, location

    async def page(self, before: str | None, limit: int) -> list[JobStatus]:
        """A page of jobs, newest first; ``before`` is the last id of the page before."""
        rows = await self._rows.newest(before, limit)
        counts = await self._rows.counts([row.job_id for row in rows])
        return [JobStatus.of(row, counts[row.job_id]) for row in rows]

    async def status(self, job_id: str) -> JobStatus:
        """A job by its id.

        Raises:
            HTTPException: 404.
        """
        row = await self._rows.job(job_id)
        if row is None:
            raise HTTPException(404, f"there is no job {job_id!r}, or it was deleted")
        return JobStatus.of(row, (await self._rows.counts([job_id]))[job_id])

    async def state(self, job_id: str) -> JobState | None:
        row = await self._rows.job(job_id)
        return None if row is None else JobState(row.state)

    async def asked(self, job_ids: Sequence[str]) -> dict[str, Choice]:
        rows = await self._rows.some(job_ids)
        return {row.job_id: Choice.model_validate_json(row.request) for row in rows}

    async def cancel(self, job_id: str) -> JobStatus:
        """Cancels a job on all replicas; one that has ended is deleted."""
        status = await self.status(job_id)
        if status.state.ended:
            await self._rows.forget(job_id)
            return status
        await self._rows.end(job_id, JobState.CANCELLED)
        return await self.status(job_id)

    async def results(self, job_id: str, after_item: int, limit: int) -> list[ResultRow]:
        return await self._rows.page(job_id, "item", after_item, limit)

    async def results_since(self, job_id: str, after_seq: int, limit: int) -> list[ResultRow]:
        return await self._rows.page(job_id, "seq", after_seq, limit)

    async def changed(self, job_id: str) -> None:
        """Returns when a replica told of something new about a job, at the latest after ``CHANGED_S``."""
        event = self._waiting.setdefault(job_id, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), CHANGED_S)
        if self._waiting.get(job_id) is event:
            del self._waiting[job_id]

    async def _heard(self, job_id: str) -> None:
        event = self._waiting.pop(job_id, None)
        if event is not None:
            event.set()
        if job_id in self._stops:
            state = await self.state(job_id)
            if state is None or state.ended:
                for stop in self._stops.get(job_id, ()):
                    stop.ask(RunEnd.INTERRUPTED)

    async def _work(self) -> None:
        await self._app.run_worker_async(
            queues=[QUEUE],
            concurrency=self._limits.jobs_running,
            install_signal_handlers=False,
            fetch_job_polling_interval=LOOK_EVERY_S,
            update_heartbeat_interval=HEARTBEAT_S,
            stalled_worker_timeout=GONE_AFTER_S,
            shutdown_graceful_timeout=5.0,
            delete_jobs="always",
        )

    async def _look_around(self) -> None:
        """Gives what dead replicas were at to the living, and lanes to jobs that have none."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            manager = self._app.job_manager
            for one in await manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=GONE_AFTER_S):
                with contextlib.suppress(ProcrastinateException):  # another replica was faster
                    await manager.retry_job(one)
            for job_id in await self._rows.without_lanes(2 * LOOK_EVERY_S):
                await self._rows.end(job_id, JobState.DONE, complete=True)
                await self._defer_lanes(job_id)

    async def _defer_lanes(self, job_id: str) -> None:
        for lane in range(LANES):
            await self._defer(job_id, lane)

    async def _defer(self, job_id: str, lane: int) -> None:
        name = f"{job_id} {lane}"
        with contextlib.suppress(AlreadyEnqueued):
            await self._lane.configure(lock=name, queueing_lock=name).defer_async(job_id=job_id, lane=lane)

    async def _work_lane(self, job_id: str, lane: int) -> None:
        """The task: vets the next items of a lane, and puts the lane back where there is more to do."""
        try:
            more = await self._vet_lane(job_id, lane)
        except StoreUnavailableError:
            more = True
            await asyncio.sleep(LOOK_EVERY_S)
        except MetajudgeError as error:
            more = False
            await self._rows.end(job_id, JobState.FAILED, str(error))
        except Exception as error:
            more = False
            _log.error("job %s failed", job_id, exc_info=error)
            await self._rows.end(job_id, JobState.FAILED, "an unexpected error, which is in the service's log")
        if more:
            await self._defer(job_id, lane)

    async def _vet_lane(self, job_id: str, lane: int) -> bool:
        """Whether there is more to do."""
        if self._leaving:
            return True
        row = await self._rows.begin(job_id)
        if row is None:
            return False
        items = await self._rows.next_items(job_id, lane, LANES, LANE_ITEMS)
        if not items:
            await self._rows.end(job_id, JobState.DONE, complete=True)
            return False
        stop = Stop()
        self._stops.setdefault(job_id, []).append(stop)
        try:
            end = await self._vet(row, items, stop)
        finally:
            self._stops[job_id].remove(stop)
            if not self._stops[job_id]:
                del self._stops[job_id]
        if end is RunEnd.BUDGET:
            detail = "the budget of the service is spent; the results so far are kept"
            await self._rows.end(job_id, JobState.FAILED, detail)
        return end is RunEnd.FINISHED or self._leaving

    async def _vet(self, row: JobRow, items: Sequence[Numbered], stop: Stop) -> RunEnd:
        choice = Choice.model_validate_json(row.request)
        around: Mapping[str, list[Judgment]] = {}
        if self._panels.reads_evidence(choice):
            around = await self._rows.judgments_of(row.job_id, [one.judgment.item.id for one in items])
        done: dict[str, tuple[int, str, str, bytes]] = {}

        async def keep(keys: Sequence[str]) -> dict[str, bool]:
            kept = await self._rows.keep_results(row.job_id, [done[key] for key in keys])
            return dict.fromkeys(keys, kept)

        results = GatheredReads(keep)  # results that come while others are being committed are committed together

        async def work(job: Job[Numbered, Assessment]) -> Assessment:
            judgment = job.record.judgment
            found = await self._panels.vet(judgment, choice, around.get(judgment.item.id, ()))
            payload = found.model_dump_json().encode()
            done[job.key] = (job.record.item, found.judgment_id, found.status.value, payload)
            if not await results.get(job.key):
                stop.ask(RunEnd.INTERRUPTED)  # the job was cancelled or has failed
            return found

        def finished(_job: Job[Numbered, Assessment], result: Assessment, _reused: bool) -> None:
            self._metrics.assessed(result)

        async def none_done(_keys: object) -> dict[str, Assessment]:
            return {}  # items with a result are left out; the store knows the calls of all others

        return await run_all(
            items,
            work,
            key=lambda one: str(one.item),
            find_done=none_done,
            keep=lambda _result: True,
            finished=finished,
            workers=self._limits.job_workers,
            stop=stop,
            grace_s=1.0,
        )


async def _kept_going(work: Callable[[], Awaitable[Any]]) -> None:
    """Begins again what a server that was away for a while has ended."""
    while True:
        try:
            await work()
        except (psycopg.Error, ProcrastinateException, MetajudgeError) as error:
            _log.warning("the queue of jobs is out of reach, trying again: %s", error)
        await asyncio.sleep(LOOK_EVERY_S)
