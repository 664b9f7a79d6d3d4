"""The state of a job, and pages of its results."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from pydantic import BaseModel, Field

from metajudge.errors import InputError
from metajudge.store.jobs import JobRow, ResultRow

from .tasks import RESULT, Kind, kind_in

FIRST_CURSOR: Final = 2**40
"""The smallest cursor of results. Cursors of earlier versions were positions in the upload, which are smaller and are
refused."""


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


class Results(Protocol):
    """Where jobs and their results are; see :class:`~.jobs.JobQueue`."""

    async def row(self, job_id: str) -> JobRow | None: ...

    async def results(self, job_id: str, after_item: int, limit: int) -> list[ResultRow]: ...

    async def results_since(self, job_id: str, after_seq: int, limit: int) -> list[ResultRow]: ...


async def all_results(jobs: Results, job_id: str) -> AsyncIterator[ResultRow]:
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


async def results_page(jobs: Results, job_id: str, cursor: int, limit: int) -> ResultsPage:
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
