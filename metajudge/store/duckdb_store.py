"""The store on a DuckDB file."""

import asyncio
import atexit
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import duckdb
import orjson

from metajudge.errors import StoreError, StoreMemoryError
from metajudge.store import forgetting, keyed_reads, rewriting
from metajudge.store.answering import StoreAnswers
from metajudge.store.database import Database, short_of_memory
from metajudge.store.duckdb_blocks import DuckDBBlocks
from metajudge.store.duckdb_dialect import DuckDBDialect
from metajudge.store.duckdb_tables import DuckDBTables
from metajudge.store.group_commit import GroupCommit
from metajudge.store.journal import Journal, Record
from metajudge.store.line_facts import LineFacts
from metajudge.store.lookups import KnownKeys, RecentAssessments, key_hash
from metajudge.store.protocol import RunRecord
from metajudge.store.redaction import hide_headers
from metajudge.store.rows import assessment_write, decode, encode, has_reply
from metajudge.store.sharing import Sharing
from metajudge.store.sql import Connection
from metajudge.store.stored_queries import GatheredReads, StoredAuditLog, StoredQueries
from metajudge.store.write_ahead import WriteAhead
from metajudge.types import Assessment, CallRecord, Judgment, Reply

if TYPE_CHECKING:
    from metajudge.store.outcome_sources import DuckDBSources
    from metajudge.store.outcomes import StoredOutcomes
    from metajudge.store.reviews import StoredReviews

T = TypeVar("T")

READERS: Final = 2
_MAX_SAVED: Final = 10_000
_TRIM_EVERY: Final = 500
"""Records written before DuckDB's cached pages are freed again."""
_TRIM_EVERY_BLOCKS: Final = 4
"""Blocks of texts or results written before that, some thousand rows each."""
_TRIES: Final = 3
"""How often a write is tried that found no memory; before each further time, questions are stopped."""
_REOPEN_EVERY: Final = 30_000
"""Records written before the file is closed and opened again, which frees what DuckDB notes of each block written."""


async def open_store(path: str | Path) -> "DuckDBStore":
    """Opens a store and creates the file if missing; ``":memory:"`` keeps nothing.

    Raises:
        StoreLockedError: another process, or this one, has the file open.
        StoreError: no store can be opened at this path; the message gives the reason.
    """
    return await asyncio.to_thread(DuckDBStore, path)


@contextmanager
def opened_tables(path: Path) -> Iterator[DuckDBTables]:
    """A file's rows, including those a killed process left in its log.

    Raises:
        StoreError: as for :func:`open_store`.
    """
    store = DuckDBStore(path)
    try:
        yield DuckDBTables(store._database)
    finally:
        store._close()


class DuckDBStore(StoredQueries):
    """A :class:`~metajudge.store.protocol.Store` in one DuckDB file, owned by one process.

    One thread writes, in groups; a few read, each on its own cursor. Keys that are not stored are recognised
    without asking the database.
    """

    def __init__(self, path: str | Path) -> None:
        self._database = Database(path)
        try:
            rewriting.finish_rewrite(self._database)
            _end_orphaned_runs(self._database.writer)
            self._journal = Journal(self._database.writer)
            ahead = None if self._database.in_memory else self._replayed_log()
        except BaseException:
            self._database.close()
            raise
        self._untrimmed = self._unopened = self._blocks_untrimmed = 0
        self._writer: GroupCommit[Record] = GroupCommit(self._commit, encode, str(self.path), ahead)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="metajudge-store-reader")
        self._assessments = RecentAssessments()
        self._reply_reads = GatheredReads(lambda keys: self._read(lambda: self._find_replies(keys)))
        self._assessment_reads = GatheredReads(self._find_newest)
        self._reply_keys = KnownKeys(lambda: self._ask(keyed_reads.reply_rows))
        self._assessment_keys = KnownKeys(lambda: self._ask(keyed_reads.assessment_rows))
        self._saved: set[str] = set()
        dialect = self._dialect = DuckDBDialect()
        self.blocks = DuckDBBlocks(
            self._with_journal,
            lambda question: self._read(lambda: self._ask(question)),
            self._assessment_keys,
            self._assessments,
            (self.change, self.ask, dialect),
        )
        self.audit_log = StoredAuditLog(self.change, self.ask, dialect)
        self.line_facts = LineFacts(self.change, self.ask, dialect)
        self._sharing = None if self._database.in_memory else Sharing(self.path, StoreAnswers(self))
        atexit.register(self._close)  # a script that ends without closing loses nothing either

    @cached_property
    def reviews(self) -> "StoredReviews":
        """What people decide; most runs import nothing of it."""
        from metajudge.store.reviews import StoredReviews

        return StoredReviews(self.change, self.ask, DuckDBDialect())

    @cached_property
    def _sources(self) -> "DuckDBSources":
        from metajudge.store.outcome_sources import DuckDBSources

        return DuckDBSources()

    @cached_property
    def outcomes(self) -> "StoredOutcomes":
        """What decisions came to; most runs import nothing of it."""
        from metajudge.store.outcomes import StoredOutcomes

        return StoredOutcomes(self._change_after_writes, self.ask, DuckDBDialect(), self._sources, uuid.uuid4().hex)

    @property
    def database(self) -> Database:
        return self._database

    @property
    def path(self) -> Path:
        return self._database.path

    async def find_reply(self, key: str) -> Reply | None:
        """The newest complete reply stored under a key, as a cached one."""
        hashed = key_hash(key)
        if self._reply_keys.loaded and not self._reply_keys.may_contain(hashed):
            return None
        if self._reply_keys.pending(hashed):
            await self._writer.flush()
        return await self._reply_reads.get(key)

    def _find_replies(self, keys: Sequence[str]) -> dict[str, Reply]:
        self._reply_keys.load()
        probable = [key for key in keys if self._reply_keys.may_contain(key_hash(key))]
        if not probable:
            return {}
        return self._ask(lambda cursor: keyed_reads.find_replies(cursor, probable, self._reply_keys))

    def record_call(self, call: CallRecord) -> None:
        """Keeps one attempt; see :class:`~metajudge.providers.model.Ledger`."""
        if has_reply(call):
            self._reply_keys.acknowledge(key_hash(call.key))  # first: the writer may finish before this returns
        self._writer.put(call)

    async def save_assessment(
        self, key: str, judgment: Judgment, assessment: Assessment, run_id: str, found: Assessment | None = None
    ) -> None:
        """Keeps a judgment (once per content) and its assessment; durable when it returns; see the protocol."""
        hashed = key_hash(key)
        again = self._assessment_keys.may_contain(hashed)
        write = assessment_write(key, judgment, assessment, found, run_id, stored=self._saved, again=again)
        self._assessment_keys.acknowledge(hashed)
        self._assessments.written(key)
        try:
            await self._writer.write(write)
        except BaseException:  # cancelled while waiting for room in the queue
            self._assessment_keys.retract(hashed)
            raise
        finally:
            self._assessments.written(key)
        if len(self._saved) > _MAX_SAVED:
            self._saved.clear()
        self._saved.update((judgment.item.digest, judgment.digest))  # only now: a cancelled save kept nothing

    async def find_assessments(self, keys: Sequence[str]) -> dict[str, Assessment]:
        """Panels' assessments by key; see the protocol."""
        single = keys[0] if len(keys) == 1 else None  # the service asks for one judgment at a time
        if single is not None and (kept := self._assessments.get(single)) is not None:
            return {single: kept}
        turn = self._assessments.turn
        if single is None:
            return dict(await self._find_newest(keys))
        found = await self._assessment_reads.get(single)
        if found is None:
            return {}
        self._assessments.put(single, found, turn)
        return {single: found}

    async def _find_newest(self, keys: Sequence[str]) -> Mapping[str, Assessment]:
        if self._assessment_keys.loaded:
            keys = [key for key in keys if self._assessment_keys.may_contain(key_hash(key))]
        if any(self._assessment_keys.pending(key_hash(key)) for key in keys):
            await self._writer.flush()
        return await self._read(lambda: self._find_assessments(keys)) if keys else {}

    def _find_assessments(self, keys: Sequence[str]) -> dict[str, Assessment]:
        self._assessment_keys.load()
        probable = [key for key in keys if self._assessment_keys.may_contain(key_hash(key))]
        if not probable:
            return {}
        return self._ask(lambda cursor: keyed_reads.find_assessments(cursor, probable, self._assessment_keys))

    async def start_run(self, run: RunRecord) -> None:
        """Records a run's start.

        Raises:
            StoreError: there is already a run with this id.
        """
        config = orjson.dumps(hide_headers(run.config)).decode()
        await self._run(lambda: self._start_run(run, config))
        if run.status != "running":
            await self.finish_run(run.run_id, run.status, run.finished_at or run.started_at, run.summary or {})

    def _start_run(self, run: RunRecord, config: str) -> None:
        try:
            self._database.writer.execute(
                "INSERT INTO runs VALUES ($1, $2, $3, $4)", [run.run_id, run.command, run.started_at, config]
            )
        except duckdb.ConstraintException as error:
            raise StoreError(f"the store {self.path} already has a run {run.run_id!r}; use a new id") from error

    async def finish_run(self, run_id: str, status: str, finished_at: float, summary: Mapping[str, Any]) -> None:
        """Adds a run's end; the newest one counts.

        Raises:
            StoreError: no run with this id was started.
        """
        text = orjson.dumps(summary).decode()
        await self._run(lambda: self._finish_run(run_id, status, finished_at, text))

    def _finish_run(self, run_id: str, status: str, finished_at: float, summary: str) -> None:
        connection = self._database.writer
        if not connection.execute("SELECT 1 FROM runs WHERE run_id = $1", [run_id]).fetchall():
            raise StoreError(f"the store {self.path} has no run {run_id!r} to finish; start it first")
        connection.execute(
            f"{_ADD_EVENT} VALUES ({_NEXT_EVENT}, $1, $2, $3, $4)", [run_id, status, finished_at, summary]
        )

    async def copy_to(self, path: Path) -> None:
        """Copies the database to a new file, with everything acknowledged so far.

        Raises:
            StoreError: the copy cannot be written.
        """
        await self._writer.run(lambda: self._database.copy_to(path))

    async def flush(self) -> None:
        """Returns when the database has everything acknowledged so far."""
        await self._writer.flush()

    async def ask(self, question: Callable[[Connection], T], /) -> T:
        """Runs a read-only query after everything acknowledged is in the database; see the protocol."""
        await self._writer.flush()
        return await self._read(lambda: self._ask(question))

    async def forget(self, item_id: str) -> int:
        """Redacts an item's texts and rewrites the file without them; see :mod:`metajudge.store.forgetting`.

        Judgments that are vetted again later are stored again. Copies of the file and exports are not changed.

        Returns:
            How many rows were redacted; 0 if the item is unknown or already forgotten.
        """
        self._saved.clear()  # later saves bring their texts along
        self._assessments.clear()
        try:
            count: int = await self._run(lambda: self._forget(item_id))
        finally:  # also if only the rewrite failed
            self._saved.clear()
            self._assessments.clear()
            self.blocks.clear()
        return count

    def _forget(self, item_id: str) -> int:
        connection = self._database.writer
        if not forgetting.known(connection, item_id):
            return 0
        count = _in_transaction(lambda writer: forgetting.redact(writer, item_id, self._dialect), connection)
        try:
            rewriting.rewrite(self._database)
        finally:
            self._journal = Journal(self._database.writer)
        return count

    async def close(self) -> None:
        """Commits the queue, checkpoints and closes the file; a second call does nothing.

        Raises:
            StoreError: queued writes were lost and this was not reported yet.
        """
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        atexit.unregister(self._close)
        if self._sharing is not None:
            self._sharing.close()
        untold = self._writer.stop()
        self._readers.shutdown()
        try:
            self._database.close()
        except duckdb.Error as error:
            raise StoreError(
                f"the store {self.path} could not be closed cleanly: {error}. Acknowledged records are in its log "
                "and will be read from there when it is opened again"
            ) from error
        finally:
            if untold is not None:
                raise untold

    def _commit(self, records: Sequence[Record], segment: int) -> None:
        numbered = self._with_memory(lambda: self._journal.commit(records, segment))
        self._reply_keys.commit(numbered.replies)
        self._assessment_keys.commit(numbered.assessments)
        for hashed in numbered.repeats:
            self._assessment_keys.retract(hashed)
        self._untrimmed += len(records)
        if self._untrimmed >= _TRIM_EVERY and self._database.trim():
            self._untrimmed = 0
        self._unopened += len(records)
        if self._unopened >= _REOPEN_EVERY and self._database.reopen():
            self._unopened = 0
            self._journal.use(self._database.writer)
            if not self._database.in_memory and self._journal.committed_segment() != segment:
                raise StoreError("another process opened the file and wrote to it")

    def _replayed_log(self) -> WriteAhead:
        """The write-ahead log, after records left in it by a killed process are in the database."""
        log = WriteAhead(self.path, self._journal.committed_segment())
        for segment in log.left_behind():
            self._journal.commit([decode(payload) for payload in segment.payloads], segment.number)
            log.drop(segment.number)
        return log

    async def change(self, change: Callable[[Connection], T], /) -> T:
        """Runs a change in the writer thread, in a transaction."""
        try:
            result: T = await self._run(lambda: _told(change, self._database.writer))
        except _Refused as refused:
            raise refused.error from None
        return result

    async def changed_by_other(self, change: Callable[[Connection], None]) -> None:
        """A change that another process makes through this one."""
        await self._change_after_writes(_once(change))
        self._sources.reload()
        self.audit_log.changed_by_others()

    async def _change_after_writes(self, change: Callable[[Connection], T], /) -> T:
        """A change that sees everything acknowledged."""
        await self._writer.flush()
        return await self.change(change)

    async def _with_journal(self, write: Callable[[Journal], T], /) -> T:
        """Runs a function with the journal in the writer thread, after everything acknowledged."""

        def written() -> T:
            result = write(self._journal)
            self._blocks_untrimmed += 1
            if self._blocks_untrimmed >= _TRIM_EVERY_BLOCKS and self._database.trim():
                self._blocks_untrimmed = 0
            return result

        result: T = await self._run(written)
        return result

    async def _run(self, task: Callable[[], T]) -> T:
        """Runs a task, which is a transaction, in the writer thread."""
        result: T = await self._writer.run(lambda: self._with_memory(task))
        return result

    def _with_memory(self, write: Callable[[], T]) -> T:
        """Runs a transaction, if need be again; call in the writer thread.

        Raises:
            StoreMemoryError: it needs more memory than the limit, even with no query running.
        """
        for _ in range(_TRIES):
            try:
                return write()
            except duckdb.Error as error:
                if not short_of_memory(error):
                    raise
                refused = self._database.no_memory(error)
                self._database.stop_reading()
                self._journal = Journal(self._database.writer)  # the old one counts what was not committed
        raise refused

    def _ask(self, question: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        return self._database.ask(question)

    async def _read(self, question: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, question)
        except RuntimeError as error:  # the pool is shut down
            raise StoreError(f"the store {self.path} is closed; open it again to read from it") from error


class _Refused(StoreError):  # noqa: N818 - a carrier, never seen outside
    """Carries a caller's error out of the writer thread; any error but a StoreError would end the thread."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _told(change: Callable[[Connection], T], connection: duckdb.DuckDBPyConnection) -> T:
    try:
        return _in_transaction(change, connection)
    except (duckdb.Error, OSError):
        raise
    except Exception as error:  # the change is undone, so the store goes on, and its caller is told
        raise _Refused(error) from error


def _once(change: Callable[[Connection], None]) -> Callable[[Connection], None]:
    """A change that another process makes step by step, and so cannot be made again."""
    steps = iter((change,))

    def made(connection: Connection) -> None:
        step = next(steps, None)
        if step is None:
            raise StoreMemoryError("there was not enough memory for the change, and it was not made: make it again")
        step(connection)

    return made


def _in_transaction(change: Callable[[Connection], T], connection: duckdb.DuckDBPyConnection) -> T:
    connection.begin()
    try:
        result = change(connection)
        connection.commit()
    except BaseException:
        with suppress(duckdb.Error):  # the failure that led here is the one to report
            connection.rollback()
        raise
    return result


_ADD_EVENT: Final = "INSERT INTO run_events (event_id, run_id, status, occurred_at, summary)"
_NEXT_EVENT: Final = "(SELECT coalesce(max(event_id), 0) + 1 FROM run_events)"


def _end_orphaned_runs(connection: duckdb.DuckDBPyConnection) -> None:
    """Marks runs without an end as interrupted: the process that opens the file owns it, so none of them is alive."""
    connection.execute(f"""
        {_ADD_EVENT} SELECT {_NEXT_EVENT} + row_number() OVER () - 1, run_id, 'interrupted', NULL, NULL
        FROM runs WHERE run_id NOT IN (SELECT run_id FROM run_events)
    """)  # noqa: S608 - our own names
