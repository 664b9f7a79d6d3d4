"""The service's own records: responses by idempotency key, jobs and their results.

A small SQLite file next to the store, because these are single rows that change often, which suits no column store.
A write survives ``kill -9`` once the call returns. All calls come from the event loop's thread.
"""

import contextlib
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metajudge.errors import InputError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    owner TEXT, key TEXT, fingerprint TEXT NOT NULL, status INTEGER, body BLOB, location TEXT, at REAL NOT NULL,
    PRIMARY KEY (owner, key)
);
CREATE INDEX IF NOT EXISTS answers_by_age ON answers (at);
CREATE TABLE IF NOT EXISTS jobs (
    job_id TEXT PRIMARY KEY, owner TEXT NOT NULL, request TEXT NOT NULL, items INTEGER NOT NULL,
    state TEXT NOT NULL, detail TEXT, created_at REAL NOT NULL, ended_at REAL
);
CREATE INDEX IF NOT EXISTS jobs_by_age ON jobs (created_at);
CREATE TABLE IF NOT EXISTS results (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL, item INTEGER NOT NULL,
    judgment_id TEXT NOT NULL, status TEXT NOT NULL, payload BLOB NOT NULL, UNIQUE (job_id, item)
);
CREATE INDEX IF NOT EXISTS results_as_they_came ON results (job_id, seq, status);
CREATE TABLE IF NOT EXISTS dropped_jobs (job_id TEXT PRIMARY KEY);
DELETE FROM answers WHERE status IS NULL;
"""
KEEP_ANSWERS_S = 86_400.0
_CLEAR_EVERY_S = 300.0
_DROPPED_AT_ONCE = 500


def no_such_page(before: str) -> InputError:
    """The error of an unknown cursor."""
    return InputError(f"before: there is no job {before!r}, or it was deleted; start again from the first page")


@dataclass(frozen=True, slots=True)
class Answer:
    """The response under an idempotency key; ``status`` is None while the request is in progress."""

    fingerprint: str
    status: int | None
    body: bytes
    location: str | None


@dataclass(frozen=True, slots=True)
class JobRow:
    """A stored job; times in seconds since the epoch."""

    job_id: str
    owner: str
    request: str
    items: int
    state: str
    detail: str | None
    created_at: float
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class ResultRow:
    """The result of one item of a job; ``seq`` grows in order of completion."""

    seq: int
    item: int
    judgment_id: str
    status: str
    payload: bytes

    def to_json(self, name: str = "assessment") -> bytes:
        """The result as an HTTP body; what is stored is passed on.

        Args:
            name: what the result is called.
        """
        error = self.payload.startswith(b'"')
        return b'{"item":%d,"%s":%s}' % (self.item, b"error" if error else name.encode(), self.payload)


def location_of(job_id: str) -> str:
    """The path of a job."""
    return f"/v1/jobs/{job_id}"


class Ledger:
    """The SQLite file; None for memory.

    Args:
        clock: returns seconds since the epoch.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._db = sqlite3.connect(":memory:" if path is None else path, isolation_level=None, check_same_thread=False)
        self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=2000;")
        self._db.executescript(_SCHEMA)
        self._clock = clock
        self._counts: dict[str, Counter[str]] = {}
        self._cleared_at = float("-inf")

    def close(self) -> None:
        self._db.close()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """A transaction: all writes inside are stored, or none."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    async def begin(self, owner: str, key: str, fingerprint: str) -> Answer | None:
        """Takes a key for a request; None if it was free, else its entry."""
        self._forget_old_answers()
        row = self._db.execute(
            "INSERT INTO answers VALUES (?, ?, ?, NULL, NULL, NULL, ?) ON CONFLICT DO NOTHING RETURNING 1",
            [owner, key, fingerprint, self._clock()],
        ).fetchall()
        if row:
            return None
        found = self._db.execute(
            "SELECT fingerprint, status, coalesce(body, x''), location FROM answers WHERE owner = ? AND key = ?",
            [owner, key],
        ).fetchone()
        return Answer(*found)

    async def answered(self, owner: str, key: str, status: int, body: bytes, location: str | None) -> None:
        """Stores the response."""
        self._db.execute(
            "UPDATE answers SET status = ?, body = ?, location = ? WHERE owner = ? AND key = ?",
            [status, body, location, owner, key],
        )

    async def release(self, owner: str, key: str) -> None:
        """Releases a key whose request failed."""
        self._db.execute("DELETE FROM answers WHERE owner = ? AND key = ? AND status IS NULL", [owner, key])

    def _forget_old_answers(self) -> None:
        now = self._clock()
        if now - self._cleared_at < _CLEAR_EVERY_S:
            return
        self._cleared_at = now
        self._db.execute("DELETE FROM answers WHERE at < ? AND status IS NOT NULL", [now - KEEP_ANSWERS_S])

    def add_job(self, job: JobRow) -> None:
        self._db.execute(
            "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [job.job_id, job.owner, job.request, job.items, job.state, job.detail, job.created_at, job.ended_at],
        )

    async def some(self, job_ids: Sequence[str]) -> list[JobRow]:
        """The existing jobs among these ids."""
        return self._jobs_in("job_id", job_ids)

    def jobs(self, states: Iterable[str]) -> list[JobRow]:
        """Jobs in these states, oldest first."""
        return self._jobs_in("state", states)

    def _jobs_in(self, column: str, values: Iterable[str]) -> list[JobRow]:
        wanted = list(values)
        marks = ", ".join("?" * len(wanted))
        rows = self._db.execute(
            f"SELECT * FROM jobs WHERE {column} IN ({marks}) ORDER BY created_at, job_id",  # noqa: S608
            wanted,
        )
        return [JobRow(*row) for row in rows]

    async def named(self, part: str, limit: int, owner: str | None = None) -> list[JobRow]:
        """Jobs (of one key) whose id contains a text, upper and lower case alike, newest first."""
        rows = self._db.execute(
            "SELECT * FROM jobs WHERE (? IS NULL OR owner = ?) AND instr(lower(job_id), ?) > 0 "
            "ORDER BY created_at DESC, job_id DESC LIMIT ?",
            [owner, owner, part.lower(), limit],
        )
        return [JobRow(*row) for row in rows]

    async def count(self, state: str) -> int:
        """How many jobs are in a state."""
        return len(self.jobs([state]))

    async def newest(self, before: str | None, limit: int, owner: str | None = None) -> list[JobRow]:
        """A page of jobs, newest first.

        Args:
            before: id of the last job of the previous page; None for the first page.
            owner: only jobs of this key name; None for all.

        Raises:
            InputError: the job is unknown or has another owner.
        """
        last = None if before is None else next(iter(await self.some([before])), None)
        if before is not None and (last is None or owner not in (None, last.owner)):
            raise no_such_page(before)
        older = "(created_at, job_id) < (SELECT created_at, job_id FROM jobs WHERE job_id = ?)"
        rows = self._db.execute(
            f"SELECT * FROM jobs WHERE (? IS NULL OR owner = ?) AND (? IS NULL OR {older}) "  # noqa: S608
            "ORDER BY created_at DESC, job_id DESC LIMIT ?",
            [owner, owner, before, before, limit],
        )
        return [JobRow(*row) for row in rows]

    def set_job(self, job_id: str, state: str, detail: str | None = None, ended_at: float | None = None) -> None:
        self._db.execute(
            "UPDATE jobs SET state = ?, detail = ?, ended_at = ? WHERE job_id = ?", [state, detail, ended_at, job_id]
        )

    def forget_job(self, job_id: str) -> None:
        """Deletes a job and the answer that named it; :meth:`drop_results` deletes its results."""
        with self.together():
            self._db.execute("DELETE FROM jobs WHERE job_id = ?", [job_id])
            self._db.execute("DELETE FROM answers WHERE location = ?", [location_of(job_id)])
            self._db.execute("INSERT OR IGNORE INTO dropped_jobs VALUES (?)", [job_id])
        self._counts.pop(job_id, None)

    def drop_results(self) -> bool:
        """Deletes a small batch of results of deleted jobs; returns whether there was any such job."""
        row = self._db.execute("SELECT job_id FROM dropped_jobs LIMIT 1").fetchone()
        if row is None:
            return False
        dropped = self._db.execute(
            "DELETE FROM results WHERE seq IN (SELECT seq FROM results WHERE job_id = ? LIMIT ?)",
            [row[0], _DROPPED_AT_ONCE],
        )
        if dropped.rowcount < _DROPPED_AT_ONCE:
            self._db.execute("DELETE FROM dropped_jobs WHERE job_id = ?", [row[0]])
        return True

    def add_result(self, job_id: str, item: int, judgment_id: str, status: str, payload: bytes) -> None:
        """Stores the result of an item, once."""
        counts = self._counted(job_id)
        added = self._db.execute(
            "INSERT INTO results (job_id, item, judgment_id, status, payload) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            [job_id, item, judgment_id, status, payload],
        )
        counts[status] += added.rowcount

    def done_items(self, job_id: str) -> set[int]:
        """The items that have a result."""
        return {item for (item,) in self._db.execute("SELECT item FROM results WHERE job_id = ?", [job_id])}

    async def counts(self, job_ids: Sequence[str]) -> Mapping[str, dict[str, int]]:
        """How many results of each status, by job."""
        return {
            job_id: {status: count for status, count in self._counted(job_id).items() if count} for job_id in job_ids
        }

    def _counted(self, job_id: str) -> Counter[str]:
        """Cached, as progress is polled several times a second."""
        found = self._counts.get(job_id)
        if found is None:
            rows = self._db.execute("SELECT status, count(*) FROM results WHERE job_id = ? GROUP BY status", [job_id])
            found = self._counts[job_id] = Counter(dict(rows.fetchall()))
        return found

    async def page(self, job_id: str, column: str, after: int, limit: int) -> list[ResultRow]:
        """A page of results by ``item`` or ``seq``."""
        rows = self._db.execute(
            f"SELECT seq, item, judgment_id, status, payload FROM results WHERE job_id = ? AND {column} > ? "  # noqa: S608
            f"ORDER BY {column} LIMIT ?",
            [job_id, after, limit],
        )
        return [ResultRow(*row) for row in rows]
