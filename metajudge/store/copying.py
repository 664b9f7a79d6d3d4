"""Copies a store into another in batches: existing rows are compared, missing ones added, and all verified by digests.

Every batch is one transaction, so an interrupted copy resumes where it stopped, and a complete one copies nothing. A
target with rows the source lacks, or with other content under the same key, is not changed.
"""

import hashlib
import itertools
import os
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from metajudge.errors import StoreError
from metajudge.store import engine_of
from metajudge.store.old_file import opened, side_files, unreadable
from metajudge.store.sql import Connection, Engine, Row, steps_in
from metajudge.store.sqlite import SqliteConnection
from metajudge.store.tables import HISTORY, SCORES, STATE, Table, columns
from metajudge.types.location import PostgresUrl, StoreLocation, is_old_store

BATCH: Final = 1_000
Watch = Callable[[str, int, int], None]

_GO_ON: Final = """
    SELECT setval(pg_get_serial_sequence($1, $2), greatest((SELECT max({key}) FROM {table}),
        nextval(pg_get_serial_sequence($1, $2))))
"""


@dataclass(frozen=True, slots=True)
class TableCopy:
    """Result for a table.

    Attributes:
        rows: that it has now, in both stores.
        added: how many of them this copy added.
        digest: SHA-256 over its rows in the order of their key, the same of both stores.
    """

    table: str
    rows: int
    added: int
    digest: str


def copy_store(
    source: StoreLocation,
    target: StoreLocation,
    *,
    state: Path | None = None,
    rename: bool = False,
    watch: Watch = lambda *_: None,
) -> list[TableCopy]:
    """Copies the contents of a store to another; either may be a file or a PostgreSQL database.

    Args:
        source: may also be a file of version 0.2 or earlier, with its side files. None of them is changed.
        target: created if missing.
        state: the beginning of the names of the service's own files of version 0.2; None for that of the source.
        rename: whether the source, once it is copied, gets a name with ``.old``, and the copy its name.
        watch: called with table, rows done and rows in total.

    Raises:
        StoreError: a store cannot be opened; the target has other content; the two differ in the end; or a name that
            is to be given exists.
    """
    if str(source) == str(target):
        raise StoreError(f"{source} cannot be copied into itself: name another target")
    if not source.exists():
        raise StoreError(f"{source}: no such store to copy from")
    if rename:
        _names(source, target, state)
    with _read(source, target, state) as old, _written(target) as new:
        found = _Copy(old, new, (str(source), str(target)), watch).run()
    if rename:
        for one, name in _names(source, target, state):
            one.rename(name)
    return found


def _names(source: StoreLocation, target: StoreLocation, state: Path | None) -> list[tuple[Path, Path]]:
    """The files that get another name, each with that name.

    Raises:
        StoreError: a name exists, or a store is in use.
    """
    if not isinstance(source, Path) or not isinstance(target, Path):
        raise StoreError("only a file that is copied to a file can be renamed: leave out --rename")
    names = [(source, source.with_name(f"{source.name}.old"))]
    for end, one in side_files(source, state).items():
        names.append((one, one.with_name(f"{one.name.removesuffix(end)}.old{end}")))
    for _, name in names:
        if name.exists():
            raise StoreError(f"cannot rename {source}: there is a {name} already. Move it away, or leave out --rename")
    for one in (source, target):
        if one.with_name(f"{one.name}-wal").exists():
            raise StoreError(f"cannot rename: a process has {one} open. End it, then run the same command again")
    return [*names, (target, source)]


class Rows:
    """The rows of a store.

    Args:
        failed: says what failed, from a failure and what was done.
        failures: what the connection raises.
    """

    def __init__(
        self,
        connection: Connection,
        failed: Callable[[Exception, str], StoreError],
        failures: type[Exception] | tuple[type[Exception], ...],
    ) -> None:
        self.connection = connection
        self._failed, self._failures = failed, failures

    @contextmanager
    def usable(self, what: str = "read from") -> Iterator[None]:
        """Raises failures as a StoreError."""
        try:
            yield
        except self._failures as error:
            raise self._failed(error, what) from error

    def stream(self, query: str) -> Iterator[list[Row]]:
        """The rows of a query, some at a time."""
        with self.usable(), closing(self.connection.reader()) as cursor:
            cursor.execute(query)
            while rows := cursor.fetchmany(BATCH):
                yield rows

    def ask(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        with self.usable():
            return self.connection.rows(query, values)

    def count(self, table: Table) -> int:
        """How many rows a table has."""
        return int(self.ask(f"SELECT count(*) FROM {table.name}")[0][0])  # noqa: S608


def _read(source: StoreLocation, target: StoreLocation, state: Path | None) -> AbstractContextManager[Rows]:
    """A store's rows as they are now."""
    if isinstance(source, PostgresUrl):
        return _snapshot(engine_of(source))
    if not is_old_store(source):
        return _file(source)
    folder = target.parent if isinstance(target, Path) else source.parent
    return _old_file(source, folder if os.access(folder, os.W_OK) else None, state)


@contextmanager
def _old_file(path: Path, folder: Path | None, state: Path | None) -> Iterator[Rows]:
    """The rows of a file of version 0.2 or earlier."""
    import duckdb

    with opened(path, folder, state) as connection:
        yield Rows(connection, lambda error, _: unreadable(path, error), duckdb.Error)


@contextmanager
def _snapshot(engine: Engine) -> Iterator[Rows]:
    """The rows of a database on a server, without what others write meanwhile."""
    with closing(engine), closing(engine.connect()) as connection:
        engine.migrate(connection)
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield Rows(connection, engine.store_error, engine.failures)


@contextmanager
def _file(path: Path) -> Iterator[Rows]:
    """The rows of an SQLite file, which is left as it is, also where a killed process left a log."""
    log = path.with_name(f"{path.name}-wal").exists()
    mode = "ro" if log else "rw" if os.access(path.parent, os.W_OK) and os.access(path, os.W_OK) else "ro&immutable=1"

    def failed(error: Exception, what: str) -> StoreError:
        return StoreError(f"cannot {what} the store {path}: {error}; if it is damaged, restore it from a copy")

    try:
        address, types = f"{path.resolve().as_uri()}?mode={mode}", sqlite3.PARSE_DECLTYPES
        raw = sqlite3.connect(address, uri=True, isolation_level=None, detect_types=types)
    except sqlite3.Error as error:
        raise failed(error, "open") from error
    with closing(raw):
        rows = Rows(SqliteConnection(raw), failed, sqlite3.Error)
        rows.ask("BEGIN")
        ((version,),) = rows.ask("SELECT coalesce(max(version), 0) FROM migrations")
        known = steps_in("sqlite")[-1].version
        if version != known:
            raise StoreError(
                f"the store {path} has format {version}, this version of metajudge {known}: open it once "
                f"(`metajudge runs --store {path}`), or upgrade metajudge"
            )
        yield rows


class _Target(Rows):
    """The rows of the store that is written."""

    def __init__(self, engine: Engine, connection: Connection) -> None:
        super().__init__(connection, engine.store_error, engine.failures)
        self._engine = engine

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.usable("write to"), self._engine.transaction(self.connection):
            yield

    def add(self, table: Table, rows: Sequence[Row]) -> None:
        """Adds rows, in the caller's transaction; numbers given later are larger."""
        self.connection.insert(table.name, list(columns(table.name)), rows)
        if table.numbered and self.connection.by_bytes:  # SQLite numbers a row by the largest number there is
            owner = "assessments" if table.name == "annotations" else table.name
            (key,) = table.key
            column = "assessment_id" if table.name == "annotations" else key
            self.connection.execute(_GO_ON.format(key=key, table=table.name), [owner, column])


@contextmanager
def _written(target: StoreLocation) -> Iterator[_Target]:
    """The store that is copied to, made or brought up to date."""
    engine = engine_of(target)
    with closing(engine), closing(engine.connect()) as connection:
        engine.migrate(connection)
        yield _Target(engine, connection)


class _Copy:
    def __init__(self, old: Rows, new: _Target, names: tuple[str, str], watch: Watch) -> None:
        self._old, self._new = old, new
        self._source, self._target = names
        self._watch = watch
        self._before = {table.name: new.count(table) for table in (*HISTORY, SCORES, *STATE)}
        self._forgotten: defaultdict[str, set[Any]] = defaultdict(set)

    def run(self) -> list[TableCopy]:
        """Copies all tables; nothing is changed where the target is another store."""
        for table in HISTORY:
            if self._before[table.name]:
                self._compare(table)
        for table in HISTORY:
            self._add(table)
        state = [table for table in STATE if not self._keeps(table)]
        if any(_digest(self._old, table) != self._new_digest(table) for table in state):
            self._replace(state)
        return [self._verified(table) for table in (*HISTORY, SCORES, *state)]

    def _compare(self, table: Table) -> None:
        """Refuses a target with anything but a part of the source."""
        key, met = list(columns(table.name)).index(table.key[0]), 0
        for batch in self._old.stream(_in_order(table)):
            found = {row[key]: row for row in self._find(table, [row[key] for row in batch])}
            met += len(found)
            for row in batch:
                if row[key] in found:
                    self._compare_rows(table, row, found[row[key]])
        if met < (there := self._before[table.name]):
            raise StoreError(
                f"{self._target} has {there - met} rows of {table.name} that {self._source} does not: it is another "
                "store. Nothing was copied; choose an empty target"
            )

    def _find(self, table: Table, keys: Sequence[Any]) -> list[Row]:
        kind = "BIGINT" if table.numbered else "VARCHAR"
        return self._new.ask(
            f"SELECT {table.selected()} FROM {table.name} WHERE {table.key[0]} IN (SELECT unnest($1::{kind}[]))",  # noqa: S608
            [list(keys)],
        )

    def _compare_rows(self, table: Table, old: Row, new: Row) -> None:
        if old == new:
            return
        one, other = (dict(zip(columns(table.name), row, strict=True)) for row in (old, new))
        if other.get("redacted") and not one.get("redacted"):
            self._forgotten[table.name].add(one[table.key[0]])  # in the target: do not restore it
            return
        if one.get("redacted") and not other.get("redacted"):
            about = f"item {one['item_id']!r}" if "item_id" in one else f"{table.key[0]} {one[table.key[0]]}"
            raise StoreError(
                f"{self._source} has redacted what {self._target} still has ({table.name}, {about}): forget it "
                "there too (`metajudge forget ITEM --store ...`), then copy again. Nothing was copied"
            )
        raise StoreError(
            f"{self._target} has other content than {self._source} under the same {table.key[0]} of {table.name} "
            f"({one[table.key[0]]}): it is another store. Nothing was copied; choose an empty target"
        )

    def _add(self, table: Table) -> None:
        """Adds the rows that the target lacks."""
        key, done, total = list(columns(table.name)).index(table.key[0]), 0, self._old.count(table)
        for batch in self._old.stream(_in_order(table)):
            there = (
                {row[key] for row in self._find(table, [row[key] for row in batch])} if self._before[table.name] else ()
            )
            lacking = [row for row in batch if row[key] not in there]
            if lacking:
                scores = self._scores(lacking) if table.name == "assessments" else []
                with self._new.transaction():
                    self._new.add(table, lacking)
                    self._new.add(SCORES, scores)
            done += len(batch)
            self._watch(table.name, done, max(done, total))

    def _scores(self, assessments: Sequence[Row]) -> list[Row]:
        numbers = [row[0] for row in assessments]
        among = f"{SCORES.key[0]} BETWEEN $1 AND $2 ORDER BY assessment_id, position"
        query = f"SELECT {SCORES.selected()} FROM {SCORES.name} WHERE {among}"  # noqa: S608
        wanted = set(numbers)
        return [row for row in self._old.ask(query, [min(numbers), max(numbers)]) if row[0] in wanted]

    def _keeps(self, table: Table) -> bool:
        """Whether the target's rows stay: results may have texts that were forgotten there."""
        return bool(self._forgotten) and table.name.startswith("service_") and self._before["service_jobs"] > 0

    def _replace(self, tables: Sequence[Table]) -> None:
        with self._new.transaction():
            for table in reversed(tables):
                self._new.connection.execute(f"DELETE FROM {table.name}")  # noqa: S608
            for table in tables:
                for batch in self._old.stream(_in_order(table)):
                    self._new.add(table, batch)

    def _new_digest(self, table: Table) -> tuple[int, str]:
        with self._new.transaction():
            return _digest(self._new, table, self._forgotten[table.name])

    def _verified(self, table: Table) -> TableCopy:
        expected, there = _digest(self._old, table, self._forgotten[table.name]), self._new_digest(table)
        if expected != there:
            raise StoreError(
                f"{self._target} has {there[0]} rows of {table.name} in the end (SHA-256 {there[1][:12]}), "
                f"{self._source} has {expected[0]} ({expected[1][:12]}): something else wrote to one of them "
                "meanwhile. Stop it, and copy again"
            )
        return TableCopy(table.name, there[0], max(0, there[0] - self._before[table.name]), there[1])


def _in_order(table: Table) -> str:
    order = f" ORDER BY {table.order}" if table.order else ""
    return f"SELECT {table.selected()} FROM {table.name}{order}"  # noqa: S608


def _digest(rows: Rows, table: Table, without: Collection[Any] = ()) -> tuple[int, str]:
    """How many rows there are, and their SHA-256 in the order of the key.

    Args:
        without: values of the key's first column, of rows that do not count.
    """
    kinds = columns(table.name)
    order = ", ".join(name + (rows.connection.by_bytes if kinds[name] == "VARCHAR" else "") for name in table.key)
    numbers = [place for place, kind in enumerate(kinds.values()) if kind == "FLOAT8"]
    places = [list(kinds).index(name) for name in table.key]
    query = f"SELECT {table.selected()} FROM {table.name} ORDER BY {order}"  # noqa: S608
    count, found = 0, hashlib.sha256()
    every = itertools.chain.from_iterable(rows.stream(query))
    for key, alike in itertools.groupby(every, lambda row: [row[place] for place in places]):
        texts = [_text(row, numbers) for row in alike]
        count += len(texts)
        if key[0] not in without:
            for text in sorted(texts):
                found.update(text)
    return count, found.hexdigest()


def _text(row: Row, numbers: Sequence[int]) -> bytes:
    values = list(row)
    for place in numbers:
        if values[place] == 0:
            values[place] = 0.0  # SQLite has no negative zero
    return orjson.dumps(values, default=bytes.hex, option=orjson.OPT_APPEND_NEWLINE)
