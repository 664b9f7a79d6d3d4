"""The queue of jobs: records worked on in the background by all processes of the service, each with one result.

A job's items are in the store until it ends; each result is one row. A process takes a lane of a job
(:mod:`metajudge.store.jobs`), works on its next items without a result, and puts it back. The lanes of a killed process
go to another one, or to the next, after their lease expires; earlier replies are in the store.
"""

import asyncio
import contextlib
import logging
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from fastapi import HTTPException

from metajudge.concurrency import heard
from metajudge.errors import MetajudgeError, StoreUnavailableError
from metajudge.reading.passes import ItemContents
from metajudge.runs.loop import Job, RunEnd, Stop, run_all
from metajudge.store.jobs import FREE, LEASE_S, JobRow, Lane, ResultRow, StoredJobs
from metajudge.store.store import GatheredReads, Store
from metajudge.types import Judgment
from metajudge.vetting.engine import marked

from .limits import Limits
from .metrics import Metrics
from .panels import Choice, Panels
from .tasks import (
    Asked,
    Found,
    JobState,
    JobStatus,
    Record,
    ResultsPage,
    Tasks,
    asked_of,
    cursor_of,
    kind_in,
    record_type,
    seq_of,
    to_text,
)

LANE_ITEMS = 32
"""Items of a lane that are worked on before other jobs' lanes have their turn."""
LOOK_EVERY_S = 2.0
"""Seconds after which what another process changed is found without its notification."""
MOMENT_S = 0.2
"""Seconds for which who begins to wait for a change still hears of it: what he has read may be as old."""
LEAVE_S = 5.0
"""Seconds that a stopping process has to put back its lanes."""
SWEEP_EVERY_S = 600.0
SWEEP_PAUSE_S = 0.02
BUDGET_SPENT = "the budget of the service is spent; the results so far are kept"
UNEXPECTED = "unexpected error: see the service's log"

_log = logging.getLogger("metajudge.api")


class JobQueue:
    """Jobs, their results and their workers.

    Args:
        tasks: clashes and cases; None where only judgments are vetted.
        lease_s: seconds after which a process that does not renew its lease is considered dead.
        lane_items: see :data:`LANE_ITEMS`.

    Attributes:
        changed_hook: told about each job that may have ended.
    """

    def __init__(
        self,
        panels: Panels,
        store: Store,
        limits: Limits,
        metrics: Metrics,
        tasks: Tasks | None = None,
        *,
        lease_s: float = LEASE_S,
        lane_items: int = LANE_ITEMS,
    ) -> None:
        self._panels = panels
        self._store = store
        self._limits = limits
        self._metrics = metrics
        self._tasks = tasks
        self._rows = StoredJobs(store, lease_s)
        self._renew_every_s = min(lease_s / 4, LOOK_EVERY_S)
        self._lane_items = lane_items
        self._scratch = tempfile.TemporaryDirectory(prefix="metajudge-uploads-")
        self._uploads = 0
        self._stops: dict[str, list[Stop]] = {}
        self._waiting: dict[str, asyncio.Event] = {}
        self._held: set[Lane] = set()
        self._workers: list[asyncio.Task[None]] = []
        self._background: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._over = asyncio.Event()
        self._leaving = False
        self.changed_hook: Callable[[str], None] = lambda _job_id: None

    @property
    def running(self) -> int:
        """Number of jobs in progress in this process."""
        return len(self._stops)

    async def start(self) -> None:
        """Joins the other processes.

        Raises:
            StoreError: the store cannot be reached.
        """
        await self._rows.supply()
        self._workers = [asyncio.create_task(self._kept_going(self._work)) for _ in range(self._limits.jobs_running)]
        others = (self._renew, self._sweep, lambda: self._store.notifications(self._notified))
        self._background = [asyncio.create_task(self._kept_going(work)) for work in others]

    def hurry(self) -> None:
        """Called at the stop signal, before requests in flight have ended: nothing unreachable is waited for."""
        self._store.hurry()

    async def stop(self) -> None:
        """Stops within ``LEAVE_S``; other processes or the next start continue unfinished jobs."""
        self._leaving = True
        self._store.hurry()
        self._wake.set()
        for job_id in self._stops:
            self._interrupt(job_id)
        await asyncio.wait(self._workers, timeout=LEAVE_S)
        tasks = [*self._workers, *self._background]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._scratch.cleanup()

    async def waiting(self) -> int:
        """Number of jobs not started yet."""
        return await self._rows.count(JobState.QUEUED)

    @contextlib.asynccontextmanager
    async def upload(self) -> AsyncIterator[tuple[str, Path]]:
        """A new job's id, and the file for its records, one on each line.

        Raises:
            HTTPException: 503, too many jobs wait or are being uploaded.
        """
        job_id = uuid.uuid4().hex
        path = self._upload_of(job_id)
        self._uploads += 1
        try:
            await self._check_room(self._uploads - 1)
            yield job_id, path
        finally:
            self._uploads -= 1
            path.unlink(missing_ok=True)

    def _upload_of(self, job_id: str) -> Path:
        return Path(self._scratch.name) / f"{job_id}.jsonl"

    async def _check_room(self, arriving: int = 0) -> None:
        others = await self.waiting() + arriving
        if others >= self._limits.jobs_queued:
            detail = f"{others} jobs already wait or are being uploaded: try again later"
            raise HTTPException(503, detail, {"Retry-After": "30"})

    async def add(self, job_id: str, owner: str, choice: Asked, items: int, key: str | None) -> tuple[bytes, str]:
        """Stores a job whose upload is complete, together with its response under an idempotency key, atomically.

        Returns:
            The response's body and location.

        Raises:
            HTTPException: 503, too many jobs wait.
        """
        await self._check_room()
        row = JobRow(job_id, owner, to_text(choice), items, JobState.QUEUED.value, None, time.time(), None)
        body, location = JobStatus.of(row, {}).model_dump_json().encode(), location_of(job_id)
        await self._rows.add(row, self._upload_of(job_id), key, body, location)
        return body, location

    async def cancel(self, job_id: str) -> JobStatus:
        """Cancels a job in all processes; an ended job is deleted."""
        status = await self.status(job_id)
        if status.state.ended:
            await self._rows.forget(job_id, location_of(job_id))
        else:
            await self._rows.end(job_id, JobState.CANCELLED.value)
            status = await self.status(job_id)
        self._over.set()
        return status

    async def page(self, before: str | None, limit: int, owner: str | None = None, part: str = "") -> list[JobStatus]:
        """A page of jobs, newest first; only those of ``owner`` if given, and with this part of an id."""
        return await self._with_counts(await self._rows.newest(before, limit, owner, part))

    async def _with_counts(self, rows: Sequence[JobRow]) -> list[JobStatus]:
        counts = await self._rows.counts(rows)
        return [JobStatus.of(row, counts[row.job_id]) for row in rows]

    async def row(self, job_id: str) -> JobRow | None:
        """A stored job, None if it is unknown."""
        return next(iter(await self._rows.some([job_id])), None)

    async def status(self, job_id: str) -> JobStatus:
        """A job by its id.

        Raises:
            HTTPException: 404.
        """
        row = await self.row(job_id)
        if row is None:
            raise HTTPException(404, f"there is no job {job_id!r}, or it was deleted")
        return (await self._with_counts([row]))[0]

    async def state(self, job_id: str) -> JobState | None:
        """The state of a job, None if the job is unknown."""
        row = await self.row(job_id)
        return None if row is None else JobState(row.state)

    async def asked(self, job_ids: Sequence[str]) -> dict[str, Asked]:
        """The settings of jobs, for the existing ones among these ids."""
        return {row.job_id: asked_of(row.request) for row in await self._rows.some(job_ids)}

    async def results(self, job_id: str, after_item: int, limit: int) -> list[ResultRow]:
        """A page of results in input order."""
        return await self._rows.page(job_id, "item", after_item, limit)

    async def results_since(self, job_id: str, after_seq: int, limit: int) -> list[ResultRow]:
        """A page of results in order of completion."""
        return await self._rows.page(job_id, "seq", after_seq, limit)

    async def all_results(self, job_id: str) -> AsyncIterator[ResultRow]:
        """All results in input order, read a page at a time."""
        after = -1
        while page := await self.results(job_id, after, 200):
            for row in page:
                yield row
            after = page[-1].item

    async def results_page(self, job_id: str, cursor: int, limit: int) -> ResultsPage:
        """A page of results in order of completion, so that following the cursors finds each result once.

        Args:
            cursor: of the previous page; negative for the first page.

        Raises:
            InputError: the cursor is one of an earlier version.
        """
        seq = seq_of(cursor)
        job = await self.row(job_id)  # read before the rows: a result in between is on the next page
        rows = await self.results_since(job_id, seq, limit + 1)
        complete = (job is None or JobState(job.state).ended) and len(rows) <= limit
        rows = rows[:limit]
        following = None if complete else cursor_of(rows[-1].seq if rows else seq)
        return ResultsPage(rows, following, "vet" if job is None else kind_in(job.request))

    async def changed(self, job_id: str) -> None:
        """Waits until a job may have changed, or has a moment ago, at most some ``LOOK_EVERY_S`` seconds."""
        await asyncio.sleep(MOMENT_S / 4)
        event = self._waiting.setdefault(job_id, asyncio.Event())
        await heard(event, LOOK_EVERY_S)
        self._forget(job_id, event)

    def _forget(self, job_id: str, event: asyncio.Event) -> None:
        if self._waiting.get(job_id) is event:
            del self._waiting[job_id]

    async def _notified(self, job_id: str) -> None:
        if job_id == FREE:
            self._wake.set()
            return
        self.changed_hook(job_id)
        event = self._waiting.setdefault(job_id, asyncio.Event())
        event.set()
        asyncio.get_running_loop().call_later(MOMENT_S, self._forget, job_id, event)
        if job_id in self._stops:
            await self._stop_ended([job_id])

    async def _stop_ended(self, job_ids: Collection[str]) -> None:
        """Stops the work on jobs that have ended."""
        rows = await self._rows.some(list(job_ids))
        for job_id in set(job_ids).difference(row.job_id for row in rows if not JobState(row.state).ended):
            self._interrupt(job_id)

    def _interrupt(self, job_id: str) -> None:
        for stop in self._stops.get(job_id, ()):
            stop.ask(RunEnd.INTERRUPTED)

    async def _kept_going(self, work: Callable[[], Awaitable[Any]]) -> None:
        """Restarts a task after errors, such as a lost server, until this process stops."""
        failures: tuple[type[Exception], ...] = (MetajudgeError, *self._store.engine.failures)
        while not self._leaving:
            try:
                await work()
            except failures as error:
                _log.warning("the queue of jobs is unavailable, retrying: %s", error)
            except Exception as error:
                _log.error("the queue of jobs failed, retrying", exc_info=error)
            await asyncio.sleep(0.0 if self._leaving else LOOK_EVERY_S)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._renew_every_s)
            if self._held:
                await self._rows.renew(self._held)
            if self._stops:
                await self._stop_ended(self._stops)

    async def _sweep(self) -> None:
        """Deletes what is left of jobs that ended, a little at a time."""
        while True:
            self._over.clear()
            for job_id in await self._rows.leftovers():
                while await self._rows.sweep(job_id):  # noqa: ASYNC110 - pauses between batches
                    await asyncio.sleep(SWEEP_PAUSE_S)
            await heard(self._over, SWEEP_EVERY_S)

    async def _work(self) -> None:
        """Works on lanes, one at a time."""
        while not self._leaving:
            self._wake.clear()
            lane = await self._rows.take()
            if lane is None:
                if not self._leaving:
                    await heard(self._wake, LOOK_EVERY_S)
                continue
            self._held.add(lane)
            try:
                await self._work_lane(lane)
            finally:
                self._held.discard(lane)

    async def _work_lane(self, lane: Lane) -> None:
        """Works on the next items of a lane, and puts it back if there may be more."""
        try:
            more = await self._work_items(lane)
        except StoreUnavailableError:
            more = True
            await asyncio.sleep(LOOK_EVERY_S)
        except MetajudgeError as error:
            more = False
            await self._rows.end(lane.job_id, JobState.FAILED.value, str(error))
        except Exception as error:
            more = False
            _log.error("job %s failed", lane.job_id, exc_info=error)
            await self._rows.end(lane.job_id, JobState.FAILED.value, UNEXPECTED)
        if more:
            await self._rows.put_back(lane)
        else:
            self._over.set()

    async def _work_items(self, lane: Lane) -> bool:
        """Works on the next items of a lane; returns whether there may be more."""
        job_id = lane.job_id
        row = await self._rows.begin(job_id)
        found = [] if row is None else await self._rows.next_items(lane, self._lane_items)
        if row is None or not found:
            await self._rows.finish(lane)
            return False
        if self._leaving:
            return True
        stop = Stop()
        self._stops.setdefault(job_id, []).append(stop)
        try:
            end = await self._run(row, found, stop)
        finally:
            self._stops[job_id].remove(stop)
            if not self._stops[job_id]:
                del self._stops[job_id]
        if end is RunEnd.BUDGET:
            await self._rows.end(job_id, JobState.FAILED.value, BUDGET_SPENT)
        return end is RunEnd.FINISHED or self._leaving

    async def _run(self, row: JobRow, found: Sequence[tuple[int, str]], stop: Stop) -> RunEnd:
        choice = asked_of(row.request)
        record = record_type(choice)
        items: list[tuple[int, Record]] = [(item, record.model_validate_json(text)) for item, text in found]
        around = await self._evidence(row.job_id, choice, [one for _, one in items])
        done: dict[str, tuple[int, str, str, bytes]] = {}

        async def keep_all(keys: Sequence[str]) -> dict[str, bool]:
            kept = await self._rows.keep_results(row.job_id, [done[key] for key in keys])
            return dict.fromkeys(keys, kept)

        kept = GatheredReads(keep_all)  # batches results that arrive during a commit

        async def work(job: Job[tuple[int, Record], Found]) -> Found:
            item, one = job.record
            result = await self._result(one, choice, around)
            key = str(item)
            done[key] = (item, result.subject_id, result.status, result.payload)
            if not await kept.get(key):
                stop.ask(RunEnd.INTERRUPTED)
            return result

        return await run_all(
            items,
            work,
            finished=lambda _job, _result, _reused: None,
            workers=self._limits.job_workers,
            stop=stop,
            grace_s=1.0,
        )

    async def _evidence(self, job_id: str, choice: Asked, records: Sequence[Record]) -> dict[str, list[Judgment]]:
        """The upload's judgments about the same items, by the item's id, if they can change a result."""
        found: dict[str, list[Judgment]] = {}
        if isinstance(choice, Choice) and self._panels.reads_evidence(choice):
            about = [one.item.id for one in records if isinstance(one, Judgment)]
            for item_id, text in await self._rows.items_of(job_id, about):
                found.setdefault(item_id, []).append(Judgment.model_validate_json(text))
        return found

    async def _result(self, judgment: Record, choice: Asked, evidence: dict[str, list[Judgment]]) -> Found:
        """The result of an item; a judgment that contradicts most of those about its item is not vetted."""
        if not isinstance(choice, Choice):
            assert self._tasks is not None
            return await self._tasks.item(judgment, choice)
        assert isinstance(judgment, Judgment)
        around = evidence.get(judgment.item.id, ())
        contents = ItemContents.among(around)
        if (objection := contents.objection(judgment)) is not None:
            assessment = marked(self._panels.vetter(choice).refused(judgment, objection), judgment)
        else:
            agreed = [other for other in around if contents.objection(other) is None]
            assessment = await self._panels.vet(judgment, choice, agreed)
        self._metrics.assessed(assessment)
        return Found.of(assessment)


def location_of(job_id: str) -> str:
    """The path of a job."""
    return f"/v1/jobs/{job_id}"
