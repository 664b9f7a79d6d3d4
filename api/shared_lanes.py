"""The queue of jobs on PostgreSQL: lanes of items, each leased to one replica at a time.

Every step of a lane's life is one transaction: it is inserted with its job, taken, put back or finished. A replica
that is killed between any two of them leaves a lane whose lease runs out, and nothing else to repair. The invariant:
a job that has not ended has a lane for every item without a result.
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
"""A replica that has not renewed its lease for this long is taken for dead."""
FREE: Final = ""
"""What is told on the channel when a lane waits; everything else is the id of a job that changed."""

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
        channel: where replicas are told that a lane waits.
        lease_s: seconds that a lane stays with a replica that does not renew it.
    """

    def __init__(self, store: PostgresStore, channel: str, lease_s: float = LEASE_S) -> None:
        self._store = store
        self._channel = channel
        self._lease_s = lease_s

    async def supply(self) -> None:
        """Gives lanes to jobs at work that have none: an earlier version queued them elsewhere."""
        await self._store.change_again(lambda connection: insert_lanes(connection, self._channel))

    async def take(self) -> Lane | None:
        """Leases the lane whose turn it is; None where none waits."""
        values = [self._store.writer_id, self._lease_s]
        rows = await self._store.change_again(lambda connection: connection.execute(_TAKE, values).fetchall())
        return Lane(*rows[0]) if rows else None

    async def renew(self, held: Collection[Lane]) -> None:
        """Extends the leases of the lanes that this replica works on.

        One that it holds by the database but does not work on, such as one whose return could not be committed, is
        not among them: its lease runs out.
        """
        names = [[one.job_id for one in held], [one.number for one in held]]
        values = [self._store.writer_id, self._lease_s, *names]
        await self._store.change_again(lambda connection: connection.execute(_RENEW, values))

    async def put_back(self, lane: Lane) -> None:
        """Ends this replica's turn; the lane waits behind all others."""
        values = [self._store.writer_id, lane.job_id, lane.number]

        def put_back(connection: Connection) -> None:
            if connection.execute(_PUT_BACK, values).fetchall():
                tell(connection, self._channel, FREE)

        await self._store.change_again(put_back)


def insert_lanes(connection: Connection, channel: str) -> None:
    """Gives lanes to jobs at work that have none, in the caller's transaction."""
    if connection.execute(_INSERT, [list(AT_WORK), LANES]).fetchall():
        tell(connection, channel, FREE)


def tell(connection: Connection, channel: str, what: str) -> None:
    """Notifies all replicas once the transaction is committed."""
    connection.execute("SELECT pg_notify($1, $2)", [channel, what])
