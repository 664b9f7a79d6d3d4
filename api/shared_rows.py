"""Jobs, their items and results in the PostgreSQL database shared by replicas."""

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import orjson
import psycopg

from metajudge.store.postgres_connections import PgConnection
from metajudge.store.postgres_store import PostgresStore
from metajudge.store.sql import Connection
from metajudge.types import Judgment

from .ledger import KEEP_ANSWERS_S, Answer, JobRow, ResultRow, location_of, no_such_page
from .queue import JobState
from .shared_lanes import AT_WORK, Lane, insert_lanes, notify
from .tasks import asked_of, record_type
from .uploads import Numbered

_JOB: Final = "job_id, owner, request, items, state, detail, created_at, ended_at"
TAKEN_OVER_AFTER_S = 5.0
"""Seconds after which the key of a lost replica is free again; a running replica whose connection was interrupted has
reconnected by then."""
_CLEAR_EVERY_S = 300.0

_TAKE = """
    INSERT INTO service_answers (owner, key, fingerprint, at, writer_id) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (owner, key) DO UPDATE SET fingerprint = excluded.fingerprint, at = excluded.at,
        writer_id = excluded.writer_id, status = NULL, body = NULL, location = NULL
    WHERE service_answers.at < $6 OR (service_answers.status IS NULL AND service_answers.at < $7
        AND service_answers.writer_id NOT IN ({alive}))
    RETURNING 1
"""


class SharedAnswers:
    """Responses of all replicas; a key belongs to one replica until it responds, releases it or is killed."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._take = _TAKE.format(alive=store.writers_alive)
        self._cleared_at = float("-inf")

    async def begin(self, owner: str, key: str, fingerprint: str) -> Answer | None:
        """Takes a key for a request; None if it was free, else its entry."""
        now = time.time()
        await self._forget_old(now)
        values = [owner, key, fingerprint, now, self._store.writer_id, now - KEEP_ANSWERS_S, now - TAKEN_OVER_AFTER_S]

        def take(connection: Connection) -> tuple[Any, ...] | None:
            if connection.execute(self._take, values).fetchall():
                return None
            rows = connection.execute(
                "SELECT fingerprint, status, coalesce(body, ''::BYTEA), location FROM service_answers "
                "WHERE owner = $1 AND key = $2",
                [owner, key],
            ).fetchall()
            return rows[0] if rows else (fingerprint, None, b"", None)  # released meanwhile: the caller retries

        found = await self._store.change(take)
        return None if found is None else Answer(*found)

    async def answered(self, owner: str, key: str, status: int, body: bytes, location: str | None) -> None:
        """Stores the response."""
        await self._store.change_again(
            lambda connection: keep_answer(connection, self._store.writer_id, owner, key, status, body, location)
        )

    async def release(self, owner: str, key: str) -> None:
        """Releases a key whose request failed."""
        values = [owner, key, self._store.writer_id]
        await self._store.change_again(
            lambda connection: connection.execute(
                "DELETE FROM service_answers WHERE owner = $1 AND key = $2 AND writer_id = $3 AND status IS NULL",
                values,
            )
        )

    async def _forget_old(self, now: float) -> None:
        if now - self._cleared_at < _CLEAR_EVERY_S:
            return
        self._cleared_at = now
        await self._store.change_again(
            lambda connection: connection.execute("DELETE FROM service_answers WHERE at < $1", [now - KEEP_ANSWERS_S])
        )


def keep_answer(
    connection: Connection, writer_id: int, owner: str, key: str, status: int, body: bytes, location: str | None
) -> None:
    """Stores a response, unless another replica has taken the key."""
    connection.execute(
        "UPDATE service_answers SET status = $4, body = $5, location = $6 "
        "WHERE owner = $1 AND key = $2 AND writer_id = $3 AND status IS NULL",
        [owner, key, writer_id, status, body, location],
    )


class JobRows:
    """Storage of :class:`~.shared_jobs.SharedJobs`; ``channel`` is the channel that notifies of a job's changes."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self.channel = f"metajudge {store.connections.schema}"

    async def add(self, job: JobRow, upload: Path, key: str | None, body: bytes, location: str) -> None:
        """Stores a job with its items, lanes and response under an idempotency key, atomically."""

        def add(connection: Connection) -> None:
            connection.execute(
                f"INSERT INTO service_jobs ({_JOB}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",  # noqa: S608
                [getattr(job, name) for name in _JOB.split(", ")],
            )
            _copy_items(cast("PgConnection", connection), job.job_id, upload)
            insert_lanes(connection, self.channel)
            if key is not None:
                keep_answer(connection, self._store.writer_id, job.owner, key, 202, body, location)

        await self._store.change(add)

    async def some(self, job_ids: Sequence[str]) -> list[JobRow]:
        """The existing jobs among these ids."""
        query = f"SELECT {_JOB} FROM service_jobs WHERE job_id = ANY($1::VARCHAR[])"  # noqa: S608 - our own names
        return [JobRow(*row) for row in await self._read(query, [list(job_ids)])]

    async def newest(self, before: str | None, limit: int, owner: str | None = None) -> list[JobRow]:
        """A page of jobs (of one key), newest first; ``before`` is the last id of the previous page.

        Raises:
            InputError: the job is unknown or has another owner.
        """
        last = None if before is None else next(iter(await self.some([before])), None)
        if before is not None and (last is None or owner not in (None, last.owner)):
            raise no_such_page(before)
        older = "(created_at, job_id) < (SELECT created_at, job_id FROM service_jobs WHERE job_id = $1)"
        rows = await self._read(
            f"SELECT {_JOB} FROM service_jobs WHERE ($1::VARCHAR IS NULL OR {older}) "  # noqa: S608 - our own names
            "AND ($3::VARCHAR IS NULL OR owner = $3) ORDER BY created_at DESC, job_id DESC LIMIT $2",
            [before, limit, owner],
        )
        return [JobRow(*row) for row in rows]

    async def named(self, part: str, limit: int, owner: str | None = None) -> list[JobRow]:
        """Jobs (of one key) whose id contains a text, upper and lower case alike, newest first."""
        rows = await self._read(
            f"SELECT {_JOB} FROM service_jobs WHERE ($3::VARCHAR IS NULL OR owner = $3) "  # noqa: S608 - our own names
            "AND strpos(lower(job_id), $1) > 0 ORDER BY created_at DESC, job_id DESC LIMIT $2",
            [part.lower(), limit, owner],
        )
        return [JobRow(*row) for row in rows]

    async def count(self, state: str) -> int:
        ((found,),) = await self._read("SELECT count(*) FROM service_jobs WHERE state = $1", [str(state)])
        return int(found)

    async def counts(self, job_ids: Sequence[str]) -> Mapping[str, dict[str, int]]:
        """How many results of each status, by job."""
        rows = await self._read(
            "SELECT job_id, status, count(*) FROM service_results WHERE job_id = ANY($1::VARCHAR[]) "
            "GROUP BY job_id, status",
            [list(job_ids)],
        )
        found: dict[str, dict[str, int]] = {job_id: {} for job_id in job_ids}
        for job_id, status, number in rows:
            found[job_id][status] = number
        return found

    async def begin(self, job_id: str) -> JobRow | None:
        """Marks a job as running and returns it; None if it has ended or was deleted."""

        def begin(connection: Connection) -> list[Any]:
            return connection.execute(
                f"UPDATE service_jobs SET state = 'running' WHERE job_id = $1 AND state = ANY($2) RETURNING {_JOB}",  # noqa: S608
                [job_id, list(AT_WORK)],
            ).fetchall()

        rows = await self._store.change_again(begin)
        return JobRow(*rows[0]) if rows else None

    async def next_items(self, lane: Lane, most: int, request: str) -> list[Numbered]:
        """The first items of a lane without a result; ``request`` is the job's, which says what they are."""
        record = record_type(asked_of(request))
        rows = await self._read(
            "SELECT item, payload FROM service_items i WHERE job_id = $1 AND item % $3 = $2 AND NOT EXISTS "
            "(SELECT 1 FROM service_results r WHERE r.job_id = i.job_id AND r.item = i.item) ORDER BY item LIMIT $4",
            [lane.job_id, lane.number, lane.of, most],
        )
        return [Numbered(item, record.model_validate_json(payload)) for item, payload in rows]

    async def judgments_of(self, job_id: str, item_ids: Iterable[str]) -> dict[str, list[Judgment]]:
        """The judgments of a job about some items, by the item's id."""
        rows = await self._read(
            "SELECT item_id, payload FROM service_items WHERE job_id = $1 AND item_id = ANY($2::VARCHAR[]) "
            "ORDER BY item",
            [job_id, sorted(set(item_ids))],
        )
        found: dict[str, list[Judgment]] = {}
        for item_id, payload in rows:
            found.setdefault(item_id, []).append(Judgment.model_validate_json(payload))
        return found

    async def keep_results(self, job_id: str, results: Sequence[tuple[int, str, str, bytes]]) -> bool:
        """Stores (item, judgment id, status, assessment), once for each item; False if the job has ended."""
        columns = [list(column) for column in zip(*sorted(results), strict=True)]

        def keep(connection: Connection) -> bool:
            # The job's row is locked, so that results are numbered in the order of their commits.
            lock = "SELECT state = ANY($2) FROM service_jobs WHERE job_id = $1 FOR NO KEY UPDATE"
            if connection.execute(lock, [job_id, list(AT_WORK)]).fetchall() != [(True,)]:
                return False
            connection.execute(
                """INSERT INTO service_results (job_id, item, seq, judgment_id, status, payload)
                SELECT $1, n.item, last.seq + row_number() OVER (ORDER BY n.item), n.judgment_id, n.status, n.payload
                FROM unnest($2::INTEGER[], $3::VARCHAR[], $4::VARCHAR[], $5::BYTEA[])
                    AS n (item, judgment_id, status, payload),
                    (SELECT coalesce(max(seq), 0) AS seq FROM service_results WHERE job_id = $1) AS last
                WHERE NOT EXISTS (SELECT 1 FROM service_results r WHERE r.job_id = $1 AND r.item = n.item)""",
                [job_id, *columns],
            )
            notify(connection, self.channel, job_id)
            return True

        return await self._store.change_again(keep)

    async def end(self, job_id: str, state: JobState, detail: str | None = None) -> None:
        """Ends a job that has not ended, and deletes its upload and its lanes."""

        def end(connection: Connection) -> None:
            _lock_job(connection, job_id)
            self._end(connection, job_id, state, detail)

        await self._store.change_again(end)

    async def finish_lane(self, lane: Lane) -> None:
        """Deletes a lane whose items all have results, and ends the job if all its items have results."""

        def finish(connection: Connection) -> None:
            _lock_job(connection, lane.job_id)
            connection.execute(
                "DELETE FROM service_lanes WHERE job_id = $1 AND lane = $2 AND writer_id = $3",
                [lane.job_id, lane.number, self._store.writer_id],
            )
            complete = "SELECT items <= (SELECT count(*) FROM service_results WHERE job_id = $1) FROM service_jobs "
            if connection.execute(f"{complete} WHERE job_id = $1", [lane.job_id]).fetchall() == [(True,)]:
                self._end(connection, lane.job_id, JobState.DONE, None)

        await self._store.change_again(finish)

    def _end(self, connection: Connection, job_id: str, state: JobState, detail: str | None) -> None:
        ended = connection.execute(
            "UPDATE service_jobs SET state = $2, detail = $3, ended_at = $4 WHERE job_id = $1 AND state = ANY($5) "
            "RETURNING 1",
            [job_id, state.value, detail, time.time(), list(AT_WORK)],
        ).fetchall()
        if ended:
            connection.execute("DELETE FROM service_items WHERE job_id = $1", [job_id])
            connection.execute("DELETE FROM service_lanes WHERE job_id = $1", [job_id])
            notify(connection, self.channel, job_id)

    async def forget(self, job_id: str) -> None:
        """Deletes a job, its results, and the answer that named it."""

        def forget(connection: Connection) -> None:
            connection.execute("DELETE FROM service_jobs WHERE job_id = $1", [job_id])
            connection.execute("DELETE FROM service_answers WHERE location = $1", [location_of(job_id)])
            notify(connection, self.channel, job_id)

        await self._store.change_again(forget)

    async def page(self, job_id: str, column: str, after: int, limit: int) -> list[ResultRow]:
        """A page of results by ``item`` or ``seq``."""
        rows = await self._read(
            f"SELECT seq, item, judgment_id, status, payload FROM service_results WHERE job_id = $1 AND {column} > $2 "  # noqa: S608
            f"ORDER BY {column} LIMIT $3",
            [job_id, min(after, 2**31 - 1), limit],
        )
        return [ResultRow(*row) for row in rows]

    async def _read(self, query: str, values: list[Any]) -> list[Any]:
        return await self._store.read(lambda connection: connection.execute(query, values).fetchall())


def _lock_job(connection: Connection, job_id: str) -> None:
    """Locks a job's row until the end of the transaction, so that changes of a job are serialised."""
    connection.execute("SELECT 1 FROM service_jobs WHERE job_id = $1 FOR NO KEY UPDATE", [job_id])


async def listening(store: PostgresStore, channel: str, on_notification: Callable[[str], Awaitable[None]]) -> None:
    """Passes on the notifications of a channel until the connection ends."""
    connection = await psycopg.AsyncConnection.connect("", autocommit=True, **store.connections.options)
    async with connection:
        await connection.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(channel)))
        async for notification in connection.notifies():
            await on_notification(notification.payload)


def _copy_items(connection: PgConnection, job_id: str, upload: Path) -> None:
    with connection.cursor().copy("COPY service_items (job_id, item, item_id, payload) FROM STDIN") as copy:
        for item, line in enumerate(_lines(upload)):
            data = orjson.loads(line)  # a judgment has an item, other records are one
            copy.write_row((job_id, item, data.get("item", data)["id"], line.decode().rstrip("\n")))


def _lines(upload: Path) -> Iterator[bytes]:
    with upload.open("rb") as file:
        yield from file
