"""Stores of version 0.2 and earlier: DuckDB files with side files, which ``metajudge store copy`` reads."""

import re
import shutil
import sqlite3
import struct
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from metajudge.errors import FailureKind, StoreError
from metajudge.providers.limit_book import BudgetBook
from metajudge.store.journal import Record, append
from metajudge.store.rows import (
    CALLS,
    DERIVED,
    ITEMS,
    JUDGMENTS,
    AssessmentWrite,
    annotated,
    annotation_of,
    call_row,
    without_annotation,
)
from metajudge.store.sql import Row, quoted, steps_in
from metajudge.store.sqlite import SqliteConnection
from metajudge.store.tables import columns
from metajudge.types import CallRecord, Usage

if sys.platform != "win32":
    import fcntl

_SETTINGS: Final[dict[str, Any]] = {
    "threads": 2,
    "memory_limit": "4GB",  # one long text that zstd compressed is unpacked with two thousand others
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_FRAME: Final = struct.Struct(">II")
"""Before each record of the log: its length and CRC-32."""
_SEGMENT: Final = re.compile(r"\.ahead-\d{9}$")
_LOGS: Final = (".wal", "-wal", "-shm")
_OWN_FILES: Final = (".service", ".service-wal", ".service-shm", ".jobs", ".budget")
_ROWS: Final = {"assessments": "assessment_rows", "annotations": "annotation_rows"}
"""Tables that are read through views, which put shared texts together."""
_QUEUED: Final = (
    ("annotation", "annotation_id", "annotations", "action IS NOT NULL"),
    ("audit", "entry_id", "audit_log", "kind IN ('case', 'clash')"),
    ("decision", "decision_id", "review_decisions", "true"),
    ("amendment", "event_id", "review_events", "kind = 'amend'"),
)
_LEDGER: Final = {
    "service_answers": "SELECT owner, key, fingerprint, status, body, location, at, 0 FROM answers "
    "WHERE status IS NOT NULL",
    "service_jobs": "SELECT job_id, owner, request, items, replace(state, 'cancelling', 'cancelled'), detail, "
    "created_at, CASE state WHEN 'cancelling' THEN created_at ELSE ended_at END FROM jobs",
    "service_results": "SELECT job_id, item, seq, judgment_id, status, payload FROM results "
    "WHERE job_id IN (SELECT job_id FROM jobs)",
}
"""Tables of today with what the service's file has of them."""
_LOST: Final = "UPDATE service_jobs SET state = 'failed', detail = 'its upload was missing', ended_at = created_at"
_SINCE: Final = (
    *(*_LEDGER, "service_items", "service_limits", "service_secrets", "service_ended_sessions", "service_logins"),
    "event_queue",
)
"""Tables that a DuckDB file does not have."""
_ORPHANS: Final = """
    INSERT INTO run_events
    SELECT (SELECT coalesce(max(event_id), 0) FROM run_events) + row_number() OVER (ORDER BY rowid), run_id,
        'interrupted', NULL, NULL FROM runs WHERE run_id NOT IN (SELECT run_id FROM run_events)
"""


class _Old(SqliteConnection):
    """DuckDB understands the common subset of SQL; it is given rows column by column."""

    def __init__(self, raw: Any) -> None:
        super().__init__(raw)
        self.raw: Any = raw

    def execute(self, query: str, parameters: Any = None, /) -> Any:
        return self.raw.execute(query, parameters and list(parameters))

    def insert(self, table: str, columns: Iterable[str], rows: Iterable[Row], ending: str = "") -> int:
        names, values = list(columns), list(map(list, zip(*rows, strict=True)))
        if values:
            kinds = _kinds(table)
            selected = ", ".join(f"unnest(${place}::{kinds[name]}[])" for place, name in enumerate(names, 1))
            into = f"{_ROWS.get(table, table)} ({', '.join(map(quoted, names))})"
            self.execute(f"INSERT INTO {into} SELECT {selected}", values)
        return 0


def _kinds(table: str) -> dict[str, str]:
    return {name: kind.removeprefix("PACKED ") for name, kind in columns(table).items()}


def side_files(path: Path, state: Path | None = None) -> dict[str, Path]:
    """What there is beside a store's file that belongs to it, by the end of its name: logs, and what the service kept.

    Args:
        state: the beginning of the names of the service's own files; None for that of the store.
    """
    beside = {one.name.removeprefix(path.name): one for one in path.parent.iterdir() if one.name.startswith(path.name)}
    found = {end: one for end, one in sorted(beside.items()) if end in _LOGS or _SEGMENT.fullmatch(end)}
    service = state or path
    own = {end: service.with_name(service.name + end) for end in _OWN_FILES}
    return found | {end: one for end, one in own.items() if one.exists()}


@contextmanager
def opened(path: Path, folder: Path | None, state: Path | None = None) -> Iterator["_Old"]:
    """An old store with the tables of today, and with what a killed process left in its log.

    The file and its side files are left alone: a copy of them is brought up to date.

    Args:
        folder: for the copy; None for the system's temporary folder.
        state: as for :func:`side_files`.

    Raises:
        StoreError: a process has the store open, it is damaged, or there is no room for the copy.
    """
    import duckdb

    with ExitStack() as stack:
        try:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=folder))
            copy = Path(scratch) / "old"
            _copy(path, copy, state)
            connection = stack.enter_context(duckdb.connect(copy, config=_SETTINGS | {"temp_directory": scratch}))
            old = _Old(connection)
            _migrate(old, path)
            _replay(old, copy, path)
            old.execute(_ORPHANS)
            _add_tables(old)
            _add_service(old, copy)
        except OSError as error:
            raise StoreError(f"cannot copy the store {path}: {error}. It needs room for a copy of its files") from error
        except (duckdb.Error, sqlite3.Error, ValueError, KeyError, TypeError, IndexError) as error:
            raise unreadable(path, error) from error
        yield old


def unreadable(path: Path, error: Exception) -> StoreError:
    """The error of an old store that cannot be read."""
    return StoreError(
        f"cannot read the store {path} of metajudge 0.2 or earlier: {error}. If it, or a file beside it, is damaged, "
        "restore it from a copy"
    )


def _copy(path: Path, copy: Path, state: Path | None) -> None:
    """Copies the file and its side files; no other process may open them meanwhile."""
    try:
        with path.open("rb") as file:
            if sys.platform != "win32":
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            shutil.copy2(path, copy)
            for end, one in side_files(path, state).items():
                (shutil.copytree if one.is_dir() else shutil.copy2)(one, copy.with_name(copy.name + end))
    except (BlockingIOError, PermissionError) as error:
        raise StoreError(
            f"the store {path} is open in another process, or may not be read: end that process (a service: stop it), "
            "then run the same command again"
        ) from error


def _migrate(connection: _Old, path: Path) -> None:
    """Applies the steps that the file lacks."""
    tables = connection.rows("SELECT table_name FROM duckdb_tables()")
    if ("migrations",) not in tables:
        raise StoreError(f"{path} is a DuckDB database, but not a metajudge store; it was not changed")
    (applied,) = connection.row("SELECT coalesce(max(version), 0) FROM migrations")
    for step in steps_in("duckdb"):
        if step.version > applied:
            connection.execute(step.sql)


def _replay(connection: _Old, copy: Path, path: Path) -> None:
    """Adds the acknowledged records that a killed process left in its log."""
    (committed,) = connection.row("SELECT committed FROM write_ahead")
    segments = sorted(one for one in copy.parent.iterdir() if _SEGMENT.search(one.name))
    left = [one for one in segments if int(one.name[-9:]) > committed]
    for segment in left:
        payloads, complete = _frames(segment.read_bytes())
        if not complete and segment != left[-1]:
            raise StoreError(
                f"{path.name}{segment.suffix}, part of the log of the store {path}, is damaged: restore it from a "
                "copy, or move it away to copy the store without the calls and assessments in it"
            )
        _add(connection, [_decoded(one) for one in payloads], segment.stat().st_mtime)


def _frames(data: bytes) -> tuple[list[bytes], bool]:
    """The whole records of a segment of the log, and whether nothing else is in it."""
    payloads: list[bytes] = []
    while data:
        if len(data) < _FRAME.size:
            return payloads, False
        size, checksum = _FRAME.unpack_from(data)
        payload, data = data[_FRAME.size : _FRAME.size + size], data[_FRAME.size + size :]
        if len(payload) != size or zlib.crc32(payload) != checksum:
            return payloads, False
        payloads.append(payload)
    return payloads, True


def _decoded(payload: bytes) -> Record:
    data = orjson.loads(payload[1:])
    if payload[:1] == b"c":
        usage, kind = data.pop("usage"), data.pop("failure_kind")
        data.pop("probabilities", None)  # of tokens, which early versions logged
        return CallRecord(
            **data, usage=usage and Usage(**usage), failure_kind=None if kind is None else FailureKind(kind)
        )
    key, run_id, text, item, judgment, *rest = data
    if rest:
        found, annotation = annotated(text, None), rest[0]
        completed = None if annotation is None else annotated(text, annotation)
    else:  # version 0.1 wrote both as one
        completed = annotated(text, None)
        found = without_annotation(completed)
        annotation = annotation_of(completed, found)
        text = found.model_dump_json(exclude=DERIVED)
    return AssessmentWrite(key, run_id, found, text, completed, annotation, item, judgment)


def _add(connection: _Old, records: Sequence[Record], at: float) -> None:
    calls = [record for record in records if isinstance(record, CallRecord)]
    writes = [record for record in records if isinstance(record, AssessmentWrite)]
    _keep(connection, "items", ITEMS, [write.item for write in writes])
    _keep(connection, "judgments", JUDGMENTS, [write.judgment for write in writes])
    for table in ("calls", "assessment_rows"):
        connection.execute(f"ALTER TABLE {table} ALTER COLUMN key_hash SET DEFAULT 0")  # it is not read
    connection.add_numbered("calls", ("call_id", *CALLS), [call_row(call) for call in calls])
    append(connection, writes, at)


def _keep(connection: _Old, table: str, names: Sequence[str], rows: Sequence[Row | None]) -> None:
    """Adds texts that are missing, and restores those that were forgotten."""
    for row in {one[0]: one for one in rows if one is not None}.values():
        there = connection.rows(f"SELECT redacted FROM {table} WHERE {names[0]} = $1", [row[0]])  # noqa: S608
        if not there:
            connection.insert(table, names, [row])
        elif there == [(True,)]:
            restored = f"UPDATE {table} SET payload = $2, redacted = false WHERE {names[0]} = $1"  # noqa: S608
            connection.execute(restored, [row[0], row[-2]])


def _add_tables(connection: _Old) -> None:
    """Makes the tables that the file lacks, with the decisions that are no outcomes yet.

    Those are the ones after the last one of each source that is.
    """
    for table in _SINCE:
        names = ", ".join(f"{quoted(name)} {kind}" for name, kind in _kinds(table).items())
        connection.execute(f"CREATE TABLE {table} ({names})")
    for source, key, table, condition in _QUEUED:
        connection.execute(f"""INSERT INTO event_queue SELECT '{source}', {key} FROM {table} WHERE {condition}
            AND {key} > (SELECT coalesce(max(number), 0) FROM event_sources WHERE source = '{source}')""")  # noqa: S608


def _add_service(connection: _Old, copy: Path) -> None:
    """Adds what the service kept: in an SQLite file, in a file for each upload, and the day's budget."""
    with closing(sqlite3.connect(copy.with_name(f"{copy.name}.service"))) as ledger:
        if ledger.execute("SELECT 1 FROM sqlite_master WHERE name = 'jobs'").fetchall():
            for table, query in _LEDGER.items():
                connection.insert(table, columns(table), ledger.execute(query).fetchall())
    at_work = "SELECT job_id FROM service_jobs WHERE state IN ('queued', 'running')"
    for job_id in connection.column(at_work):
        upload = copy.with_name(f"{copy.name}.jobs") / f"{job_id}.jsonl"
        lines = upload.read_text("utf-8").split("\n")[:-1] if upload.exists() else []
        items = [(job_id, item, _item_of(line), line) for item, line in enumerate(lines)]
        connection.insert("service_items", columns("service_items"), items)
        if not items:
            connection.execute(f"{_LOST} WHERE job_id = $1", [job_id])
    budget = copy.with_name(f"{copy.name}.budget")
    if budget.exists():
        book = BudgetBook.from_json(orjson.loads(budget.read_bytes()))
        book.held = {}  # of a process that has ended
        state = orjson.dumps(book.to_json()).decode()
        connection.insert("service_limits", columns("service_limits"), [("budget", state)])


def _item_of(line: str) -> str:
    data = orjson.loads(line)  # a judgment has an item, other records are one
    return str(data.get("item", data)["id"])
