"""Jobs of one process: records worked on in the background, also across restarts, each with exactly one result.

The upload is a file until the job ends; state and results are in the :class:`~.ledger.Ledger`. After a restart a job
continues with the items that have no result yet; earlier replies for them are in the store.
"""

import asyncio
import contextlib
import logging
import time
from pathlib import Path

from metajudge.errors import MetajudgeError
from metajudge.runs.loop import RunEnd, Stop

from .ledger import JobRow, Ledger, location_of
from .limits import Limits
from .metrics import Metrics
from .panels import Panels
from .queue import BUDGET_SPENT, UNEXPECTED, JobQueue, JobState, JobStatus
from .tasks import Asked, Found, Tasks, asked_of, record_type, to_text
from .uploads import Upload

_log = logging.getLogger("metajudge.api")

UNFINISHED = (JobState.QUEUED, JobState.RUNNING, JobState.CANCELLING)
DROP_PAUSE_S = 0.02
POLL_S = 0.2


class Jobs(JobQueue):
    """A :class:`~.queue.JobQueue` of one process.

    Args:
        folder: the folder of uploads until their jobs end.
    """

    def __init__(
        self,
        panels: Panels,
        ledger: Ledger,
        folder: Path,
        limits: Limits,
        metrics: Metrics,
        tasks: Tasks | None = None,
    ) -> None:
        super().__init__(panels, ledger, folder, limits, metrics, tasks)
        self._ledger = ledger
        self._stops: dict[str, Stop] = {}
        self._wake = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._taken: set[str] = set()
        self._dropping: asyncio.Task[None] | None = None

    @property
    def running(self) -> int:
        return len(self._stops)

    async def start(self) -> None:
        known = {row.job_id for row in self._ledger.jobs(UNFINISHED)}
        for path in self._folder.iterdir():  # uploads that never became jobs
            if path.stem not in known:
                path.unlink()
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._limits.jobs_running)]
        self._wake.set()
        self._drop()

    def hurry(self) -> None:
        """All that is waited for is on this machine."""

    async def stop(self) -> None:
        tasks = [*self._workers, *([self._dropping] if self._dropping else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _upload_ended(self, job_id: str) -> None:
        if await self.row(job_id) is None:
            await super()._upload_ended(job_id)

    async def add(self, job_id: str, owner: str, choice: Asked, items: int, key: str | None) -> tuple[bytes, str]:
        row = JobRow(job_id, owner, to_text(choice), items, JobState.QUEUED, None, time.time(), None)
        body, location = JobStatus.of(row, {}).model_dump_json().encode(), location_of(job_id)
        with self._ledger.together():  # a kill leaves both job and response, or neither
            self._ledger.add_job(row)
            if key is not None:
                await self._ledger.answered(owner, key, 202, body, location)
        self._wake.set()
        return body, location

    async def cancel(self, job_id: str) -> JobStatus:
        """Cancels a job, even if the service is killed meanwhile; an ended job is deleted."""
        status = await self.status(job_id)
        if status.state.ended:
            self._ledger.forget_job(job_id)
            self._drop()
            return status
        if job_id in self._stops:
            self._ledger.set_job(job_id, JobState.CANCELLING)
            self._stops[job_id].ask(RunEnd.INTERRUPTED)
        else:
            self._end(job_id, JobState.CANCELLED)
        return await self.status(job_id)

    async def changed(self, job_id: str) -> None:
        await asyncio.sleep(POLL_S)

    def _drop(self) -> None:
        """Deletes the results of deleted jobs in small batches."""
        if self._dropping is None or self._dropping.done():
            self._dropping = asyncio.create_task(self._drop_all())

    async def _drop_all(self) -> None:
        while self._ledger.drop_results():  # noqa: ASYNC110 - pauses between batches
            await asyncio.sleep(DROP_PAUSE_S)

    async def _work(self) -> None:
        while True:
            row = next((row for row in self._ledger.jobs(UNFINISHED) if row.job_id not in self._taken), None)
            if row is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            self._taken.add(row.job_id)
            try:
                await self._run(row)
            except MetajudgeError as error:
                self._end(row.job_id, JobState.FAILED, str(error))
            except Exception as error:
                _log.error("job %s failed", row.job_id, exc_info=error)
                self._end(row.job_id, JobState.FAILED, UNEXPECTED)
            finally:
                self._stops.pop(row.job_id, None)
                self._taken.discard(row.job_id)

    async def _run(self, row: JobRow) -> None:
        job_id = row.job_id
        if row.state == JobState.CANCELLING:  # cancelled before the service was killed
            self._end(job_id, JobState.CANCELLED)
            return
        self._ledger.set_job(job_id, JobState.RUNNING)
        stop = self._stops[job_id] = Stop()
        choice = asked_of(row.request)
        upload = Upload(self._upload_of(job_id), record_type(choice))
        done = self._ledger.done_items(job_id)
        places = await asyncio.to_thread(upload.places) if self._reads_evidence(choice) else {}

        async def keep(item: int, result: Found) -> bool:
            self._ledger.add_result(job_id, item, result.subject_id, result.status, result.payload)
            return True

        end = await self._work_on(
            choice, upload.without(done), lambda item_id: upload.read(places.get(item_id, ())), keep, stop
        )
        if end is RunEnd.BUDGET:
            self._end(job_id, JobState.FAILED, BUDGET_SPENT)
        else:
            self._end(job_id, JobState.CANCELLED if end is RunEnd.INTERRUPTED else JobState.DONE)

    def _end(self, job_id: str, state: JobState, detail: str | None = None) -> None:
        self._ledger.set_job(job_id, state, detail, time.time())
        self.changed_hook(job_id)
        with contextlib.suppress(OSError):
            self._upload_of(job_id).unlink()
