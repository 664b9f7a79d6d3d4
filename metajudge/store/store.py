"""The store: one class over SQLite and PostgreSQL."""

import asyncio
import atexit
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar

import orjson

from metajudge.errors import StoreError
from metajudge.store import queries
from metajudge.store.journal import Record, append_block, save_texts, without
from metajudge.store.queries import RunRecord
from metajudge.store.redaction import hide_headers
from metajudge.store.rows import REPLY_COLUMNS, AssessmentWrite, assessment_write, reply_of_call, reply_of_row
from metajudge.store.sql import Ask, Asks, Connection, Engine, Pauses, Row, reads
from metajudge.store.writer import Writer
from metajudge.types import Assessment, CallRecord, Judgment, Reply

if TYPE_CHECKING:
    from metajudge.store.limits import StoredLimits
    from metajudge.store.line_facts import LineFacts
    from metajudge.store.outcomes import StoredOutcomes
    from metajudge.store.reviews import StoredReviews

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One record of the audit log; ``recorded_at`` in seconds since the epoch."""

    entry_id: int
    kind: str
    subject: str
    recorded_at: float
    payload: Mapping[str, Any]


_ENTRY: Final = ("entry_id", "kind", "subject", "recorded_at", "payload")


class AuditLog(Asks):
    """Append-only entries by kind and subject: policies, snapshots, proposals, backtests, activations."""

    def __init__(self, write: Ask, read: Ask) -> None:
        super().__init__(write, read)
        self._appended: Counter[str] = Counter()

    async def append(self, kind: str, subject: str, payload: Mapping[str, Any], *, now: float) -> AuditEntry:
        """Adds an entry, durable when this returns."""

        def add(connection: Connection) -> int:
            (number,) = connection.numbers("audit_log", "entry_id", 1)
            connection.insert("audit_log", _ENTRY, [(number, kind, subject, now, orjson.dumps(payload).decode())])
            return number

        number = await self._write(add)
        self._appended[kind] += 1
        return AuditEntry(number, kind, subject, now, dict(payload))

    def appended(self, kind: str) -> int:
        """A number that grows whenever this process adds an entry of a kind; other processes' entries do not count."""
        return self._appended[kind]

    @reads
    def entries(
        self, connection: Connection, kind: str, subject: str | None = None, limit: int | None = None
    ) -> list[AuditEntry]:
        """The entries of a kind (about one subject), oldest first; ``limit`` keeps the newest."""
        rows = connection.rows(
            f"""SELECT {", ".join(_ENTRY)} FROM audit_log WHERE kind = $1 AND ($2::VARCHAR IS NULL OR subject = $2)
                ORDER BY entry_id DESC LIMIT $3""",  # noqa: S608
            [kind, subject, 2**62 if limit is None else limit],
        )
        return [AuditEntry(n, kind, about, at, orjson.loads(text)) for n, kind, about, at, text in reversed(rows)]


_THREADS: Final = 12
MAX_TOGETHER: Final = 256
_WITH_TEXTS: Final = (
    *("assessments", "annotations", "items", "judgments", "reviews", "review_decisions", "review_events", "calls"),
    *("service_answers", "service_results"),
)


def find_replies(connection: Connection, keys: Sequence[str]) -> dict[str, Reply]:
    """The newest reply of each key that has one."""
    query = f"""SELECT {REPLY_COLUMNS} FROM calls WHERE call_id IN (SELECT max(call_id) FROM calls
        WHERE key IN (SELECT unnest($1::VARCHAR[])) AND status = 'ok' AND reply_text IS NOT NULL AND NOT redacted
        GROUP BY key)"""  # noqa: S608
    return {row[1]: reply_of_row(row) for row in connection.rows(query, [list(keys)])}


def find_assessments(connection: Connection, keys: Sequence[str]) -> dict[str, Assessment]:
    """The newest assessment of each key that has one."""
    query = """SELECT key, payload FROM assessments WHERE assessment_id IN (SELECT max(assessment_id) FROM assessments
        WHERE key IN (SELECT unnest($1::VARCHAR[])) GROUP BY key)"""
    return {key: Assessment.model_validate_json(payload) for key, payload in connection.rows(query, [list(keys)])}


class GatheredReads(Generic[T]):
    """Looks keys up, many in one query.

    Args:
        read: the values of the keys that have one.
    """

    def __init__(self, read: Callable[[Sequence[str]], Awaitable[Mapping[str, T]]]) -> None:
        self._read = read
        self._waiting: dict[str, asyncio.Future[T | None]] = {}
        self._reader: asyncio.Task[None] | None = None

    async def get(self, key: str) -> T | None:
        """The value of a key, None if it has none; raises the read's exception."""
        answer = self._waiting.get(key)
        if answer is None:
            answer = self._waiting[key] = asyncio.get_running_loop().create_future()
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read_all())
        return await asyncio.shield(answer)  # others may wait for it too

    async def _read_all(self) -> None:
        while self._waiting:
            keys = list(self._waiting)[:MAX_TOGETHER]
            asked = {key: self._waiting.pop(key) for key in keys}
            try:
                found = await self._read(keys)
            except BaseException as error:
                for answer in asked.values():
                    _fail(answer, error)
                if not isinstance(error, Exception):
                    raise
                continue
            for key, answer in asked.items():
                if not answer.done():
                    answer.set_result(found.get(key))


def _fail(answer: "asyncio.Future[T | None]", error: BaseException) -> None:
    if answer.done():
        return
    if isinstance(error, asyncio.CancelledError):
        answer.cancel()
    else:
        answer.set_exception(error)
        answer.exception()  # raised in callers that still wait; marks it as retrieved if none do


def asked(question: Callable[Concatenate[Connection, P], T]) -> "Callable[Concatenate[Store, P], Awaitable[T]]":
    """A query as a method of a store; see :meth:`Store.ask`."""

    @wraps(question)
    async def method(self: "Store", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.ask(lambda connection: question(connection, *args, **kwargs))

    return method


class Store:
    """Append-only memory of judgments, calls, assessments and runs, in a database.

    Whatever is awaited is durable when the await returns. One thread commits records in groups; everything else uses a
    connection of its own. Any number of processes may have the same database open. Satisfies
    :class:`~metajudge.providers.model.CallCache` and :class:`~metajudge.providers.model.Ledger` too.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        connection = engine.connect()
        try:
            engine.migrate(connection)
            self.writer_id = engine.register(connection)
            engine.claim(connection, self.writer_id)
            with engine.transaction(connection):
                _end_orphaned_runs(connection, connection.alive())
        except engine.failures as error:
            connection.close()
            raise engine.store_error(error, "open") from error
        except BaseException:
            connection.close()
            raise
        engine.open_pool()
        self._pending: dict[str, CallRecord] = {}
        self._writer = Writer(engine, connection, self.writer_id, self._committed)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="metajudge-store")
        self._reply_reads = GatheredReads(lambda keys: self.read(lambda connection: find_replies(connection, keys)))
        self._assessment_reads = GatheredReads(
            lambda keys: self.read(lambda connection: find_assessments(connection, keys))
        )
        self.audit_log = AuditLog(self.change, self.ask)
        atexit.register(self._close)  # a script that ends without closing loses nothing either

    @cached_property
    def reviews(self) -> "StoredReviews":
        """What people decide; most runs import nothing of it."""
        from metajudge.store.reviews import StoredReviews

        return StoredReviews(self.change_again, self.ask)

    @cached_property
    def outcomes(self) -> "StoredOutcomes":
        """What decisions came to; most runs import nothing of it."""
        from metajudge.store.outcomes import StoredOutcomes

        return StoredOutcomes(self._change_after_writes, self.ask, str(self.writer_id))

    @cached_property
    def line_facts(self) -> "LineFacts":
        """What figures over verdicts and labels need."""
        from metajudge.store.line_facts import LineFacts

        return LineFacts(self.change_again, self.ask)

    @cached_property
    def limits(self) -> "StoredLimits":
        """Limits and budgets that all processes on the database keep together."""
        from metajudge.store.limits import StoredLimits

        return StoredLimits(self.change_again)

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
        """Keeps a judgment (once per content), its panel's assessment and the annotation of that.

        Several assessments of one key are a history, and so are the annotations of an assessment. A save that repeats
        the newest ones of the judgment and panel adds no row, even if several processes save at the same time; see
        :func:`metajudge.store.journal.rows_to_add`.

        Args:
            assessment: with its probability and decision, if any.
            found: the panel's own assessment; None for ``assessment`` without probability, guarantee and decision.
        """
        await self._writer.write(assessment_write(key, judgment, assessment, found, run_id))

    async def without_texts(self, items: Sequence[str], judgments: Sequence[str]) -> tuple[set[str], set[str]]:
        """Those of these digests of items and of judgments that are not stored, or whose texts were forgotten."""
        return await self.ask(
            lambda connection: (
                without(connection, "items", "item_digest", items),
                without(connection, "judgments", "judgment_digest", judgments),
            )
        )

    async def keep_texts(self, items: Sequence[Row], judgments: Sequence[Row]) -> int:
        """Keeps rows of items and judgments, once per digest; of those that were forgotten the texts are restored.

        Returns:
            How many rows were added or restored.
        """
        return await self._change_after_writes(lambda c: save_texts(c, items, judgments))

    async def append_block(self, writes: Sequence[AssessmentWrite]) -> int:
        """Appends some thousand assessments and annotations, all or none; in the database on return.

        The judgments' texts are kept before (:meth:`keep_texts`). The same content again adds no row.

        Returns:
            How many of them added an assessment or an annotation.
        """
        return await self._change_after_writes(lambda connection: append_block(connection, writes))

    async def find_assessments(self, keys: Sequence[str]) -> dict[str, Assessment]:
        """The panels' newest assessment per key, without annotations, for the keys that have one."""
        if len(keys) == 1:  # the service asks for one judgment at a time
            found = await self._assessment_reads.get(keys[0])
            return {} if found is None else {keys[0]: found}
        return await self.read(lambda connection: find_assessments(connection, keys)) if keys else {}

    async def start_run(self, run: RunRecord) -> None:
        """Records a run's start.

        Raises:
            StoreError: there is already a run with this id.
        """
        config = orjson.dumps(hide_headers(run.config)).decode()
        columns = ("run_id", "command", "started_at", "config", "writer_id")
        row = (run.run_id, run.command, run.started_at, config, self.writer_id)
        if not await self.change(lambda c: c.insert("runs", columns, [row], "ON CONFLICT DO NOTHING")):
            raise StoreError(f"the store {self.engine.name} already has a run {run.run_id!r}; use a new id")
        if run.status != "running":
            await self.finish_run(run.run_id, run.status, run.finished_at or run.started_at, run.summary or {})

    async def finish_run(self, run_id: str, status: str, finished_at: float, summary: Mapping[str, Any]) -> None:
        """Adds a run's end; the newest one counts.

        Raises:
            StoreError: no run with this id was started.
        """
        values = [run_id, status, finished_at, orjson.dumps(summary).decode()]
        query = """INSERT INTO run_events (run_id, status, occurred_at, summary)
            SELECT run_id, $2, $3::FLOAT8, $4 FROM runs WHERE run_id = $1 RETURNING 1"""
        if not await self.change_again(lambda connection: connection.rows(query, values)):
            raise StoreError(f"the store {self.engine.name} has no run {run_id!r} to finish; start it first")

    runs = asked(queries.runs)
    run_configs = asked(queries.run_configs)
    judgments = asked(queries.judgments)
    find_judgment = asked(queries.find_judgment)
    newest_assessments = asked(queries.newest_assessments)
    run_assessments = asked(queries.run_assessments)
    show = asked(queries.show)

    async def forget(self, item_id: str) -> int:
        """Redacts an item's texts, and removes them from the database's files; see :mod:`metajudge.store.forgetting`.

        Judgments that are vetted again later are stored again. An SQLite file is written anew and its log emptied: no
        byte of a text is left in either. On PostgreSQL old versions of rows are given up by VACUUM and overwritten in
        time (at once by VACUUM FULL); its write-ahead log, backups and replicas are not changed. Nor are copies of the
        store, and exports.

        Returns:
            How many rows were redacted; 0 if the item is unknown or already forgotten.
        """
        from metajudge.store import forgetting

        await self._writer.flush()

        def redact(connection: Connection) -> int | None:
            return forgetting.redact(connection, item_id) if forgetting.known(connection, item_id) else None

        count = await self.change_again(redact)
        if count is not None:  # also where an earlier one was cut off between the redaction and the files
            await self._in_thread(lambda: self.engine.forgotten(_WITH_TEXTS))
        return count or 0

    async def flush(self) -> None:
        """Returns when the database has everything that it was given so far."""
        await self._writer.flush()

    async def change(self, change: Callable[[Connection], T], /) -> T:
        """Runs a change in one transaction; see :meth:`~metajudge.store.sql.Engine.change`."""
        pauses = Pauses(self.engine.patience_s)
        return await self._in_thread(lambda: self.engine.change(change, pauses))

    async def change_again(self, change: Callable[[Connection], T], /) -> T:
        """A change that is safe to repeat."""
        pauses = Pauses(self.engine.patience_s)
        return await self._in_thread(lambda: self.engine.change(change, pauses, safe=True))

    async def _change_after_writes(self, change: Callable[[Connection], T], /) -> T:
        """A change that is safe to repeat and sees everything acknowledged."""
        await self._writer.flush()
        return await self.change_again(change)

    async def ask(self, question: Callable[[Connection], T], /) -> T:
        """Runs a read-only query after everything acknowledged is in the database.

        Args:
            question: is called with a connection, in a thread; must not change anything.
        """
        await self._writer.flush()
        return await self.read(question)

    async def read(self, question: Callable[[Connection], T], /) -> T:
        """Runs a query at once; see :meth:`~metajudge.store.sql.Engine.read`."""
        pauses = Pauses(self.engine.patience_s)
        return await self._in_thread(lambda: self.engine.read(question, pauses))

    async def notifications(self, told: Callable[[str], Awaitable[None]]) -> None:
        """Passes on what processes on the database notify of; see :meth:`~metajudge.store.sql.Engine.notifications`."""
        await self.engine.notifications(told)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except RuntimeError as error:  # the pool is shut down
            raise self.engine.closed() from error

    def hurry(self) -> None:
        """Fails all waits for an unreachable server at once; call it before the process ends."""
        self.engine.hurry()

    async def close(self) -> None:
        """Commits the queue and closes the connections; a second call does nothing.

        Raises:
            StoreError: queued writes were lost and this was not reported yet.
        """
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        atexit.unregister(self._close)
        untold = self._writer.stop()
        self.engine.hurry()
        self._threads.shutdown()
        self.engine.close()
        if untold is not None:
            raise untold


def _end_orphaned_runs(connection: Connection, alive: Sequence[int]) -> None:
    """Marks runs without an end as interrupted if the store that began them is no longer open."""
    connection.execute(
        """INSERT INTO run_events (run_id, status) SELECT run_id, 'interrupted' FROM runs
            WHERE run_id NOT IN (SELECT run_id FROM run_events)
            AND (writer_id IS NULL OR writer_id NOT IN (SELECT unnest($1::BIGINT[])))""",
        [list(alive)],
    )
