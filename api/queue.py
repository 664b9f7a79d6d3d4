"""What routes ask of answers by idempotency key and of jobs, however many processes share them.

One process keeps both in its :class:`~.ledger.Ledger`; replicas on one PostgreSQL database share them, see
:mod:`.shared_answers` and :mod:`.shared_jobs`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from metajudge.errors import InputError

from .jobs import Jobs, JobState, JobStatus
from .ledger import Answer, Ledger, ResultRow
from .panels import Choice

POLL_S = 0.2
FIRST_CURSOR: Final = 2**40
"""Where cursors of results begin. Those of earlier versions were places in the upload, which are smaller: they are
refused rather than taken for something else."""


class Answers(Protocol):
    """What was answered under idempotency keys."""

    async def begin(self, owner: str, key: str, fingerprint: str) -> Answer | None:
        """Takes a key for a request; None where it was free, else what is known under it."""

    async def answered(self, owner: str, key: str, status: int, body: bytes, location: str | None) -> None:
        """Keeps what was answered."""

    async def release(self, owner: str, key: str) -> None:
        """Gives a key back whose request came to nothing."""


class JobQueue(Protocol):
    """Jobs, their results, and who works on them."""

    @property
    def running(self) -> int:
        """Jobs that this process works on."""

    async def waiting(self) -> int:
        """Jobs that nobody works on yet."""

    async def start(self) -> None:
        """Goes on with what earlier processes left, and starts to work."""

    async def stop(self) -> None:
        """Stops working; what is unfinished goes on elsewhere or with the next start."""

    def upload(self) -> AbstractContextManager[tuple[str, Path]]:
        """A new job's id, and the file to write its judgments to, one a line."""

    async def add(self, job_id: str, owner: str, choice: Choice, items: int, key: str | None) -> tuple[bytes, str]:
        """Accepts a job whose upload is complete, with its answer under an idempotency key: both, or neither.

        Returns:
            The answer's body and location.
        """

    async def page(self, before: str | None, limit: int, owner: str | None = None) -> list[JobStatus]:
        """A page of jobs, newest first; those of one key's name where ``owner`` gives it."""

    async def owner(self, job_id: str) -> str | None:
        """The name of the key that sent a job, None where there is no such job."""

    async def status(self, job_id: str) -> JobStatus:
        """A job by its id.

        Raises:
            HTTPException: 404.
        """

    async def state(self, job_id: str) -> JobState | None:
        """How far a job has come, None where there is none."""

    async def asked(self, job_ids: Sequence[str]) -> dict[str, Choice]:
        """By what jobs are vetted, for those that there are."""

    async def cancel(self, job_id: str) -> JobStatus:
        """Cancels a job; one that has ended is deleted."""

    async def results(self, job_id: str, after_item: int, limit: int) -> list[ResultRow]:
        """A page of results in input order."""

    async def results_since(self, job_id: str, after_seq: int, limit: int) -> list[ResultRow]:
        """A page of results in order of completion."""

    async def changed(self, job_id: str) -> None:
        """Returns when there may be something new about a job, at the latest after a while."""


async def all_results(jobs: JobQueue, job_id: str) -> AsyncIterator[ResultRow]:
    """All results in input order, a page at a time."""
    after = -1
    while page := await jobs.results(job_id, after, 200):
        for row in page:
            yield row
        after = page[-1].item


@dataclass(frozen=True, slots=True)
class ResultsPage:
    """Results in order of completion; ``next_cursor`` is None once the job has ended and nothing follows."""

    rows: list[ResultRow]
    next_cursor: int | None


async def results_page(jobs: JobQueue, job_id: str, cursor: int, limit: int) -> ResultsPage:
    """A page of results in order of completion, so that following the cursors finds each result once.

    Args:
        cursor: of the page before; negative for the first page.

    Raises:
        InputError: the cursor is one of an earlier version.
    """
    seq = seq_of(cursor)
    state = await jobs.state(job_id)  # before the rows are: a result that comes in between is on the next page
    rows = await jobs.results_since(job_id, seq, limit + 1)
    whole = (state is None or state.ended) and len(rows) <= limit
    rows = rows[:limit]
    return ResultsPage(rows, None if whole else cursor_of(rows[-1].seq if rows else seq))


def cursor_of(seq: int) -> int:
    """The cursor that leads on after the result with this number, which is also its event's id."""
    return FIRST_CURSOR + seq


def seq_of(cursor: int) -> int:
    """The number of the last result before a cursor; 0 for a negative one.

    Raises:
        InputError: the cursor is one of an earlier version.
    """
    if cursor < 0:
        return 0
    if cursor < FIRST_CURSOR:
        raise InputError(
            f"after: {cursor} is no cursor of this version, whose pages follow the order of completion: "
            "begin again without `after`"
        )
    return cursor - FIRST_CURSOR


def location_of(job_id: str) -> str:
    """Where a job is found."""
    return f"/v1/jobs/{job_id}"


class LocalAnswers:
    """:class:`Answers` of one process."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def begin(self, owner: str, key: str, fingerprint: str) -> Answer | None:
        return self._ledger.begin(owner, key, fingerprint)

    async def answered(self, owner: str, key: str, status: int, body: bytes, location: str | None) -> None:
        self._ledger.answered(owner, key, status, body, location)

    async def release(self, owner: str, key: str) -> None:
        self._ledger.release(owner, key)


class LocalJobs:
    """A :class:`JobQueue` of one process."""

    def __init__(self, jobs: Jobs, ledger: Ledger) -> None:
        self._jobs = jobs
        self._ledger = ledger

    @property
    def running(self) -> int:
        return self._jobs.running

    async def waiting(self) -> int:
        return self._jobs.waiting

    async def start(self) -> None:
        self._jobs.start()

    async def stop(self) -> None:
        await self._jobs.stop()

    def upload(self) -> AbstractContextManager[tuple[str, Path]]:
        return self._jobs.upload()

    async def add(self, job_id: str, owner: str, choice: Choice, items: int, key: str | None) -> tuple[bytes, str]:
        with self._ledger.together():  # a kill leaves a job with its answer, or neither
            content = self._jobs.add(job_id, owner, choice, items).model_dump_json().encode()
            if key is not None:
                self._ledger.answered(owner, key, 202, content, location_of(job_id))
        return content, location_of(job_id)

    async def page(self, before: str | None, limit: int, owner: str | None = None) -> list[JobStatus]:
        return self._jobs.page(before, limit, owner)

    async def owner(self, job_id: str) -> str | None:
        row = self._ledger.job(job_id)
        return None if row is None else row.owner

    async def status(self, job_id: str) -> JobStatus:
        return self._jobs.status(job_id)

    async def state(self, job_id: str) -> JobState | None:
        row = self._ledger.job(job_id)
        return None if row is None else JobState(row.state)

    async def asked(self, job_ids: Sequence[str]) -> dict[str, Choice]:
        rows = [row for job_id in job_ids if (row := self._ledger.job(job_id)) is not None]
        return {row.job_id: Choice.model_validate_json(row.request) for row in rows}

    async def cancel(self, job_id: str) -> JobStatus:
        return self._jobs.cancel(job_id)

    async def results(self, job_id: str, after_item: int, limit: int) -> list[ResultRow]:
        return self._ledger.results(job_id, after_item, limit)

    async def results_since(self, job_id: str, after_seq: int, limit: int) -> list[ResultRow]:
        return self._ledger.results_since(job_id, after_seq, limit)

    async def changed(self, job_id: str) -> None:
        await asyncio.sleep(POLL_S)
