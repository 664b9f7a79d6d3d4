"""One DuckDB file: opened with fixed settings, a cursor for each thread, readable errors."""

import contextlib
import ctypes
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

import duckdb

if sys.platform != "win32":
    import fcntl

from metajudge.errors import StoreError, StoreLockedError, StoreMemoryError
from metajudge.files.replacing import sync
from metajudge.store.migrating import migrate
from metajudge.store.owner import owner_url
from metajudge.store.sql import only_row

T = TypeVar("T")

MEMORY: Final = ":memory:"
STORAGE_VERSION: Final = "v2.0.0"
_HEADER_BYTES: Final = 3 * 4096
_MEMORY_MB: Final = 96
_MEMORY_LIMIT: Final = f"{_MEMORY_MB}MB"
_MAX_THREADS: Final = 4
_TRIMMED: Final = "8MB"
_ROOMY: Final = "4GB"
_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "threads": 1,
    "memory_limit": _MEMORY_LIMIT,
    # Every column of every table keeps a block or more in memory. The default of 256 kB adds up; so do small ones,
    # as each has a record in memory for as long as the file is open.
    "default_block_size": 131_072,
    # What is written stays in memory until a checkpoint.
    "checkpoint_threshold": "16MB",
    # A checkpoint that also merges small row groups takes twice the memory; that is left to the end (see close).
    "max_vacuum_tasks": 0,
    # Reading one text that it compressed unpacks two thousand: of long texts more than there is memory for.
    "disabled_compression_methods": "zstd",
    # Every DuckDB 2.x reads this format, whichever of them wrote the file.
    "storage_compatibility_version": STORAGE_VERSION,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    # Columns of Python objects are texts: none of their values is looked at to find out.
    "pandas_analyze_sample": 0,
}
_NAME: Final = "store"
_HOLDER: Final = re.compile(r"lock is held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")
ROW_GROUP_ROWS: Final = 4_096
"""A checkpoint writes row groups that are not full anew. With DuckDB's 122,880 rows that takes seconds and 100 MB once
there are 80,000 assessments; with few rows every checkpoint takes the same."""
_MERGES: Final = 4
"""How many merges of small row groups are made per table when the file is closed: a bound on the time. A long run makes
none: its checkpoints write thousands of rows, and merging these takes 90 MB."""

_PART_BYTES: Final = 8_388_608
"""Bytes of a file that are copied at once."""

_PATIENCE_S: Final = 10.0
_ENDING_S: Final = 2.0
"""How long a query that was told to end is waited for."""
_RETRY_S: Final = 0.02

_open_paths: set[Path] = set()
"""DuckDB opens the same database twice in one process without an error; two writers would corrupt the numbering."""


def give_back() -> None:
    """Returns free pages in the middle of the heap, which the C library would keep.

    What a long run frees lies between what it keeps, so that the heap grows although hardly more of it is in use. Takes
    milliseconds. Does nothing where the C library has no ``malloc_trim``: only glibc on Linux has.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    found: Callable[[int], int] | None = None
    if sys.platform == "linux":
        found = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found


class Database:
    """The file and its connections.

    One thread writes through :attr:`writer`. Any thread reads within :meth:`reading`, on a cursor of its own:
    a connection shared by threads silently gives one the other's rows. :meth:`replaced_by` waits for readers.
    """

    def __init__(self, path: str | Path) -> None:
        self.in_memory = str(path) == MEMORY
        self.path = Path(path) if self.in_memory else Path(path).expanduser().resolve()
        self._cursors: dict[int, duckdb.DuckDBPyConnection] = {}
        self._gate = threading.Condition()
        self._readers = 0
        self._closed = False
        self._held: int | None = None
        if not self.in_memory:
            _check_place(self.path)
            _claim(self.path)
        try:
            self.writer = self._connect()
        except BaseException:
            _open_paths.discard(self.path)
            raise

    def _connect(self) -> duckdb.DuckDBPyConnection:
        try:
            connection = self._attached()
        except duckdb.Error as error:
            raise _cannot_open(self.path, error) from error
        try:
            if not self.in_memory:
                _check_length(connection, self.path)
            migrate(connection, self.path)
        except duckdb.Error as error:
            connection.close()
            raise _cannot_open(self.path, error) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _attached(self) -> duckdb.DuckDBPyConnection:
        # The size of row groups can only be set in ATTACH.
        spill = {} if self.in_memory else {"temp_directory": f"{self.path}.tmp"}
        connection = duckdb.connect(MEMORY, config=_SETTINGS | spill)
        try:
            attach(connection, self.path, _NAME)
            connection.execute(f"USE {_NAME}")
        except BaseException:
            connection.close()
            raise
        return connection

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Another connection to the same rows, for one thread."""
        cursor = self.writer.cursor()
        cursor.execute(f"USE {_NAME}")
        return cursor

    def trim(self) -> bool:
        """Frees DuckDB's cached pages of the file; call in the writer thread.

        DuckDB would keep every page up to its limit, and so grow during a run. A limit low enough to prevent that would
        be too low for large transactions and queries.

        Returns:
            Whether it was done; False while a read is in progress.
        """
        if self.in_memory:  # the data is only in memory
            return True
        with self._gate:
            if self._readers or self._closed:
                return False
            _limit(self.writer, _TRIMMED)
            _limit(self.writer, _MEMORY_LIMIT)
        return True

    def stop_reading(self) -> None:
        """Ends the queries that run, which use the memory that a write needs; call in the writer thread.

        The write's transaction is over then, also where undoing it found no memory either.
        """
        with self._gate:
            for cursor in self._cursors.values():
                cursor.interrupt()
            self._gate.wait_for(lambda: self._readers == 0, _ENDING_S)
        with self.writer.cursor() as other:
            _limit(other, _MEMORY_LIMIT)
        with contextlib.suppress(duckdb.TransactionException):  # no transaction is open
            self.writer.rollback()

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The calling thread's own cursor.

        Raises:
            StoreMemoryError: a query needs more memory than there is.
            StoreError: the store is closed, or the file cannot be read.
        """
        with self._gate:
            if self._closed:
                raise StoreError(f"the store {self.path} is closed; open it again to read from it")
            self._readers += 1
        try:
            yield self._cursor()
        except (duckdb.OutOfMemoryException, duckdb.InterruptException) as error:
            raise self.no_memory(error) from error
        except duckdb.Error as error:
            raise StoreError(
                f"cannot read from the store {self.path}: {error}. If the file was truncated or overwritten, restore "
                "it from a copy or start a new one with --store"
            ) from error
        finally:
            with self._gate:
                self._readers -= 1
                self._gate.notify_all()

    def ask(self, question: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Asks once, and once more with more memory where earlier versions compressed long texts by zstd.

        Raises:
            StoreError: as for :meth:`reading`.
        """
        with self.reading() as cursor:
            try:
                return question(cursor)
            except duckdb.OutOfMemoryException:
                _limit(cursor, _ROOMY)
            try:
                return question(cursor)
            finally:
                _limit(cursor, _MEMORY_LIMIT)

    def no_memory(self, error: duckdb.Error) -> StoreMemoryError:
        """What the one is told whose query or change needs too much memory; others go on."""
        if isinstance(error, duckdb.InterruptException):
            return StoreMemoryError(
                f"reading from the store {self.path} was stopped, as something had to be written that needed the "
                "memory: ask again, or for less at once"
            )
        return StoreMemoryError(
            f"the store {self.path} may use {_MEMORY_LIMIT} of memory, and this needs more: ask for less at once "
            f"({error})"
        )

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        thread = threading.get_ident()
        cursor = self._cursors.get(thread)
        if cursor is None:
            cursor = self._cursors[thread] = self.cursor()
        return cursor

    def copy_to(self, path: Path) -> None:
        """Copies the file to a new one; call in the writer thread, which alone changes the file.

        Raises:
            StoreError: the copy cannot be written.
        """
        try:
            self.writer.execute("FORCE CHECKPOINT")  # waits for readers
            source = self._held_file()
            os.lseek(source, 0, os.SEEK_SET)
            with path.open("wb") as target:
                while part := os.read(source, _PART_BYTES):
                    target.write(part)
        except (duckdb.Error, OSError) as error:
            raise StoreError(f"cannot copy the store {self.path} to {path}: {error}") from error

    @contextmanager
    def several_threads(self) -> Iterator[None]:
        """Lets statements use up to four threads, each with as much memory; their rows keep their order."""
        threads = min(os.cpu_count() or 1, _MAX_THREADS)
        _limit(self.writer, f"{threads * _MEMORY_MB}MB")
        self.writer.execute(f"SET GLOBAL threads = {threads}")
        try:
            yield
        finally:
            self.writer.execute("SET GLOBAL threads = 1")
            _limit(self.writer, _MEMORY_LIMIT)

    def release(self) -> None:
        """Closes the calling thread's cursor; for threads that end before the store."""
        cursor = self._cursors.pop(threading.get_ident(), None)
        if cursor is not None:
            cursor.close()

    def replaced_by(self, copy: Path) -> None:
        """Replaces the database file with another one and uses that; readers wait meanwhile."""
        with self._gate:
            self._gate.wait_for(lambda: self._readers == 0)
            self._disconnect()
            self._let_go()
            try:
                log = self.path.with_name(self.path.name + ".wal")
                if log.exists():  # it would be replayed into the new file
                    raise StoreError(f"cannot replace {self.path}: its log {log} still exists after a checkpoint")
                shutil.copymode(self.path, copy)
                os.replace(copy, self.path)
                sync(self.path.parent)
            finally:
                self.writer = self._connect()

    def reopen(self) -> bool:
        """Closes the file and opens it again; call in the writer thread, after a commit.

        DuckDB keeps a record of every block of every column that it has written or read for as long as the file is
        open, and so would grow during a run.

        Returns:
            Whether it was done; False while a read is in progress. :attr:`writer` is another connection then.

        Raises:
            StoreLockedError: another process opened the file in between and still has it.
            StoreError: the file cannot be opened again.
        """
        if self.in_memory:
            return True
        with self._gate:
            if self._readers or self._closed:
                return False
            held = self._held_file()
            self._disconnect()
            _lock(held)
            give_back()
            self.writer = self._connect()
        return True

    def _held_file(self) -> int:
        """A handle of the file beside DuckDB's own, which stays open.

        Closing any handle of a file ends all locks that the process has on it, DuckDB's too.
        """
        if self._held is None:
            self._held = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        return self._held

    def _let_go(self) -> None:
        # Not before DuckDB has closed the file; see _held_file.
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _disconnect(self) -> None:
        for cursor in self._cursors.values():  # an open cursor would keep the file open
            cursor.close()
        self._cursors.clear()
        self.writer.close()

    def close(self) -> None:
        """Checkpoints and closes the file; a second call does nothing."""
        with self._gate:
            if self._closed:
                return
            self._gate.wait_for(lambda: self._readers == 0)
            self._closed = True
            try:
                if self._held is None:  # where the file was opened anew, so much was written that the groups are large
                    with contextlib.suppress(duckdb.Error):  # a failed database merges nothing
                        self.writer.execute(f"SET max_vacuum_tasks = {_MERGES}")
                self._disconnect()
            finally:
                self._let_go()
                _open_paths.discard(self.path)


def short_of_memory(error: duckdb.Error) -> bool:
    """Whether a statement, or one before that it followed from, failed for want of memory; the database goes on."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, duckdb.FatalException):
        if "Out of Memory Error" in str(found):
            return True
        found = found.__context__
    return False


def _limit(connection: duckdb.DuckDBPyConnection, limit: str) -> None:
    """Sets how much memory may be used, unless more is in use."""
    with contextlib.suppress(duckdb.OutOfMemoryException):
        connection.execute(f"SET GLOBAL memory_limit = '{limit}'")


def attach(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    """Attaches a store's file under a name; creates it if missing."""
    target = str(path).replace("'", "''")
    options = f"TYPE duckdb, ROW_GROUP_SIZE {ROW_GROUP_ROWS}, STORAGE_VERSION '{STORAGE_VERSION}'"
    connection.execute(f"ATTACH '{target}' AS {name} ({options})")


def _lock(handle: int) -> None:
    """Keeps other processes from opening a file that DuckDB has just closed; waits for one that was quicker."""
    if sys.platform == "win32":  # DuckDB locks in another way there
        return
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_RETRY_S)


def _claim(path: Path) -> None:
    if path in _open_paths:
        raise StoreLockedError(f"this process already has the store {path} open: share that one, or close it first")
    _open_paths.add(path)


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"the store {path} is a folder; name a file in it, such as {path / 'metajudge.duckdb'}")
    folder = path.parent
    if not folder.is_dir():
        raise StoreError(f"cannot create the store {path}: the folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreError(
            f"cannot open the store {path}: the folder {folder} is not writable, and a log is kept beside the "
            "file; change its permissions or choose another place with --store"
        )
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        raise StoreError(f"cannot open the store {path}: no permission to read and write it")


def _check_length(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    # Free blocks at the end may be cut off on purpose, so only the used ones must be there.
    size = "SELECT block_size, used_blocks FROM pragma_database_size() WHERE database_name = current_database()"
    block_size, blocks = only_row(connection, size)
    expected, actual = _HEADER_BYTES + block_size * blocks, path.stat().st_size
    if blocks and actual < expected:
        raise StoreError(
            f"the store {path} is truncated: it has {actual} bytes, its header states {expected}; restore "
            "it from a copy or start a new one with --store"
        )


def _in_use(path: Path, holder: re.Match[str] | None) -> StoreLockedError:
    pid = int(holder["pid"]) if holder else None
    url = None if pid is None else owner_url(path, pid)
    if holder is not None and url is not None:
        return StoreLockedError(
            f"the store {path} is in use by the service at {url} (process {holder['pid']}), and only one process "
            f"can vet with it. Ask the service: its pages show what is stored ({url}/assessments, {url}/reviews), and "
            "`POST /v1/vet`, `POST /v1/vet/batch` or metajudge.client vet with its panels and policies. Or name "
            "another file with --store, or stop the service",
            service_url=url,
            pid=pid,
        )
    who = f"process {holder['pid']} ({holder['program']})" if holder else "another process"
    return StoreLockedError(
        f"the store {path} is in use by {who}; only one process can open it. Wait until that one ends or stop "
        "it, or name another file with --store; a PostgreSQL store can be shared",
        pid=pid,
    )


def _cannot_open(path: Path, error: duckdb.Error) -> StoreError:
    text = str(error)
    if "Could not set lock" in text:
        return _in_use(path, _HOLDER.search(text))
    if "not a valid DuckDB database" in text:
        return StoreError(
            f"{path} exists but is not a metajudge store (no DuckDB file); it was not changed. Choose another "
            "file with --store"
        )
    return StoreError(
        f"cannot open the store {path}: {text}. If the file was written by a newer DuckDB, upgrade the duckdb "
        "package; if it is damaged, restore it from a copy or choose another file with --store"
    )
