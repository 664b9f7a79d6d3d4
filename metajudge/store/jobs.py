"""The service's jobs in the store: their items, their results, and which process works on what.

The items of a job are divided into lanes, each leased to one process at a time. Every change of a lane is one
transaction: it is inserted with its job, taken, put back or finished. A process killed between two of them leaves a
lane whose lease expires; nothing else needs repair. The invariant: a job that has not ended has a lane for every item
without a result.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from metajudge.errors import InputError, StoreError
from metajudge.store.answers import keep_answer
from metajudge.store.sql import Asks, Connection, reads, writes

if TYPE_CHECKING:
    from metajudge.store.store import Store

AT_WORK: Final = ["queued", "running"]
"""States of jobs that have not ended."""
LANES: Final = 8
LEASE_S: Final = 8.0
"""Seconds after which a process that has not renewed its lease is considered dead."""
FREE: Final = ""
"""The notification for a free lane; other notifications are ids of changed jobs."""
_ARRIVING_S: Final = 3_600.0
"""Seconds after which a job whose items are not all stored is given up."""
_ITEMS_AT_ONCE: Final = 1_000
_SWEPT_AT_ONCE: Final = 500
_MOST_CACHED: Final = 10_000

_JOB: Final = "job_id, owner, request, items, state, detail, created_at, ended_at"
_SHOWN: Final = "state NOT IN ('arriving', 'deleted')"
_LANE: Final = ("job_id", "lane", "lanes")


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


@dataclass(frozen=True, slots=True)
class Lane:
    """The items of a job whose number leaves ``number`` when divided by ``of``; ``turn`` orders lanes that wait."""

    turn: int = field(compare=False)
    job_id: str
    number: int
    of: int


class StoredJobs(Asks):
    """Jobs, their items, results and lanes.

    Args:
        lease_s: seconds until the lease of a lane expires.
    """

    def __init__(self, store: "Store", lease_s: float = LEASE_S) -> None:
        super().__init__(store.change_again, store.read)
        self._store = store
        self._lease_s = lease_s
        self._counted: dict[str, tuple[int, Counter[str], bool]] = {}
        self._first: dict[tuple[str, int], int] = {}
        """By job and lane, the item before which all have results."""

    async def add(self, job: JobRow, upload: Path, key: str | None, body: bytes, location: str) -> None:
        """Stores a job with its items, one on each line of a file, its lanes and its response under a key.

        The items are stored some at a time, each a short transaction; the job exists once the last one is stored.

        Raises:
            StoreError: it took longer than an hour.
        """
        values = [job.job_id, job.owner, job.request, job.items, "arriving", job.detail, job.created_at, job.ended_at]
        query = f"INSERT INTO service_jobs ({_JOB}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"  # noqa: S608
        await self._store.change(lambda connection: connection.execute(query, values))
        with upload.open("rb") as file:
            start = 0
            while lines := await asyncio.to_thread(lambda: list(islice(file, _ITEMS_AT_ONCE))):
                await self._store.change(partial(_add_items, job.job_id, lines, start))
                start += len(lines)

        def accept(connection: Connection) -> None:
            query = "UPDATE service_jobs SET state = $2 WHERE job_id = $1 AND state = 'arriving'"
            if connection.execute(query, [job.job_id, job.state]).rowcount < 1:
                raise StoreError("the upload took more than an hour to be stored: send it again, in smaller batches")
            _add_lanes(connection, [(job.job_id, job.items)])
            if key is not None:
                keep_answer(connection, self._store.writer_id, job.owner, key, 202, body, location)

        await self._store.change(accept)

    @reads
    def some(self, connection: Connection, job_ids: Sequence[str]) -> list[JobRow]:
        """The existing jobs among these ids."""
        query = f"SELECT {_JOB} FROM service_jobs WHERE job_id = ANY($1::VARCHAR[]) AND {_SHOWN}"  # noqa: S608
        return [JobRow(*row) for row in connection.rows(query, [list(job_ids)])]

    async def newest(self, before: str | None, limit: int, owner: str | None = None, part: str = "") -> list[JobRow]:
        """A page of jobs, newest first.

        Args:
            before: the last id of the previous page; None for the first one.
            owner: only jobs of this key; None for all.
            part: only jobs whose id contains this text, upper and lower case alike.

        Raises:
            InputError: the job ``before`` is unknown or has another owner.
        """
        last = None if before is None else next(iter(await self.some([before])), None)
        if before is not None and (last is None or owner not in (None, last.owner)):
            raise InputError(f"before: there is no job {before!r}, or it was deleted; start again from the first page")
        older = "(created_at, job_id) < (SELECT created_at, job_id FROM service_jobs WHERE job_id = $1)"
        query = f"""SELECT {_JOB} FROM service_jobs WHERE {_SHOWN} AND ($1::VARCHAR IS NULL OR {older})
            AND ($3::VARCHAR IS NULL OR owner = $3) AND strpos(lower(job_id), $4) > 0
            ORDER BY created_at DESC, job_id DESC LIMIT $2"""  # noqa: S608
        rows = await self._read(lambda connection: connection.rows(query, [before, limit, owner, part.lower()]))
        return [JobRow(*row) for row in rows]

    @reads
    def count(self, connection: Connection, state: str) -> int:
        """How many jobs are in a state."""
        return int(connection.row("SELECT count(*) FROM service_jobs WHERE state = $1", [state])[0])

    @reads
    def counts(self, connection: Connection, jobs: Sequence[JobRow]) -> dict[str, dict[str, int]]:
        """How many results of each status, by job; only results that are new since the last time are read."""
        if len(self._counted) > _MOST_CACHED:
            self._counted.clear()
        query = """SELECT status, count(*), max(seq) FROM service_results WHERE job_id = $1 AND seq > $2
            GROUP BY status"""
        found = {}
        for job in jobs:
            last, counted, complete = self._counted.get(job.job_id, (0, Counter[str](), False))
            if not complete:
                rows = connection.rows(query, [job.job_id, last])
                counted = counted + Counter({status: number for status, number, _ in rows})
                last = max([last, *(seq for *_, seq in rows)])
                self._counted[job.job_id] = (last, counted, job.state not in AT_WORK)
            found[job.job_id] = dict(counted)
        return found

    @writes
    def begin(self, connection: Connection, job_id: str) -> JobRow | None:
        """Marks a job as running and returns it; None if it has ended or was deleted."""
        query = f"UPDATE service_jobs SET state = 'running' WHERE job_id = $1 AND state = ANY($2) RETURNING {_JOB}"  # noqa: S608
        return next((JobRow(*row) for row in connection.rows(query, [job_id, AT_WORK])), None)

    @reads
    def next_items(self, connection: Connection, lane: Lane, most: int) -> list[tuple[int, str]]:
        """The first items of a lane without a result."""
        place = (lane.job_id, lane.number)
        rows = connection.rows(
            """SELECT item, payload FROM service_items AS i WHERE job_id = $1 AND item >= $5 AND item % $3 = $2
                AND NOT EXISTS (SELECT 1 FROM service_results AS r WHERE r.job_id = i.job_id AND r.item = i.item)
                ORDER BY item LIMIT $4""",
            [*place, lane.of, most, self._first.get(place, 0)],
        )
        if len(self._first) > _MOST_CACHED:
            self._first.clear()
        if rows:
            self._first[place] = rows[0][0]
        return [(item, payload) for item, payload in rows]

    @reads
    def items_of(self, connection: Connection, job_id: str, item_ids: Iterable[str]) -> list[tuple[str, str]]:
        """Item id and record of a job's records about some items."""
        rows = connection.rows(
            """SELECT item, item_id, payload FROM service_items WHERE job_id = $1
                AND item_id IN (SELECT unnest($2::VARCHAR[]))""",
            [job_id, sorted(set(item_ids))],
        )
        return [(item_id, payload) for _, item_id, payload in sorted(rows)]

    @writes
    def keep_results(self, connection: Connection, job_id: str, results: Sequence[tuple[int, str, str, bytes]]) -> bool:
        """Stores (item, judgment id, status, result), once for each item; False if the job has ended."""
        # The job's row is locked, so that results are numbered in the order of their commits.
        if self._locked(connection, job_id) not in AT_WORK:
            return False
        there = connection.column(
            "SELECT item FROM service_results WHERE job_id = $1 AND item = ANY($2::INTEGER[])",
            [job_id, [item for item, *_ in results]],
        )
        new = sorted(row for row in results if row[0] not in there)
        (last,) = connection.row("SELECT coalesce(max(seq), 0) FROM service_results WHERE job_id = $1", [job_id])
        columns = ("job_id", "seq", "item", "judgment_id", "status", "payload")
        rows = ((job_id, seq, *row) for seq, row in enumerate(new, last + 1))
        connection.insert("service_results", columns, rows)
        connection.notify(job_id)
        return True

    @writes
    def end(self, connection: Connection, job_id: str, state: str, detail: str | None = None) -> None:
        """Ends a job that has not ended; :meth:`sweep` deletes its upload."""
        if self._locked(connection, job_id) in AT_WORK:
            self._end(connection, job_id, state, detail)

    def _end(self, connection: Connection, job_id: str, state: str, detail: str | None) -> None:
        connection.execute(
            "UPDATE service_jobs SET state = $2, detail = $3, ended_at = $4 WHERE job_id = $1",
            [job_id, state, detail, time.time()],
        )
        connection.execute("DELETE FROM service_lanes WHERE job_id = $1", [job_id])
        connection.notify(job_id)

    @writes
    def forget(self, connection: Connection, job_id: str, location: str) -> None:
        """Deletes an ended job and the answer that named it; :meth:`sweep` deletes its results."""
        connection.execute("UPDATE service_jobs SET state = 'deleted' WHERE job_id = $1", [job_id])
        connection.execute("DELETE FROM service_answers WHERE status = 202 AND location = $1", [location])
        connection.notify(job_id)

    @writes
    def leftovers(self, connection: Connection) -> list[str]:
        """Jobs with rows to delete: those of deleted jobs, and uploads of jobs that ended or never began."""
        connection.execute(
            "UPDATE service_jobs SET state = 'deleted' WHERE state = 'arriving' AND created_at < $1",
            [time.time() - _ARRIVING_S],
        )
        return connection.column("""SELECT job_id FROM service_jobs AS j WHERE state = 'deleted'
            OR (state NOT IN ('arriving', 'queued', 'running')
                AND EXISTS (SELECT 1 FROM service_items AS i WHERE i.job_id = j.job_id))""")

    @writes
    def sweep(self, connection: Connection, job_id: str) -> bool:
        """Deletes some of a job's leftovers in a short transaction; returns whether there may be more."""
        deleted = connection.rows("SELECT state FROM service_jobs WHERE job_id = $1", [job_id]) == [("deleted",)]
        for table in ("service_items", "service_results") if deleted else ("service_items",):
            some = f"SELECT item FROM {table} WHERE job_id = $1 LIMIT $2"  # noqa: S608
            query = f"DELETE FROM {table} WHERE job_id = $1 AND item IN ({some})"  # noqa: S608
            if connection.execute(query, [job_id, _SWEPT_AT_ONCE]).rowcount > 0:
                return True
        if deleted:
            connection.execute("DELETE FROM service_jobs WHERE job_id = $1", [job_id])
        return False

    @reads
    def page(self, connection: Connection, job_id: str, column: str, after: int, limit: int) -> list[ResultRow]:
        """A page of results by ``item`` or ``seq``."""
        query = f"""SELECT seq, item, judgment_id, status, payload FROM service_results WHERE job_id = $1
            AND {column} > $2 ORDER BY {column} LIMIT $3"""  # noqa: S608
        return [ResultRow(*row) for row in connection.rows(query, [job_id, min(after, 2**31 - 1), limit])]

    @writes
    def supply(self, connection: Connection) -> None:
        """Inserts lanes for unfinished jobs without any, queued by an earlier version."""
        query = """SELECT job_id, items FROM service_jobs AS j WHERE state = ANY($1)
            AND NOT EXISTS (SELECT 1 FROM service_lanes AS l WHERE l.job_id = j.job_id) ORDER BY created_at"""
        _add_lanes(connection, connection.rows(query, [AT_WORK]))

    @writes
    def take(self, connection: Connection) -> Lane | None:
        """Leases the next free lane; None if none is free."""
        now = time.time()
        rows = connection.rows(
            f"""UPDATE service_lanes SET writer_id = $1, held_until = $2 WHERE turn = (SELECT turn
                FROM service_lanes AS kept WHERE held_until IS NULL OR held_until < $3 ORDER BY turn LIMIT 1
                {connection.skip_locked}) RETURNING turn, job_id, lane, lanes""",  # noqa: S608
            [self._store.writer_id, now + self._lease_s, now],
        )
        return Lane(*rows[0]) if rows else None

    @writes
    def renew(self, connection: Connection, held: Collection[Lane]) -> None:
        """Extends the leases of the lanes that this process works on.

        A lane it no longer works on but still has in the database, for example after a failed put-back, must not be
        among them: its lease expires. A row that another transaction has locked is about to be deleted with its job:
        waiting for it could deadlock.
        """
        connection.execute(
            f"""UPDATE service_lanes SET held_until = $2 WHERE turn IN (SELECT turn FROM service_lanes AS kept
                WHERE writer_id = $1 AND turn IN (SELECT unnest($3::BIGINT[])) {connection.skip_locked})""",  # noqa: S608
            [self._store.writer_id, time.time() + self._lease_s, [lane.turn for lane in held]],
        )

    @writes
    def put_back(self, connection: Connection, lane: Lane) -> None:
        """Puts a lane at the end of the queue."""
        self._locked(connection, lane.job_id)
        if self._drop(connection, lane):
            connection.insert("service_lanes", _LANE, [(lane.job_id, lane.number, lane.of)])
            connection.notify(FREE)

    @writes
    def finish(self, connection: Connection, lane: Lane) -> None:
        """Deletes a lane whose items all have results, and ends the job if all its items have results."""
        state = self._locked(connection, lane.job_id)
        self._drop(connection, lane)
        done = "items <= (SELECT count(*) FROM service_results WHERE job_id = $1)"
        query = f"SELECT 1 FROM service_jobs WHERE job_id = $1 AND {done}"  # noqa: S608
        if state in AT_WORK and connection.rows(query, [lane.job_id]):
            self._end(connection, lane.job_id, "done", None)
        self._first.pop((lane.job_id, lane.number), None)

    def _drop(self, connection: Connection, lane: Lane) -> bool:
        """Deletes a lane, unless it has another holder by now."""
        query = "DELETE FROM service_lanes WHERE turn = $1 AND writer_id = $2"
        return connection.execute(query, [lane.turn, self._store.writer_id]).rowcount > 0

    def _locked(self, connection: Connection, job_id: str) -> str | None:
        """A job's state; its row is locked until the end of the transaction, so that its changes are serialised."""
        query = f"SELECT state FROM service_jobs WHERE job_id = $1 {connection.for_update}"  # noqa: S608
        return next(iter(connection.column(query, [job_id])), None)


def _add_items(job_id: str, lines: Sequence[bytes], start: int, connection: Connection) -> None:
    rows = []
    for item, line in enumerate(lines, start):
        data = orjson.loads(line)  # a judgment has an item, other records are one
        rows.append((job_id, item, data.get("item", data)["id"], line.decode().rstrip("\n")))
    connection.insert("service_items", ("job_id", "item", "item_id", "payload"), rows)


def _add_lanes(connection: Connection, jobs: Iterable[tuple[str, int]]) -> None:
    rows = [(job_id, lane, LANES) for job_id, items in jobs for lane in range(min(LANES, items))]
    if rows:
        connection.insert("service_lanes", _LANE, rows, "ON CONFLICT DO NOTHING")
        connection.notify(FREE)
