"""Where an export grows: a hidden folder beside its place, renamed only when whole."""

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb
import numpy as np
import orjson

from metajudge.errors import ConfigurationError, InputError, UserError
from metajudge.files.replacing import sync

T = TypeVar("T")
Work = duckdb.DuckDBPyConnection
"""The connection to the tables of an export."""

MEMORY: Final = "1000MB"
"""What DuckDB may use of memory where nothing else is asked for; beyond it spills to disk."""
PIECE: Final = 8_000_000
"""Bytes of texts that a step has in memory; a longer text is alone. Reading JSON takes up to twenty times as much."""
SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "threads": 2,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "preserve_insertion_order": True,
    # What is read once and thrown away is not worth compressing: a tenth of the time of an export.
    "force_compression": "uncompressed",
    # A checkpoint of tables that were changed and dropped fails in DuckDB 2.0 at a million rows, and costs time.
    "checkpoint_threshold": "1TB",
}
TYPES: Final = {
    **dict.fromkeys(("number", "assessment_id", "annotation_id", "judgment_no", "item_no", "first", "root"), "BIGINT"),
    **dict.fromkeys(("final_score", "probability"), "DOUBLE"),
    "accepted": "BOOLEAN",
}
"""Types of columns that are no texts, by their names."""
_ENTRY: Final = (
    "entry_id VARCHAR, item_no BIGINT, chosen_ref VARCHAR, rejected_ref VARCHAR, label BOOLEAN, margin DOUBLE, "
    "strength DOUBLE, probability DOUBLE, score DOUBLE, rejected_probability DOUBLE, rejected_score DOUBLE, "
    "judge VARCHAR, judgments VARCHAR[], agents VARCHAR, kept_by VARCHAR, by_rule BOOLEAN, votes INTEGER, "
    "chosen_grade DOUBLE, rejected_grade DOUBLE"
)
"""Columns of a row to be: two responses by name (kind ``responses``), or two judgments by number."""
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_WORDS: Final = ("No space left", "File too large", "quota", "Could not write")


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """One step of an export.

    Attributes:
        name: of the step.
        unit: what is counted.
        before: how many came in.
        after: how many went on.
        dropped: reason -> how many.
    """

    name: str
    unit: str
    before: int
    after: int
    dropped: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "step": self.name,
            "unit": self.unit,
            "before": self.before,
            "after": self.after,
            "dropped": {reason: count for reason, count in self.dropped.items() if count},
        }


Noted = tuple[list[FunnelStep], dict[str, Any]]
"""What a stage leaves beside its tables: its steps, and facts for ``stats.json`` as plain data."""


class DiskFullError(InputError):
    """There is no room for what was to be written."""


class NeedsMemoryError(ConfigurationError):
    """A step needs more memory than it may use, and cannot continue on disk."""


class Workspace:
    """A database of intermediate tables and a folder of finished files, both kept until the export is whole.

    A stage that ended is recorded; the same export, started again over the same input, resumes after it.

    Args:
        out: the folder to make; it must not exist.
        key: digest of request and input; work under another key is thrown away.
        memory: what DuckDB may use, in its own notation.

    Raises:
        InputError: the place is taken or cannot be written.
    """

    def __init__(self, out: Path, key: str, memory: str = MEMORY) -> None:
        if out.exists() or out.is_symlink():
            raise InputError(f"{out} exists already: choose another --out, or remove it first")
        if not out.parent.is_dir():
            raise InputError(f"cannot make {out}: the folder {out.parent} does not exist; create it first")
        if not os.access(out.parent, os.W_OK | os.X_OK):
            raise InputError(f"cannot make {out}: the folder {out.parent} is not writable; choose another --out")
        self.out = out
        self.memory = memory
        self.folder = out.with_name(f".{out.name}.partial")
        self.result = self.folder / "result"
        self.resumed: list[str] = []
        with self.readable_errors():
            self.folder.mkdir(exist_ok=True)
            self._connect()
            if self._value("key") != key:
                self.database.close()
                shutil.rmtree(self.folder)
                self.folder.mkdir()
                self._connect()
                self.database.execute("INSERT INTO notes VALUES ('key', $1)", [key])
            self.result.mkdir(exist_ok=True)

    def _connect(self) -> None:
        path = self.folder / "work.duckdb"
        config = {**SETTINGS, "memory_limit": self.memory, "temp_directory": str(self.folder / "spill")}
        try:
            self.database = duckdb.connect(str(path), config=config)
        except duckdb.IOException as error:
            if "lock" in str(error):
                raise InputError(f"{self.out} is being exported by another process; wait for it to end") from None
            # A file that a kill left unreadable contains nothing that cannot be made again.
            path.unlink(missing_ok=True)
            path.with_name(path.name + ".wal").unlink(missing_ok=True)
            self.database = duckdb.connect(str(path), config=config)
        self.database.execute("PRAGMA disable_checkpoint_on_shutdown")
        confine(self.database, self.folder)
        self.database.execute("CREATE TABLE IF NOT EXISTS notes (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)")

    def _value(self, name: str) -> str | None:
        found = self.database.execute("SELECT value FROM notes WHERE name = $1", [name]).fetchall()
        return found[0][0] if found else None

    def stage(self, name: str, work: Callable[[], Noted]) -> Noted:
        """Does a stage, or takes the note an earlier run left when it was done.

        Args:
            name: of the stage.
            work: fills tables and returns steps and facts; all of it is one transaction.
        """
        note = self._value(f"stage {name}")
        if note is not None:
            self.resumed.append(name)
        else:
            with self.readable_errors():
                self.database.execute("BEGIN")
                note = to_text(work())
                self.database.execute("INSERT INTO notes VALUES ($1, $2)", [f"stage {name}", note])
                self.database.execute("COMMIT")
        steps, facts = orjson.loads(note)
        return [FunnelStep(**step) for step in steps], facts

    def publish(self) -> None:
        """Puts the finished folder in its place in one step, and removes what it grew from."""
        self.database.close()
        with self.readable_errors():
            for path in sorted(self.result.rglob("*")):
                sync(path)
            sync(self.result)
            if self.out.exists():
                raise InputError(f"{self.out} appeared while the export was made: the new one is in {self.result}")
            os.rename(self.result, self.out)
            sync(self.out.parent)
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Lets go of the database; what is done stays for the next try, unless that would end in the same error."""
        self.database.close()
        if isinstance(error, UserError) and not isinstance(error.__cause__, OSError | duckdb.Error):
            shutil.rmtree(self.folder, ignore_errors=True)

    def readable_errors(self) -> contextlib.AbstractContextManager[None]:
        return readable_errors(self.out, self.memory)


@contextlib.contextmanager
def readable_errors(out: Path, memory: str = MEMORY) -> Iterator[None]:
    """Turns a full disk, or another failure to write, into words.

    Args:
        memory: what may be used, for the message.

    Raises:
        DiskFullError: there is no room; nothing was put at ``out``.
        NeedsMemoryError: a step needs more than it may use.
        InputError: a file could not be written for another reason.
    """
    try:
        yield
    except OSError as error:
        raise _unwritten(out, error.strerror or str(error), error.errno in _FULL) from error
    except duckdb.OutOfMemoryException as error:
        raise NeedsMemoryError(
            f"{out} was not written: a step needs more than {memory} of memory, or of disk beside it ({error})"
        ) from error
    except duckdb.Error as error:  # a commit that could not be written is no IOException
        full = any(word in str(error) for word in _FULL_WORDS)
        if not full and not isinstance(error, duckdb.IOException):
            raise
        raise _unwritten(out, str(error), full) from error


def confine(work: Work, *allowed: Path) -> None:
    """Lets a database read and write these folders and files alone, whatever a query or a file says."""
    folders, files = ([quoted(f"{one}{end}") for one in allowed if one.is_dir() == bool(end)] for end in ("/", ""))
    work.execute(f"SET allowed_directories = [{', '.join(folders)}]")
    work.execute(f"SET allowed_paths = [{', '.join(files)}]")
    work.execute("SET enable_external_access = false")
    work.execute("SET lock_configuration = true")


def ranges(work: Work, lengths: str, most: int | None = None) -> list[tuple[int, int]]:
    """First and last place of pieces that follow each other and contain about so much text each.

    Args:
        lengths: a query for the place of each row, a whole number, and the length of its texts, as ``place, size``.
        most: length of a piece; :data:`PIECE` if None.
    """
    found = work.execute(lengths).fetchnumpy()
    if not len(found["place"]):
        return []
    order = np.argsort(found["place"])
    places = found["place"][order]
    ends = np.flatnonzero(np.diff(np.cumsum(found["size"][order]) // (most or PIECE)))
    firsts, lasts = [0, *(ends + 1)], [*ends, len(places) - 1]
    return [(int(places[first]), int(places[last])) for first, last in zip(firsts, lasts, strict=True)]


def _unwritten(out: Path, reason: str, full: bool) -> InputError:
    cause = "the disk is full" if full else "a file could not be written"
    return (DiskFullError if full else InputError)(
        f"{out} was not written: {cause} ({reason}). Free some space or choose another --out, and give the same "
        "command again: it resumes where it stopped"
    )


def to_text(data: Any) -> str:
    """JSON without spaces, as the store's own functions give it back."""
    return orjson.dumps(data).decode()


def quoted(value: Any) -> str:
    """A value as an SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"


def only(work: Work, query: str, values: list[Any] | None = None) -> tuple[Any, ...]:
    """The row of a query that has exactly one."""
    (row,) = work.execute(query, values or []).fetchall()
    found: tuple[Any, ...] = row
    return found


def fill(
    work: Work,
    table: str,
    columns: Sequence[str],
    pages: Iterable[Sequence[Sequence[Any]]],
    query: str = "SELECT * FROM given",
    payload: Any = None,
) -> None:
    """Makes a table of what a query gives of the rows ``given``, some at a time; see :func:`append`."""
    append(work, f"CREATE OR REPLACE TABLE {table} AS", columns, [], query, payload)
    for rows in pages:
        append(work, f"INSERT INTO {table}", columns, rows, query, payload)


def append(
    work: Work, how: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], query: str, payload: Any = None
) -> None:
    """Gives a query the rows ``given``, a column as one list.

    Args:
        how: what is done with the query's rows, such as ``INSERT INTO table``.
        payload: the structure of the JSON that the last column contains, in the terms of DuckDB's ``from_json``; it is
            parsed once and given as a struct.
    """
    # Of what DuckDB takes from Python JSON is the fastest that does not stay in memory until the transaction ends.
    texts = [to_text(column) for column in zip(*rows, strict=True)] or ["[]" for _ in columns]
    kinds: list[Any] = [TYPES.get(name, "VARCHAR") for name in columns]
    if payload is not None:
        texts[-1], kinds[-1] = f"[{','.join(row[-1] for row in rows)}]", payload
    listed = ", ".join(
        f"unnest(from_json(${place}, {quoted(to_text([kind]))})) AS {name}"
        for place, (name, kind) in enumerate(zip(columns, kinds, strict=True), 1)
    )
    work.execute(f"{how} WITH given AS (SELECT {listed}) {query}", texts)


def ahead(pages: Iterator[T]) -> Iterator[T]:
    """The same pages, each made in a thread while the one before is used."""
    with ThreadPoolExecutor(1) as thread:
        due = thread.submit(next, pages, None)
        while (page := due.result()) is not None:
            due = thread.submit(next, pages, None)
            yield page


def make_entries(work: Work, query: str) -> None:
    """Makes ``entries``, the rows to be, of what a query gives; columns that it does not give are empty."""
    work.execute(f"CREATE OR REPLACE TABLE entries ({_ENTRY})")
    work.execute(f"INSERT INTO entries BY NAME {query}")


def named_rows(work: Work, query: str) -> list[dict[str, Any]]:
    """The rows of a query, by the names of its columns."""
    cursor = work.execute(query)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
