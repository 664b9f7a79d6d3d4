"""The store in a PostgreSQL database, which several processes share."""

import asyncio
import atexit
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol, TypeVar

import orjson
import psycopg

from metajudge.errors import StoreError
from metajudge.providers.budget_book import BudgetBook, BudgetState
from metajudge.providers.limit_book import LEASE_S, Ask, Bucket, LimitBook
from metajudge.store import forgetting
from metajudge.store.line_facts import LineFacts
from metajudge.store.outcome_sources import PostgresSources
from metajudge.store.outcomes import StoredOutcomes
from metajudge.store.postgres_blocks import PostgresBlocks
from metajudge.store.postgres_connections import PATIENCE_S, POOLED, Connections, PgConnection
from metajudge.store.postgres_journal import PostgresJournal, Record, copy_rows, next_numbers
from metajudge.store.postgres_migrating import migrate
from metajudge.store.postgres_writer import PostgresWriter
from metajudge.store.protocol import RunRecord
from metajudge.store.redaction import FORGOTTEN, hide_headers, redact_assessment
from metajudge.store.reviews import StoredReviews
from metajudge.store.rows import REPLY_COLUMNS, assessment_write, reply_of_call, reply_of_row
from metajudge.store.sql import PAGE, Connection, add_by_lists
from metajudge.store.stored_queries import GatheredReads, StoredAuditLog, StoredQueries
from metajudge.types import Assessment, CallRecord, Judgment, Reply
from metajudge.types.location import PostgresUrl

T = TypeVar("T")

_REDACTED: Final = (
    *("assessments", "annotations", "items", "judgments", "reviews", "review_decisions", "review_events", "calls"),
    *("service_answers", "service_results", "input_facts"),
)
_CALLS: Final = "calls"
_BUDGET: Final = "budget"
_ADD: Final = "INSERT INTO service_limits (name, state) VALUES ($1, $2) ON CONFLICT DO NOTHING"
# The database's clock: those of the machines may differ.
_LOCK: Final = """
    SELECT state, extract(epoch FROM clock_timestamp())::FLOAT8 FROM service_limits WHERE name = $1 FOR UPDATE
"""
_SET: Final = "UPDATE service_limits SET state = $2 WHERE name = $1"


class PostgresDialect:
    """A :class:`~metajudge.store.sql.Dialect`: several processes change rows, so rows are locked."""

    skip_locked: Final = "FOR UPDATE OF kept SKIP LOCKED"
    keep_lines: Final = "FOR KEY SHARE OF lines"

    def lock_reviews(self, connection: Connection, names: Sequence[str]) -> None:
        connection.execute(
            "SELECT 1 FROM reviews WHERE review_id IN (SELECT unnest($1::VARCHAR[])) ORDER BY review_id FOR UPDATE",
            [list(names)],
        )

    def overwrite(self, table: str) -> str:
        return f"UPDATE {table} SET payload = $1, redacted = true"  # noqa: S608 - our own names

    def lock_facts(self, connection: Connection) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('metajudge facts ' || current_schema(), 0))")

    def pages(
        self, connection: Connection, table: str, key: str, values: Sequence[str]
    ) -> Iterator[tuple[str, list[Any]]]:
        for start in range(0, len(values), PAGE):
            yield f"{key} = ANY($1::VARCHAR[])", [values[start : start + PAGE]]

    def append(self, connection: Any, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        copy_rows(connection, f"COPY {table} ({', '.join(columns)}) FROM STDIN", rows)

    def add_missing(
        self, connection: Connection, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]
    ) -> int:
        return add_by_lists(connection, table, types, rows)

    def numbers(self, connection: Connection, table: str, column: str, count: int) -> list[int]:
        return next_numbers(connection, table, column, count)


def find_replies(connection: Connection, keys: Sequence[str]) -> dict[str, Reply]:
    """The newest reply of each key that has one."""
    rows: list[tuple[Any, ...]] = connection.execute(
        f"SELECT DISTINCT ON (key) {REPLY_COLUMNS} FROM calls WHERE key = ANY($1::VARCHAR[]) "  # noqa: S608 - our own names
        "AND status = 'ok' AND reply_text IS NOT NULL AND NOT redacted ORDER BY key, call_id DESC",
        [list(keys)],
    ).fetchall()
    return {row[1]: reply_of_row(row) for row in rows}


def find_assessments(connection: Connection, keys: Sequence[str]) -> dict[str, Assessment]:
    """The newest assessment of each key that has one."""
    rows = connection.execute(
        "SELECT DISTINCT ON (key) key, payload FROM assessments WHERE key = ANY($1::VARCHAR[]) "
        "ORDER BY key, assessment_id DESC",
        [list(keys)],
    ).fetchall()
    return {key: Assessment.model_validate_json(payload) for key, payload in rows}


class Changes(Protocol):
    """Runs a change that is safe to repeat in one transaction, such as ``PostgresStore.change_again``."""

    async def __call__(self, change: Callable[[Connection], T], /) -> T: ...


class PostgresLimits:
    """Keeps limits (:class:`~metajudge.providers.shared_limits.LimitKeeper`) and a service's daily budget.

    Every method is one transaction.

    Args:
        change: runs transactions.
        lease_s: seconds after which the call of a process that was not heard of is taken for ended.
    """

    def __init__(self, change: Changes, lease_s: float = LEASE_S) -> None:
        self._change = change
        self._lease_s = lease_s

    async def enter(self, ticket: str, ask: Ask) -> float | None:
        """See :meth:`~metajudge.providers.limit_book.LimitBook.enter`."""
        return await self._with_book(lambda book, now: book.enter(ticket, ask, now, self._lease_s))

    async def leave(self, ticket: str, ask: Ask, units: float) -> None:
        """See :meth:`~metajudge.providers.limit_book.LimitBook.leave`."""
        await self._with_book(lambda book, _now: book.leave(ticket, ask, units))

    async def renew(self, tickets: Collection[str]) -> None:
        """See :meth:`~metajudge.providers.limit_book.LimitBook.renew`."""
        await self._with_book(lambda book, now: book.renew(tickets, now, self._lease_s))

    async def take(self, name: str, per_minute: float, burst_s: float) -> float:
        """Takes one unit of a rate of its own, such as that of a key of the service.

        Returns:
            0, or the seconds until there is one.
        """

        def take(data: dict[str, Any], now: float) -> tuple[dict[str, Any], float]:
            bucket = Bucket(per_minute, data.get("paid_until", 0.0), burst_s)
            wait = bucket.wait(now)
            return (data, wait) if wait > 0 else ({"paid_until": bucket.take(1, now).paid_until}, 0.0)

        return await self._with_row(f"rate {name}", take)

    async def reserve_usd(self, ticket: str, usd: float, limit: float) -> BudgetState:
        """See :meth:`~metajudge.providers.budget_book.BudgetBook.reserve`."""
        return await self._with_budget(lambda book, now: book.reserve(ticket, usd, limit, now, self._lease_s))

    async def settle_usd(self, ticket: str, usd: float) -> None:
        """See :meth:`~metajudge.providers.budget_book.BudgetBook.settle`; repeated it may count twice."""
        await self._with_budget(lambda book, now: book.settle(ticket, usd, now))

    async def renew_usd(self, tickets: Collection[str]) -> None:
        """See :meth:`~metajudge.providers.budget_book.BudgetBook.renew`."""
        await self._with_budget(lambda book, now: book.renew(tickets, now, self._lease_s))

    async def spent_usd(self) -> BudgetState:
        """See :meth:`~metajudge.providers.budget_book.BudgetBook.state`."""
        return await self._with_budget(lambda book, now: book.state(now))

    async def _with_budget(self, use: Callable[[BudgetBook, float], T]) -> T:
        def change(data: dict[str, Any], now: float) -> tuple[dict[str, Any], T]:
            book = BudgetBook.from_json(data) if data else BudgetBook()
            result = use(book, now)
            return book.to_json(), result

        return await self._with_row(_BUDGET, change)

    async def _with_book(self, use: Callable[[LimitBook, float], T]) -> T:
        def change(data: dict[str, Any], now: float) -> tuple[dict[str, Any], T]:
            book = LimitBook.from_json(data) if data else LimitBook()
            result = use(book, now)
            return book.to_json(), result

        return await self._with_row(_CALLS, change)

    async def _with_row(self, name: str, change: Callable[[dict[str, Any], float], tuple[dict[str, Any], T]]) -> T:
        def changed(connection: Connection) -> T:
            rows = connection.execute(_LOCK, [name]).fetchall()
            if not rows:
                connection.execute(_ADD, [name, "{}"])
                rows = connection.execute(_LOCK, [name]).fetchall()
            ((state, now),) = rows
            data, result = change(orjson.loads(state), now)
            text = orjson.dumps(data).decode()
            if text != state:
                connection.execute(_SET, [name, text])
            return result

        return await self._change(changed)


def redact_service(connection: Connection, item_id: str) -> None:
    """Redacts the results about an item, and drops the answers under idempotency keys that contain some.

    A repeated request is then answered from the redacted assessment.
    """
    rows = connection.execute(
        "SELECT job_id, item, payload FROM service_results JOIN service_jobs USING (job_id) "
        "WHERE request::json->>'kind' IS NULL "
        "AND judgment_id IN (SELECT judgment_id FROM judgments WHERE item_id = $1)",
        [item_id],
    ).fetchall()
    for job_id, item, payload in rows:
        connection.execute(
            "UPDATE service_results SET payload = $3 WHERE job_id = $1 AND item = $2",
            [job_id, item, redact_assessment(bytes(payload).decode()).encode()],
        )
    connection.execute(  # of clashes and cases nothing but the text remains to be kept
        "UPDATE service_results r SET payload = $2 FROM service_jobs j "
        "WHERE j.job_id = r.job_id AND j.request::json->>'kind' IS NOT NULL AND r.judgment_id = $1",
        [item_id, orjson.dumps(FORGOTTEN)],
    )
    for name in (b'"item_id":', b'"case_id":', b'"item":{"id":'):
        connection.execute(
            "DELETE FROM service_answers WHERE position($1::BYTEA IN body) > 0", [name + orjson.dumps(item_id)]
        )


async def open_store(url: PostgresUrl, *, pooled: int = POOLED, patience_s: float = PATIENCE_S) -> "PostgresStore":
    """Opens a store and creates its tables if missing.

    Args:
        pooled: how many connections to keep at most, besides the writer's own.
        patience_s: how long to retry a server that cannot be reached before an error is raised.

    Raises:
        StoreUnavailableError: the server cannot be reached.
        StoreError: no store can be opened in this database; the message gives the reason.
    """
    return await asyncio.to_thread(PostgresStore, url, pooled=pooled, patience_s=patience_s)


class PostgresStore(StoredQueries):
    """A :class:`~metajudge.store.protocol.Store` in a PostgreSQL database.

    One thread commits records in groups; everything else uses a connection of the pool. Any number of
    processes may have the same database open.
    """

    def __init__(self, url: PostgresUrl, *, pooled: int = POOLED, patience_s: float = PATIENCE_S) -> None:
        self.url = url
        self.connections = Connections(url, pooled=pooled, patience_s=patience_s)
        connection = self.connections.connect()
        try:
            migrate(connection, self.connections)
            self.writer_id = _register(connection)
            self._alive(connection)
            _end_orphaned_runs(connection, self._lock_class)
        except psycopg.Error as error:
            connection.close()
            raise self.connections.store_error(error, "open") from error
        except BaseException:
            connection.close()
            raise
        self.connections.open_pool()
        self._pending: dict[str, CallRecord] = {}
        journal = PostgresJournal(self.writer_id)
        self._writer = PostgresWriter(self.connections, connection, journal, self._alive, self._committed)
        self._threads = ThreadPoolExecutor(2 * pooled, thread_name_prefix="metajudge-store-postgres")
        self._reply_reads = GatheredReads(lambda keys: self.read(lambda connection: find_replies(connection, keys)))
        dialect = self._dialect = PostgresDialect()
        self.blocks = PostgresBlocks(self._change_after_writes, self.ask, dialect)
        self.reviews = StoredReviews(self.change_again, self.ask, dialect)
        self.audit_log = StoredAuditLog(self.change, self.ask, dialect)
        self.line_facts = LineFacts(self.change, self.ask, dialect)
        sources = PostgresSources(self.writers_alive)
        self.limits = PostgresLimits(self.change_again)
        self.outcomes = StoredOutcomes(self._change_after_writes, self.ask, dialect, sources, str(self.writer_id))
        atexit.register(self._close)  # a script that ends without closing loses nothing either

    async def find_reply(self, key: str) -> Reply | None:
        """The newest complete reply stored under a key by any process, as a cached one."""
        pending = self._pending.get(key)
        return await self._reply_reads.get(key) if pending is None else reply_of_call(pending)

    def record_call(self, call: CallRecord) -> None:
        """Keeps one attempt; see :class:`~metajudge.providers.model.Ledger`."""
        if reply_of_call(call) is not None:
            self._pending[call.key] = call
        self._writer.put(call)

    def _committed(self, records: Sequence[Record]) -> None:
        for record in records:
            if isinstance(record, CallRecord) and self._pending.get(record.key) is record:
                del self._pending[record.key]

    async def save_assessment(
        self, key: str, judgment: Judgment, assessment: Assessment, run_id: str, found: Assessment | None = None
    ) -> None:
        """Keeps a judgment (once per content) and its assessment; committed when it returns; see the protocol."""
        write = assessment_write(key, judgment, assessment, found, run_id)
        await self._writer.write(write)

    async def find_assessments(self, keys: Sequence[str]) -> dict[str, Assessment]:
        """Panels' assessments by key; see the protocol."""
        if not keys:
            return {}
        return await self.read(lambda connection: find_assessments(connection, keys))

    async def start_run(self, run: RunRecord) -> None:
        """Records a run's start.

        Raises:
            StoreError: there is already a run with this id.
        """
        config = orjson.dumps(hide_headers(run.config)).decode()
        values = [run.run_id, run.command, run.started_at, config, self.writer_id]

        def insert(connection: Connection) -> bool:
            added = connection.execute(
                "INSERT INTO runs (run_id, command, started_at, config, writer_id) VALUES ($1, $2, $3, $4, $5) "
                "ON CONFLICT DO NOTHING RETURNING 1",
                values,
            ).fetchall()
            return bool(added)

        if not await self.change(insert):
            raise StoreError(f"the store {self.url} already has a run {run.run_id!r}; use a new id")
        if run.status != "running":
            await self.finish_run(run.run_id, run.status, run.finished_at or run.started_at, run.summary or {})

    async def finish_run(self, run_id: str, status: str, finished_at: float, summary: Mapping[str, Any]) -> None:
        """Adds a run's end; the newest one counts.

        Raises:
            StoreError: no run with this id was started.
        """
        text = orjson.dumps(summary).decode()

        def insert(connection: Connection) -> bool:
            added = connection.execute(
                "INSERT INTO run_events (run_id, status, occurred_at, summary) "
                "SELECT run_id, $2, $3::FLOAT8, $4 FROM runs WHERE run_id = $1 RETURNING 1",
                [run_id, status, finished_at, text],
            ).fetchall()
            return bool(added)

        if not await self.change_again(insert):
            raise StoreError(f"the store {self.url} has no run {run_id!r} to finish; start it first")

    async def forget(self, item_id: str) -> int:
        """Redacts an item's texts; see :mod:`metajudge.store.forgetting`.

        Judgments that are vetted again later are stored again. Old versions of the rows are removed by VACUUM; the
        server's write-ahead log, its backups and its replicas are not changed.

        Returns:
            How many rows were redacted; 0 if the item is unknown or already forgotten.
        """
        await self._writer.flush()

        def redact(connection: Connection) -> int:
            if not forgetting.known(connection, item_id):
                return 0
            redact_service(connection, item_id)
            return forgetting.redact(connection, item_id, self._dialect)

        count = await self.change_again(redact)
        self.blocks.clear()
        if count:
            await self.read(lambda connection: connection.execute(f"VACUUM {', '.join(_REDACTED)}"))
        return count

    def hurry(self) -> None:
        """Fails all waits for an unreachable server at once; call it before the process ends."""
        self.connections.hurry()

    async def close(self) -> None:
        """Commits the queue and closes the connections; a second call does nothing.

        Raises:
            StoreError: queued writes were lost and this was not reported yet.
        """
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        atexit.unregister(self._close)
        untold = self._writer.stop()
        self.hurry()
        self._threads.shutdown()
        self.connections.close()
        if untold is not None:
            raise untold

    @property
    def _lock_class(self) -> int:
        return lock_class(self.connections.schema)

    def _alive(self, connection: PgConnection) -> bool:
        """Marks this store as open while the connection lives; False while an earlier connection still does."""
        ((held,),) = connection.execute(
            "SELECT pg_try_advisory_lock($1, $2)", [self._lock_class, self.writer_id]
        ).fetchall()
        return bool(held)

    async def change(self, change: Callable[[Connection], T], /) -> T:
        """Runs a change in one transaction; see :meth:`Connections.change`."""
        pauses = self.connections.pauses()
        return await self._in_thread(lambda: self.connections.change(change, pauses))

    async def _change_after_writes(self, change: Callable[[Connection], T], /) -> T:
        """A change that is safe to repeat and sees everything acknowledged."""
        await self._writer.flush()
        return await self.change_again(change)

    async def change_again(self, change: Callable[[Connection], T], /) -> T:
        """A change that is safe to repeat."""
        pauses = self.connections.pauses()
        return await self._in_thread(lambda: self.connections.change(change, pauses, safe=True))

    async def ask(self, question: Callable[[Connection], T], /) -> T:
        """Runs a read-only query after everything acknowledged is in the database; see the protocol."""
        await self._writer.flush()
        return await self.read(question)

    async def read(self, question: Callable[[Connection], T], /) -> T:
        """Runs a query at once; see :meth:`Connections.read`."""
        pauses = self.connections.pauses()
        return await self._in_thread(lambda: self.connections.read(question, pauses))

    @property
    def writers_alive(self) -> str:
        """SQL for the numbers of the stores that are open on this database."""
        return ALIVE.format(self._lock_class)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except RuntimeError as error:  # the pool is shut down
            raise self.connections.closed() from error


def lock_class(schema: str) -> int:
    """First half of the advisory locks of a schema's writers; the second is the writer's number."""
    return zlib.crc32(f"metajudge writer {schema}".encode()) & 0x7FFFFFFF


ALIVE: Final = """
    SELECT objid::BIGINT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = {}::OID
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
"""The numbers of the live writers."""


def _register(connection: PgConnection) -> int:
    ((number,),) = connection.execute("INSERT INTO writers DEFAULT VALUES RETURNING writer_id").fetchall()
    return int(number)


def _end_orphaned_runs(connection: PgConnection, locks: int) -> None:
    """Marks runs without an end as interrupted if the store that began them is no longer open."""
    connection.execute(
        f"""INSERT INTO run_events (run_id, status) SELECT run_id, 'interrupted' FROM runs
        WHERE run_id NOT IN (SELECT run_id FROM run_events)
            AND (writer_id IS NULL OR writer_id NOT IN ({ALIVE.format(locks)}))"""  # noqa: S608 - our own text
    )
