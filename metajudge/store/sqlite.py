"""One SQLite file in WAL mode: any number of processes read while one writes."""

import asyncio
import contextlib
import os
import re
import sqlite3
import tempfile
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson
import zstandard

from metajudge.errors import StoreError, StoreUnavailableError
from metajudge.files.processes import identity, is_alive
from metajudge.store.sql import PATIENCE_S, Connection, Engine, Pauses, Row, steps_in
from metajudge.types.location import copy_first, is_old_store

T = TypeVar("T")

MEMORY: Final = ":memory:"
"""A store in a temporary file, which is deleted when it is closed."""

PACKED: Final[dict[str, tuple[str, ...]]] = {
    "items": ("payload",),
    "judgments": ("payload",),
    "assessments": ("payload",),
    "annotations": ("payload",),
    "calls": ("reply_text",),
    "service_items": ("payload",),
}
"""Columns whose texts are compressed where that makes them shorter; their type in the tables is PACKED TEXT."""

_NUMBERED_LIKE: Final = {"annotations": (("assessments", "assessment_id"), ("annotations", "annotation_id"))}
_NUMBERED_LIKE["assessments"] = _NUMBERED_LIKE["annotations"]
_MARK: Final = b"\xff\x02"
"""Begins a text that is packed by Zstandard; no byte of UTF-8 is the first of these."""
_EARLIER_MARK: Final = b"\xff\x01"
"""Begins a text that is packed by DEFLATE, with the same dictionary."""
_SHORTEST: Final = 80
_HEADER: Final = b"SQLite format 3\x00"
_SETTINGS: Final = (
    "PRAGMA page_size = 8192; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -16000"
)


class _Packing(threading.local):
    """Packs and unpacks texts; each thread has its own."""

    def __init__(self) -> None:
        self.dictionary = (resources.files("metajudge.store") / "packing-1.txt").read_bytes()
        settings = zstandard.ZstdCompressionParameters.from_level(
            3,
            source_size=1_000,
            dict_size=len(self.dictionary),
            format=zstandard.FORMAT_ZSTD1_MAGICLESS,
            write_dict_id=False,
        )
        known = zstandard.ZstdCompressionDict(self.dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        known.precompute_compress(compression_params=settings)
        self.pack = zstandard.ZstdCompressor(dict_data=known, compression_params=settings).compress
        self.unpack = zstandard.ZstdDecompressor(dict_data=known, format=zstandard.FORMAT_ZSTD1_MAGICLESS).decompress


_PACKING: Final = _Packing()


def pack(text: str | None) -> Any:
    """A text as it is stored."""
    if text is None or 0 < len(text) < _SHORTEST:  # an empty one would be read as none
        return _value(text)
    plain = text.encode("utf-8", "replace")
    packed = _MARK + _PACKING.pack(plain)
    return packed if len(packed) < len(plain) or not plain else _value(text)


def unpack(stored: bytes) -> str:
    """A stored text as it was given.

    Raises:
        StoreError: its bytes are damaged.
    """
    try:
        if stored[:2] == _MARK:
            return _PACKING.unpack(stored[2:]).decode()
        if stored[:2] == _EARLIER_MARK:
            return zlib.decompressobj(-15, _PACKING.dictionary).decompress(stored[2:]).decode()
        return stored.decode()
    except (zstandard.ZstdError, zlib.error, UnicodeDecodeError) as error:
        raise StoreError(f"a stored text is damaged ({error}): restore the file from a backup") from None


sqlite3.register_converter("PACKED", unpack)
sqlite3.register_converter("BOOLEAN", lambda value: value == b"1")


@lru_cache(maxsize=1_000)
def _translated(query: str) -> str:
    """A query of the common subset in SQLite's words; see :mod:`metajudge.store.sql`."""
    return re.sub(
        r"::[A-Z]\w*",
        "",
        re.sub(
            r"= ANY\((\$\d+)(?:::\w+\[\])?\)",
            r"IN (SELECT value FROM json_each(\1))",
            re.sub(r"unnest\((\$\d+)::\w+\[\]\)", r"value FROM json_each(\1)", query),
        ),
    ).replace("strpos(", "instr(")


def _bound(values: Sequence[Any]) -> dict[str, Any]:
    return {str(place): _value(value) for place, value in enumerate(values, 1)}


def _value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return orjson.dumps(value).decode()
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()  # a lone surrogate has no form in UTF-8
    return value


class SqliteConnection(Connection):
    """A connection that speaks the common subset. One transaction writes at a time, so nothing needs a lock."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw
        self.said: list[str] = []

    def execute(self, query: str, parameters: Any = None, /) -> sqlite3.Cursor:
        return self.raw.execute(_translated(query), _bound(parameters) if parameters else {})

    def reader(self) -> sqlite3.Cursor:
        return self.raw.cursor()

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Row], ending: str = "") -> int:
        packed = [name in PACKED.get(table, ()) for name in columns]
        # A transaction that fails is taken back whole, so no statement needs its own way back, which costs half of it.
        verb = "INSERT" if ending else "INSERT OR FAIL"
        query = f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) {ending}"
        return max(
            0,
            self.raw.executemany(
                query,
                ([pack(one) if dense else _value(one) for one, dense in zip(row, packed, strict=True)] for row in rows),
            ).rowcount,
        )

    def numbers(self, table: str, column: str, count: int) -> list[int]:
        last = 0
        for name, key in _NUMBERED_LIKE.get(table, ((table, column),)):
            last = max(last, *self.row(f"SELECT coalesce(max({key}), 0) FROM {name}"))  # noqa: S608
        return list(range(last + 1, last + 1 + count))

    def alive(self) -> list[int]:
        return [number for number, process in self.rows("SELECT writer_id, process FROM writers") if is_alive(process)]

    def notify(self, what: str) -> None:
        self.said.append(what)

    def close(self) -> None:
        self.raw.close()


class SqliteEngine(Engine):
    """The engine of a file; another process's transaction is waited for.

    Args:
        path: made where it does not exist, for its owner alone; :data:`MEMORY` for a temporary one.
        patience_s: how long another process's transaction is waited for.

    Raises:
        StoreError: the file is something else, of another version, damaged, or cannot be opened.
    """

    failures = (sqlite3.Error,)

    def __init__(self, path: Path, *, patience_s: float = PATIENCE_S) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="metajudge-") if str(path) == MEMORY else None
        self.path = path.expanduser().resolve() if self._scratch is None else Path(self._scratch.name) / "store.db"
        self.name = str(path if self._scratch else self.path)
        self.patience_s = patience_s
        self._free: list[SqliteConnection] = []
        self._taking = threading.Lock()
        self._writing = threading.Lock()
        self._ending = threading.Event()
        self._shut = False
        self._listeners: list[Callable[[str], None]] = []
        _check_file(self.path)

    def connect(self) -> SqliteConnection:
        try:
            raw = sqlite3.connect(
                self.path,
                timeout=self.patience_s,
                isolation_level=None,
                check_same_thread=False,
                detect_types=sqlite3.PARSE_DECLTYPES,
                cached_statements=256,
            )
            raw.executescript(_SETTINGS)
            self._write_ahead(raw)
        except sqlite3.Error as error:
            raise self.store_error(error, "open") from error
        raw.create_function("lower", 1, _lower, deterministic=True)
        return SqliteConnection(raw)

    def _write_ahead(self, raw: sqlite3.Connection) -> None:
        """Has the file written ahead; where several processes ask for it at once, SQLite refuses without waiting."""
        pauses = Pauses(self.patience_s)
        while True:
            try:
                raw.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if not _busy(error) or not pauses.wait(self._ending):
                    raise
            else:
                return

    def migrate(self, connection: SqliteConnection) -> None:
        steps = steps_in("sqlite")
        if self._applied(connection) == steps[-1].version:
            return
        with self.transaction(connection):
            applied = self._applied(connection)
            connection.execute("CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name VARCHAR)")
            for step in steps:
                if step.version > applied:
                    _run_script(connection.raw, step.sql)
                    connection.execute("INSERT INTO migrations VALUES ($1, $2)", [step.version, step.name])

    def _applied(self, connection: SqliteConnection) -> int:
        """The newest step the file has, 0 for an empty one."""
        tables = connection.column("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        if not tables:
            return 0
        if "migrations" not in tables:
            raise StoreError(
                f"{self.path} is an SQLite database, but not a metajudge store (it has the tables "
                f"{', '.join(tables[:5])}); it was not changed. Choose another file with --store"
            )
        (version,) = connection.row("SELECT coalesce(max(version), 0) FROM migrations")
        newest = steps_in("sqlite")[-1].version
        if version > newest:
            raise StoreError(
                f"the store {self.path} was written by a newer metajudge (format {version}, this version knows "
                f"{newest}); upgrade metajudge, or choose another file with --store"
            )
        return int(version)

    def register(self, connection: SqliteConnection) -> int:
        with self.transaction(connection):
            alive = connection.alive()
            connection.execute("DELETE FROM writers WHERE writer_id NOT IN (SELECT unnest($1::BIGINT[]))", [alive])
            (number,) = connection.row(
                "INSERT INTO writers (process) VALUES ($1) RETURNING writer_id", [identity(os.getpid())]
            )
        return int(number)

    def claim(self, connection: SqliteConnection, writer_id: int) -> bool:
        return True  # its process is in its row

    def resign(self, connection: SqliteConnection, writer_id: int) -> None:
        with contextlib.suppress(sqlite3.Error), self.transaction(connection):
            connection.execute("DELETE FROM writers WHERE writer_id = $1", [writer_id])

    @contextmanager
    def transaction(self, connection: SqliteConnection) -> Iterator[None]:
        with self._writing:  # threads take turns here, processes in SQLite
            connection.said.clear()
            connection.raw.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.raw.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # the failure that led here is the one to report
                    connection.raw.execute("ROLLBACK")
                raise
        for what in connection.said:
            for tell in tuple(self._listeners):
                tell(what)

    def read(self, question: Callable[[Connection], T], pauses: Pauses | None = None) -> T:
        with self._taken("read from") as connection:
            connection.raw.execute("BEGIN")
            try:
                return question(connection)
            finally:
                if connection.raw.in_transaction:
                    connection.raw.execute("ROLLBACK")

    def change(self, change: Callable[[Connection], T], pauses: Pauses | None = None, *, safe: bool = False) -> T:
        with self._taken("write to") as connection, self.transaction(connection):
            return change(connection)

    @contextmanager
    def _taken(self, what: str) -> Iterator[SqliteConnection]:
        with self._taking:
            if self._shut:
                raise self.closed()
            connection = self._free.pop() if self._free else None
        if connection is None:
            connection = self.connect()
        try:
            yield connection
        except sqlite3.Error as error:
            connection.close()
            raise self.store_error(error, what) from error
        except BaseException:
            self._give_back(connection)
            raise
        self._give_back(connection)

    def _give_back(self, connection: SqliteConnection) -> None:
        with self._taking:
            if not self._shut:
                self._free.append(connection)
                return
        connection.close()

    def store_error(self, error: Exception, what: str) -> StoreError:
        if isinstance(error, StoreError):
            return error
        name = getattr(error, "sqlite_errorname", None) or ""
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return StoreUnavailableError(
                f"the store {self.name} was being written to by another process for {self.patience_s:g} s: wait until "
                "that has ended, then run the same command again"
            )
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
            return StoreError(
                f"cannot {what} the store {self.name}: {error}. What was acknowledged is kept; free some disk space, "
                "then run the same command again to resume"
            )
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return StoreError(
                f"the store {self.name} is damaged ({error}): restore a copy of it, or save what can be read with "
                "`sqlite3 FILE .recover`"
            )
        if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
            return StoreError(
                f"cannot {what} the store {self.name}: {error}. Check the permissions of it and its folder"
            )
        return StoreError(f"cannot {what} the store {self.name}: {error}")

    def passing(self, error: Exception) -> bool:
        return isinstance(error, sqlite3.OperationalError) and _busy(error)

    async def notifications(self, told: Callable[[str], Awaitable[None]]) -> None:
        """What this process said; others' changes are found by looking."""
        loop = asyncio.get_running_loop()
        heard: asyncio.Queue[str] = asyncio.Queue()

        def tell(what: str) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(heard.put_nowait, what)

        self._listeners.append(tell)
        try:
            while True:
                await told(await heard.get())
        finally:
            self._listeners.remove(tell)

    def forgotten(self, tables: Sequence[str]) -> None:
        """Writes the file anew without what was deleted, and empties its log.

        Raises:
            StoreError: another process reads so long that the log cannot be emptied; its old pages stay until then.
        """
        with self._taken("write to") as connection, self._writing:
            connection.raw.execute("PRAGMA secure_delete = ON")
            connection.raw.execute("VACUUM")
            pauses = Pauses(self.patience_s)
            while connection.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if not pauses.wait(self._ending):
                    raise StoreUnavailableError(
                        f"the texts are deleted from {self.name}, but another process is reading it, so that its log "
                        f"({self.path.name}-wal) still has them: forget the item again (--yes) when that has ended"
                    )

    def close(self) -> None:
        self._ending.set()
        with self._taking:
            free, self._free, shut, self._shut = self._free, [], self._shut, True
        for connection in free:
            connection.close()
        if self._scratch is not None and not shut:
            self._scratch.cleanup()


def _lower(text: Any) -> Any:
    return text.lower() if isinstance(text, str) else text


def _run_script(raw: sqlite3.Connection, script: str) -> None:
    """Runs statements in the open transaction; ``executescript`` would end it."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            raw.execute(statement)
            statement = ""


def _busy(error: sqlite3.Error) -> bool:
    return (error.sqlite_errorname or "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _check_file(path: Path) -> None:
    """Makes the file where it does not exist, for its owner alone; refuses what is no SQLite file."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise StoreError(
            f"cannot open the store {path}: {error.strerror}. It needs a file in a folder that you may write to"
        ) from error
    if head and head != _HEADER:
        if is_old_store(path):
            raise copy_first(path)
        raise StoreError(f"{path} is not a metajudge store (it is no SQLite file); choose another file with --store")
