"""Jobs: many judgments vetted in the background, through restarts, each with exactly one result.

The upload lies in a file until the job ends; state and results are in the :class:`~.ledger.Ledger`. A job goes on
after a restart with the items that have no result yet; what was asked for them before is in the store.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from fastapi import HTTPException
from pydantic import BaseModel, Field

from metajudge.errors import MetajudgeError
from metajudge.runs.loop import Job, RunEnd, Stop, run_all
from metajudge.types import Assessment, Judgment

from .ledger import JobRow, Ledger
from .metrics import Metrics
from .options import Limits
from .panels import Choice, Panels

_log = logging.getLogger("metajudge.api")


class JobState(StrEnum):
    """How far a job has come."""

    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        return self in (JobState.DONE, JobState.CANCELLED, JobState.FAILED)


UNFINISHED = (JobState.QUEUED, JobState.RUNNING, JobState.CANCELLING)
DROP_PAUSE_S = 0.02


class JobStatus(BaseModel):
    """A job and how far it has come."""

    job_id: str
    owner: str = Field(description="The name of the key that sent it.")
    state: JobState
    detail: str | None = Field(default=None, description="Why it failed.")
    items: int
    done: int
    by_status: dict[str, int] = Field(description="Results so far by status: assessed, unscored, failed.")
    created_at: float = Field(description="Seconds since the epoch.")
    ended_at: float | None = None

    @classmethod
    def of(cls, row: JobRow, by_status: dict[str, int]) -> "JobStatus":
        """A job's row with its results counted by status."""
        return cls(
            job_id=row.job_id,
            owner=row.owner,
            state=JobState(row.state),
            detail=row.detail,
            items=row.items,
            done=sum(by_status.values()),
            by_status=by_status,
            created_at=row.created_at,
            ended_at=row.ended_at,
        )


@dataclass(frozen=True, slots=True)
class Numbered:
    """A judgment and its place in the upload."""

    item: int
    judgment: Judgment


class Jobs:
    """The jobs of a service.

    Args:
        folder: where uploads lie.
    """

    def __init__(self, panels: Panels, ledger: Ledger, folder: Path, limits: Limits, metrics: Metrics) -> None:
        self._panels = panels
        self._ledger = ledger
        self._folder = folder
        self._limits = limits
        self._metrics = metrics
        self._stops: dict[str, Stop] = {}
        self._wake = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._taken: set[str] = set()
        self._uploads = 0
        self._dropping: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Jobs that nobody works on yet."""
        return len(self._ledger.jobs([JobState.QUEUED]))

    @property
    def running(self) -> int:
        return len(self._stops)

    def start(self) -> None:
        """Goes on with what an earlier process left, and starts to work."""
        known = {row.job_id for row in self._ledger.jobs(UNFINISHED)}
        for path in self._folder.iterdir():  # uploads that never became jobs
            if path.stem not in known:
                path.unlink()
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._limits.jobs_running)]
        self._wake.set()
        self._drop()

    async def stop(self) -> None:
        """Stops working; what is unfinished goes on with the next start."""
        tasks = [*self._workers, *([self._dropping] if self._dropping else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @contextlib.contextmanager
    def upload(self) -> Iterator[tuple[str, Path]]:
        """A new job's id, and the file to write its judgments to, one a line; gone again unless :meth:`add` took it.

        Raises:
            HTTPException: 503, too many jobs wait or are being sent.
        """
        if self.waiting + self._uploads >= self._limits.jobs_queued:
            detail = f"{self.waiting + self._uploads} jobs wait or are being sent already: try again later"
            raise HTTPException(503, detail, {"Retry-After": "30"})
        job_id = uuid.uuid4().hex
        path = self._folder / f"{job_id}.jsonl"
        self._uploads += 1
        try:
            yield job_id, path
        finally:
            self._uploads -= 1
            if self._ledger.job(job_id) is None:
                path.unlink(missing_ok=True)

    def add(self, job_id: str, owner: str, choice: Choice, items: int) -> JobStatus:
        """Accepts a job whose upload is complete."""
        row = JobRow(job_id, owner, choice.model_dump_json(), items, JobState.QUEUED, None, time.time(), None)
        self._ledger.add_job(row)
        self._wake.set()
        return self._status(row)

    def page(self, before: str | None, limit: int, owner: str | None = None) -> list[JobStatus]:
        """A page of jobs (of one key), newest first; ``before`` is the last id of the page before."""
        return [self._status(row) for row in self._ledger.newest_jobs(before, limit, owner)]

    def status(self, job_id: str) -> JobStatus:
        """A job by its id.

        Raises:
            HTTPException: 404.
        """
        row = self._ledger.job(job_id)
        if row is None:
            raise HTTPException(404, f"there is no job {job_id!r}, or it was deleted")
        return self._status(row)

    def _status(self, row: JobRow) -> JobStatus:
        return JobStatus.of(row, self._ledger.counts(row.job_id))

    def cancel(self, job_id: str) -> JobStatus:
        """Cancels a job, also where the service is killed before it has ended; one that has ended is deleted."""
        status = self.status(job_id)
        if status.state.ended:
            self._ledger.forget_job(job_id)
            self._drop()
            return status
        if job_id in self._stops:
            self._ledger.set_job(job_id, JobState.CANCELLING)
            self._stops[job_id].ask(RunEnd.INTERRUPTED)
        else:
            self._end(job_id, JobState.CANCELLED)
        return self.status(job_id)

    def _drop(self) -> None:
        """Drops the results of deleted jobs, little by little."""
        if self._dropping is None or self._dropping.done():
            self._dropping = asyncio.create_task(self._drop_all())

    async def _drop_all(self) -> None:
        while self._ledger.drop_results():  # noqa: ASYNC110 - little by little, not for somebody
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
                self._end(row.job_id, JobState.FAILED, "an unexpected error, which is in the service's log")
            finally:
                self._stops.pop(row.job_id, None)
                self._taken.discard(row.job_id)

    async def _run(self, row: JobRow) -> None:
        if row.state == JobState.CANCELLING:  # by a service that was killed meanwhile
            self._end(row.job_id, JobState.CANCELLED)
            return
        self._ledger.set_job(row.job_id, JobState.RUNNING)
        stop = self._stops[row.job_id] = Stop()
        choice = Choice.model_validate_json(row.request)
        upload = Upload(self._folder / f"{row.job_id}.jsonl")
        done = self._ledger.done_items(row.job_id)
        around = await asyncio.to_thread(upload.neighbours) if self._panels.reads_evidence(choice) else {}

        async def work(job: Job[Numbered, Assessment]) -> Assessment:
            judgment = job.record.judgment
            others = upload.read(around.get(judgment.item.id, ()))
            return await self._panels.vet(judgment, choice, others)

        def finished(job: Job[Numbered, Assessment], result: Assessment, _reused: bool) -> None:
            self._metrics.assessed(result)
            payload = result.model_dump_json().encode()
            self._ledger.add_result(row.job_id, job.record.item, result.judgment_id, result.status.value, payload)

        end = await run_all(
            upload.without(done),
            work,
            finished=finished,
            workers=self._limits.job_workers,
            stop=stop,
            grace_s=1.0,
        )
        if end is RunEnd.BUDGET:
            self._end(row.job_id, JobState.FAILED, "the budget of the service is spent; the results so far are kept")
        else:
            self._end(row.job_id, JobState.CANCELLED if end is RunEnd.INTERRUPTED else JobState.DONE)

    def _end(self, job_id: str, state: JobState, detail: str | None = None) -> None:
        self._ledger.set_job(job_id, state, detail, time.time())
        with contextlib.suppress(OSError):
            (self._folder / f"{job_id}.jsonl").unlink()


class Upload:
    """Judgments in a file, one a line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def without(self, done: Collection[int]) -> Iterator[Numbered]:
        """All but those at these places."""
        with self.path.open("rb") as file:
            for item, line in enumerate(file):
                if item not in done:
                    yield Numbered(item, Judgment.model_validate_json(line))

    def neighbours(self) -> dict[str, list[int]]:
        """Item id -> where the lines about it begin."""
        found: dict[str, list[int]] = {}
        at = 0
        with self.path.open("rb") as file:
            for line in file:
                found.setdefault(Judgment.model_validate_json(line).item.id, []).append(at)
                at += len(line)
        return found

    def read(self, places: "list[int] | tuple[int, ...]") -> list[Judgment]:
        """The judgments whose lines begin there."""
        if not places:
            return []
        with self.path.open("rb") as file:
            return [Judgment.model_validate_json(_line_at(file, at)) for at in places]


def _line_at(file: BinaryIO, at: int) -> bytes:
    file.seek(at)
    return file.readline()


async def receive_lines(stream: AsyncIterator[bytes], longest: int) -> AsyncIterator[bytes]:
    """The lines of a body as it comes; empty ones are left out.

    Raises:
        HTTPException: 413, a line longer than ``longest`` bytes.
    """
    rest = b""
    async for chunk in stream:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line
        if len(rest) > longest:
            raise HTTPException(413, f"a line is longer than {longest} bytes")
    if rest.strip():
        yield rest
