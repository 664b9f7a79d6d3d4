"""The queue of jobs: the base of the queues of one process and of replicas.

:class:`~.jobs.Jobs` is the queue of one process, :class:`~.shared_jobs.SharedJobs` the one of replicas.
"""

import contextlib
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from fastapi import HTTPException
from pydantic import BaseModel, Field

from metajudge.errors import InputError
from metajudge.readers.item_contents import ItemContents
from metajudge.runs.loop import Job, RunEnd, Stop, run_all
from metajudge.types import Judgment

from .ledger import JobRow, ResultRow
from .limits import Limits
from .metrics import Metrics
from .panels import Choice, Panels
from .tasks import RESULT, Asked, Found, Kind, Tasks, asked_of, kind_in
from .uploads import Numbered

FIRST_CURSOR: Final = 2**40
"""The smallest cursor of results. Cursors of earlier versions were positions in the upload, which are smaller and are
refused."""
BUDGET_SPENT: Final = "the budget of the service is spent; the results so far are kept"
UNEXPECTED: Final = "unexpected error: see the service's log"


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        return self in (JobState.DONE, JobState.CANCELLED, JobState.FAILED)


class JobStatus(BaseModel):
    """A job and its progress."""

    job_id: str
    kind: Kind = Field(default="vet", description="What is done with each item.")
    owner: str = Field(description="The name of the key that sent it.")
    state: JobState
    detail: str | None = Field(default=None, description="The reason if it failed.")
    items: int
    done: int
    by_status: dict[str, int] = Field(
        description="Results so far by status: of vets assessed, unscored, no_verdict, failed; of clashes ok, tie, "
        "no_verdict, error, failed; of cases decided, unscored, failed."
    )
    created_at: float = Field(description="Seconds since the epoch.")
    ended_at: float | None = None

    @classmethod
    def of(cls, row: JobRow, by_status: dict[str, int]) -> "JobStatus":
        """A job's row with its results counted by status."""
        return cls(
            job_id=row.job_id,
            kind=kind_in(row.request),
            owner=row.owner,
            state=JobState(row.state),
            detail=row.detail,
            items=row.items,
            done=sum(by_status.values()),
            by_status=by_status,
            created_at=row.created_at,
            ended_at=row.ended_at,
        )


class JobRecords(Protocol):
    """Storage of jobs and their results."""

    async def some(self, job_ids: Sequence[str]) -> list[JobRow]:
        """The existing jobs among these ids."""

    async def newest(self, before: str | None, limit: int, owner: str | None = None) -> list[JobRow]:
        """A page of jobs (of one key), newest first; ``before`` is the last id of the previous page."""

    async def named(self, part: str, limit: int, owner: str | None = None) -> list[JobRow]:
        """Jobs (of one key) whose id contains a text, upper and lower case alike, newest first."""

    async def count(self, state: str) -> int:
        """How many jobs are in a state."""

    async def counts(self, job_ids: Sequence[str]) -> Mapping[str, dict[str, int]]:
        """How many results of each status, by job."""

    async def page(self, job_id: str, column: str, after: int, limit: int) -> list[ResultRow]:
        """A page of results by ``item`` or ``seq``."""


class JobQueue(ABC):
    """Jobs, their results and their workers.

    Args:
        records: storage of jobs.
        folder: the folder of uploads.
        tasks: clashes and cases; None where only judgments are vetted.
    """

    def __init__(
        self,
        panels: Panels,
        records: JobRecords,
        folder: Path,
        limits: Limits,
        metrics: Metrics,
        tasks: Tasks | None = None,
    ) -> None:
        self._panels = panels
        self._tasks = tasks
        self._records = records
        self._folder = folder
        self._limits = limits
        self._metrics = metrics
        self._uploads = 0
        self.changed_hook: Callable[[str], None] = lambda _job_id: None
        """Told about each job that may have ended."""

    @property
    @abstractmethod
    def running(self) -> int:
        """Number of jobs in progress in this process."""

    @abstractmethod
    async def start(self) -> None:
        """Resumes unfinished jobs and starts the workers."""

    @abstractmethod
    async def stop(self) -> None:
        """Stops the workers; unfinished jobs continue on other replicas or after the next start."""

    @abstractmethod
    def hurry(self) -> None:
        """Called at the stop signal, before requests in flight have ended: nothing unreachable is waited for."""

    @abstractmethod
    async def add(self, job_id: str, owner: str, choice: Asked, items: int, key: str | None) -> tuple[bytes, str]:
        """Stores a job whose upload is complete, together with its response under an idempotency key, atomically.

        Returns:
            The response's body and location.
        """

    @abstractmethod
    async def cancel(self, job_id: str) -> JobStatus:
        """Cancels a job; an ended job is deleted."""

    @abstractmethod
    async def changed(self, job_id: str) -> None:
        """Waits until a job may have changed, or for a short time."""

    async def waiting(self) -> int:
        """Number of jobs not started yet."""
        return await self._records.count(JobState.QUEUED)

    @contextlib.asynccontextmanager
    async def upload(self) -> AsyncIterator[tuple[str, Path]]:
        """A new job's id, and the file for its judgments, one on each line.

        Raises:
            HTTPException: 503, too many jobs wait or are being uploaded.
        """
        job_id = uuid.uuid4().hex
        self._uploads += 1
        try:
            others = await self.waiting() + self._uploads - 1
            if others >= self._limits.jobs_queued:
                detail = f"{others} jobs already wait or are being uploaded: try again later"
                raise HTTPException(503, detail, {"Retry-After": "30"})
            yield job_id, self._upload_of(job_id)
        finally:
            self._uploads -= 1
            await self._upload_ended(job_id)

    async def _upload_ended(self, job_id: str) -> None:
        self._upload_of(job_id).unlink(missing_ok=True)

    def _upload_of(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.jsonl"

    async def page(self, before: str | None, limit: int, owner: str | None = None) -> list[JobStatus]:
        """A page of jobs, newest first; only those of ``owner`` if given."""
        rows = await self._records.newest(before, limit, owner)
        counts = await self._records.counts([row.job_id for row in rows])
        return [JobStatus.of(row, counts[row.job_id]) for row in rows]

    async def find(self, part: str, limit: int, owner: str | None = None) -> list[JobStatus]:
        """Jobs by a part of their id, newest first; only those of ``owner`` if given."""
        rows = await self._records.named(part, limit, owner)
        counts = await self._records.counts([row.job_id for row in rows])
        return [JobStatus.of(row, counts[row.job_id]) for row in rows]

    async def row(self, job_id: str) -> JobRow | None:
        """A stored job, None if it is unknown."""
        return next(iter(await self._records.some([job_id])), None)

    async def status(self, job_id: str) -> JobStatus:
        """A job by its id.

        Raises:
            HTTPException: 404.
        """
        row = await self.row(job_id)
        if row is None:
            raise HTTPException(404, f"there is no job {job_id!r}, or it was deleted")
        return JobStatus.of(row, (await self._records.counts([job_id]))[job_id])

    async def owner(self, job_id: str) -> str | None:
        """The name of the key that sent a job, None if the job is unknown."""
        row = await self.row(job_id)
        return None if row is None else row.owner

    async def state(self, job_id: str) -> JobState | None:
        """The state of a job, None if the job is unknown."""
        row = await self.row(job_id)
        return None if row is None else JobState(row.state)

    async def asked(self, job_ids: Sequence[str]) -> dict[str, Asked]:
        """The settings of jobs, for the existing ones among these ids."""
        return {row.job_id: asked_of(row.request) for row in await self._records.some(job_ids)}

    async def results(self, job_id: str, after_item: int, limit: int) -> list[ResultRow]:
        """A page of results in input order."""
        return await self._records.page(job_id, "item", after_item, limit)

    async def results_since(self, job_id: str, after_seq: int, limit: int) -> list[ResultRow]:
        """A page of results in order of completion."""
        return await self._records.page(job_id, "seq", after_seq, limit)

    def _reads_evidence(self, choice: Asked) -> bool:
        """Whether other records of the upload can change a result."""
        return isinstance(choice, Choice) and self._panels.reads_evidence(choice)

    async def _work_on(
        self,
        choice: Asked,
        items: Iterable[Numbered],
        others: Callable[[str], Sequence[Judgment]],
        keep: Callable[[int, Found], Awaitable[bool]],
        stop: Stop,
    ) -> RunEnd:
        """Works on items that have no result yet.

        Args:
            others: the judgments of an item, by its id; they are evidence. One that contradicts most of them about the
                item is not vetted.
            keep: stores a result; returns False if the job has ended.
        """

        async def work(job: Job[Numbered, Found]) -> Found:
            found = await self._result(job.record, choice, others)
            if not await keep(job.record.item, found):
                stop.ask(RunEnd.INTERRUPTED)
            return found

        return await run_all(
            items,
            work,
            finished=lambda _job, _result, _reused: None,
            workers=self._limits.job_workers,
            stop=stop,
            grace_s=1.0,
        )

    async def _result(self, one: Numbered, choice: Asked, others: Callable[[str], Sequence[Judgment]]) -> Found:
        if not isinstance(choice, Choice):
            assert self._tasks is not None
            return await self._tasks.item(one.record, choice)
        judgment = one.record
        assert isinstance(judgment, Judgment)
        around = others(judgment.item.id)
        contents = ItemContents.among(around)
        if (objection := contents.objection(judgment)) is not None:
            assessment = self._panels.vetter(choice).refused(judgment, objection)
        else:
            agreed = [other for other in around if contents.objection(other) is None]
            assessment = await self._panels.vet(judgment, choice, agreed)
        self._metrics.assessed(assessment)
        return Found.of(assessment)


async def all_results(jobs: JobQueue, job_id: str) -> AsyncIterator[ResultRow]:
    """All results in input order, a page at a time."""
    after = -1
    while page := await jobs.results(job_id, after, 200):
        for row in page:
            yield row
        after = page[-1].item


@dataclass(frozen=True, slots=True)
class ResultsPage:
    """Results in order of completion; ``next_cursor`` is None if the job has ended and no result follows."""

    rows: list[ResultRow]
    next_cursor: int | None
    kind: Kind = "vet"

    def to_json(self) -> bytes:
        """The page as an HTTP body; results are passed on as they are stored."""
        cursor = b"null" if self.next_cursor is None else b"%d" % self.next_cursor
        return b'{"results":[%s],"next_cursor":%s}' % (
            b",".join(row.to_json(RESULT[self.kind]) for row in self.rows),
            cursor,
        )


async def results_page(jobs: JobQueue, job_id: str, cursor: int, limit: int) -> ResultsPage:
    """A page of results in order of completion, so that following the cursors finds each result once.

    Args:
        cursor: of the previous page; negative for the first page.

    Raises:
        InputError: the cursor is one of an earlier version.
    """
    seq = seq_of(cursor)
    job = await jobs.row(job_id)  # read before the rows: a result in between is on the next page
    rows = await jobs.results_since(job_id, seq, limit + 1)
    complete = (job is None or JobState(job.state).ended) and len(rows) <= limit
    rows = rows[:limit]
    following = None if complete else cursor_of(rows[-1].seq if rows else seq)
    return ResultsPage(rows, following, "vet" if job is None else kind_in(job.request))


def cursor_of(seq: int) -> int:
    """The cursor after the result with this number, which is also its event's id."""
    return FIRST_CURSOR + seq


def seq_of(cursor: int) -> int:
    """The number of the last result before a cursor; 0 for a negative one.

    Raises:
        InputError: the cursor is one of an earlier version.
    """
    if cursor < 0:
        return 0
    if cursor < FIRST_CURSOR:
        raise InputError(f"after: {cursor} is a cursor of an earlier version: start again without `after`")
    return cursor - FIRST_CURSOR
