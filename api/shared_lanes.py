"""The queue of jobs on PostgreSQL: lanes of items, each leased to one replica at a time.

Every change of a lane is one transaction: it is inserted with its job, taken, put back or finished. A replica killed
between two of them leaves a lane whose lease expires; nothing else needs repair. The invariant: a job that has not
ended has a lane for every item without a result.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from metajudge.store.postgres_store import PostgresStore
from metajudge.store.sql import Connection

from .queue import JobState

AT_WORK: Final = (JobState.QUEUED.value, JobState.RUNNING.value)
LANES: Final = 8
LANE_ITEMS: Final = 32
"""Items of a lane that are vetted before other jobs' lanes have their turn."""
LEASE_S: Final = 8.0
"""Seconds after which a replica that has not renewed its lease is considered dead."""
FREE: Final = ""
"""The notification for a free lane; other notifications are ids of changed jobs."""

_INSERT: Final = """
    INSERT INTO service_lanes (job_id, lane, lanes)
    SELECT job_id, lane, $2 FROM service_jobs j, generate_series(0, least($2, items) - 1) AS lane
    WHERE state = ANY($1) AND NOT EXISTS (SELECT 1 FROM service_lanes l WHERE l.job_id = j.job_id)
    ORDER BY created_at, lane ON CONFLICT DO NOTHING RETURNING 1
"""
_TAKE: Final = """
    UPDATE service_lanes SET writer_id = $1, held_until = now() + make_interval(secs => $2)
    WHERE (job_id, lane) = (
        SELECT job_id, lane FROM service_lanes WHERE held_until IS NULL OR held_until < now()
        ORDER BY turn LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING job_id, lane, lanes
"""
# A row that another transaction has locked is about to be deleted with its job: waiting for it could deadlock.
_RENEW: Final = """
    UPDATE service_lanes l SET held_until = now() + make_interval(secs => $2)
    FROM (SELECT job_id, lane FROM service_lanes WHERE writer_id = $1
        AND (job_id, lane) IN (SELECT * FROM unnest($3::VARCHAR[], $4::INTEGER[])) FOR UPDATE SKIP LOCKED) AS held
    WHERE l.job_id = held.job_id AND l.lane = held.lane
"""
_PUT_BACK: Final = """
    UPDATE service_lanes SET writer_id = NULL, held_until = NULL, turn = DEFAULT
    WHERE writer_id = $1 AND job_id = $2 AND lane = $3 RETURNING 1
"""


@dataclass(frozen=True, slots=True)
class Lane:
    """The items of a job whose number leaves ``number`` when divided by ``of``."""

    job_id: str
    number: int
    of: int


class Lanes:
    """The lanes of all jobs.

    Args:
        channel: the notification channel of the replicas.
        lease_s: seconds until the lease of a lane expires.
    """

    def __init__(self, store: PostgresStore, channel: str, lease_s: float = LEASE_S) -> None:
        self._store = store
        self._channel = channel
        self._lease_s = lease_s

    async def supply(self) -> None:
        """Inserts lanes for unfinished jobs without any, queued by an earlier version."""
        await self._store.change_again(lambda connection: insert_lanes(connection, self._channel))

    async def take(self) -> Lane | None:
        """Leases the next free lane; None if none is free."""
        values = [self._store.writer_id, self._lease_s]
        rows = await self._store.change_again(lambda connection: connection.execute(_TAKE, values).fetchall())
        return Lane(*rows[0]) if rows else None

    async def renew(self, held: Collection[Lane]) -> None:
        """Extends the leases of the lanes that this replica works on.

        A lane it no longer works on but still has in the database, for example after a failed put-back, must not be
        among them: its lease expires.
        """
        names = [[one.job_id for one in held], [one.number for one in held]]
        values = [self._store.writer_id, self._lease_s, *names]
        await self._store.change_again(lambda connection: connection.execute(_RENEW, values))

    async def put_back(self, lane: Lane) -> None:
        """Puts a lane at the end of the queue."""
        values = [self._store.writer_id, lane.job_id, lane.number]

        def put_back(connection: Connection) -> None:
            if connection.execute(_PUT_BACK, values).fetchall():
                notify(connection, self._channel, FREE)

        await self._store.change_again(put_back)


def insert_lanes(connection: Connection, channel: str) -> None:
    """Inserts lanes for unfinished jobs without any, in the caller's transaction."""
    if connection.execute(_INSERT, [list(AT_WORK), LANES]).fetchall():
        notify(connection, channel, FREE)


def notify(connection: Connection, channel: str, what: str) -> None:
    """Notifies all replicas once the transaction is committed."""
    connection.execute("SELECT pg_notify($1, $2)", [channel, what])
