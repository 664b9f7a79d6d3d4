"""What SQLite and PostgreSQL have in common: SQL written once, and their few differences.

Every query keeps to what both understand:

- values are ``$1``, ``$2``; a cast of a value (``$1::VARCHAR``) is allowed, other casts are ``CAST(x AS BIGINT)``;
- a list is a value, used in ``IN (SELECT unnest($1::VARCHAR[]))`` or ``= ANY($1::BIGINT[])`` alone;
- ``strpos``, ``lower`` (all of Unicode), ``floor``, ``coalesce``, ``FILTER (WHERE ...)``, window functions,
  ``ON CONFLICT``, ``RETURNING``; neither ``DISTINCT ON``, arrays, ``greatest``, ``infinity`` nor JSON.

A value of a BOOLEAN column is a bool; what an expression gives may be 0 or 1. The columns named in
:data:`~metajudge.store.sqlite.PACKED` are compressed in SQLite: they are selected as they are, and looked into in
Python.
"""

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, wraps
from importlib import resources
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from metajudge.errors import StoreError

T = TypeVar("T")
A = TypeVar("A", bound="Asks")
P = ParamSpec("P")

PAGE: Final = 2_000
"""Rows with texts that are read at once."""

Row = tuple[Any, ...]


class Result(Protocol):
    """The result of a statement."""

    @property
    def description(self) -> Sequence[Any] | None:
        """A sequence for each column, its name first; None without rows."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    def fetchall(self) -> list[Any]: ...


class Connection(ABC):
    """A connection to either database, and how its SQL differs within a transaction.

    Attributes:
        for_update: ends a selection of rows that stay as they are until the transaction ends.
        for_share: ends a selection of rows that must not be deleted until the transaction ends.
        skip_locked: ends a selection of rows of ``kept`` that are about to be changed; those locked by others are left
            out. All three are empty where one transaction writes at a time.
        by_bytes: orders texts by their bytes, where they would not be.
    """

    for_update: str = ""
    for_share: str = ""
    skip_locked: str = ""
    by_bytes: str = ""

    @abstractmethod
    def execute(self, query: str, parameters: Any = None, /) -> Result: ...

    @abstractmethod
    def reader(self) -> Any:
        """A cursor that reads a few rows at a time."""

    def rows(self, query: str, values: Sequence[Any] = (), /) -> list[Any]:
        """The rows of a query."""
        return self.execute(query, values or None).fetchall()

    def row(self, query: str, values: Sequence[Any] = (), /) -> Row:
        """The row of a query that has exactly one."""
        found: Row
        (found,) = self.rows(query, values)
        return found

    def column(self, query: str, values: Sequence[Any] = (), /) -> list[Any]:
        """The values of a query for one column."""
        return [value for (value,) in self.rows(query, values)]

    def pairs(self, query: str, values: Sequence[Any] = (), /) -> dict[Any, Any]:
        """The rows of a query for two columns, by the first one."""
        return dict(self.rows(query, values))

    def named(self, query: str, values: Sequence[Any] = (), /) -> list[dict[str, Any]]:
        """The rows of a query, by the names of its columns."""
        result = self.execute(query, values or None)
        return [dict(zip((one[0] for one in result.description or ()), row, strict=True)) for row in result.fetchall()]

    def take_turns(self, name: str) -> None:
        """Lets one process at a time go on under this name, until the transaction ends."""
        return

    @abstractmethod
    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Row], ending: str = "") -> int:
        """Adds many rows; returns how many were added or, by ``ending``, changed.

        Args:
            ending: of the statement, such as ``ON CONFLICT DO NOTHING``.
        """

    def add_numbered(self, table: str, columns: Sequence[str], rows: Sequence[Row], ending: str = "") -> int:
        """Adds rows with new numbers, which are their first column; as :meth:`insert`."""
        numbers = self.numbers(table, columns[0], len(rows))
        numbered = [(number, *row) for number, row in zip(numbers, rows, strict=True)]
        return self.insert(table, columns, numbered, ending)

    @abstractmethod
    def numbers(self, table: str, column: str, count: int) -> list[int]:
        """Numbers for new rows, ascending, larger than all existing ones; those of annotations are of assessments."""

    @abstractmethod
    def alive(self) -> list[int]:
        """Numbers of the writers (rows of ``writers``) whose store is open."""

    @abstractmethod
    def notify(self, what: str) -> None:
        """Tells all who listen (:meth:`Engine.notifications`) once the transaction is committed."""


PATIENCE_S: Final = 20.0
"""How long a database that does not answer is asked again before an error is raised."""
_RETRY_S: Final = (0.05, 2.0)


class Pauses:
    """Growing pauses between attempts, up to a time limit."""

    def __init__(self, patience_s: float) -> None:
        self._until = time.monotonic() + patience_s
        self._next, self._longest = _RETRY_S

    @property
    def over(self) -> bool:
        return not self.left

    @property
    def left(self) -> float:
        """Seconds until the time limit, at least 0."""
        return max(0.0, self._until - time.monotonic())

    def wait(self, stop: threading.Event) -> bool:
        """Waits for the next pause; False if no time is left, or ``stop`` was set."""
        pause = min(self._next * (0.5 + random.random()), self.left)
        self._next = min(2 * self._next, self._longest)
        return not self.over and not stop.wait(pause)


class Engine(ABC):
    """Connections to one database and how they fail.

    Attributes:
        name: of the store, for messages; without secrets.
        failures: what its driver raises.
        patience_s: how long a database that does not answer is asked again.
    """

    name: str
    failures: tuple[type[Exception], ...]
    patience_s: float

    @abstractmethod
    def connect(self) -> Any:
        """A connection of its own, apart from those that :meth:`read` uses.

        Raises:
            StoreError: it cannot be opened.
        """

    def open_pool(self) -> None:
        """Lets :meth:`read` and :meth:`change` begin, once :meth:`connect` has succeeded."""
        return

    @abstractmethod
    def migrate(self, connection: Any) -> None:
        """Applies the steps that the tables lack, all of them or none.

        Raises:
            StoreError: the tables belong to a newer metajudge, or to something else, or cannot be made.
        """

    @abstractmethod
    def register(self, connection: Any) -> int:
        """Adds a writer for this opening of the store; returns its number."""

    @abstractmethod
    def claim(self, connection: Any, writer_id: int) -> bool:
        """Marks a writer as alive while the connection lives; False while an earlier connection still does."""

    def resign(self, connection: Any, writer_id: int) -> None:
        """Marks a writer as gone."""
        return

    @abstractmethod
    def transaction(self, connection: Any) -> AbstractContextManager[Any]:
        """A transaction that may write."""

    @abstractmethod
    def read(self, question: Callable[[Connection], T], pauses: Pauses | None = None) -> T:
        """Runs read-only queries, all of which see one state of the database where it can.

        Args:
            pauses: since when it has been asked for; None for now.

        Raises:
            StoreUnavailableError: the database did not answer in time, or no connection came free.
            StoreError: the database refuses it, or the store is closed.
        """

    @abstractmethod
    def change(self, change: Callable[[Connection], T], pauses: Pauses | None = None, *, safe: bool = False) -> T:
        """Runs a change in one transaction, which its error undoes.

        Args:
            pauses: as for :meth:`read`.
            safe: whether doing it twice is the same as doing it once, so that a commit whose answer was lost can be
                repeated. Before the commit everything is repeated if the connection breaks.

        Raises:
            StoreUnavailableError: as for :meth:`read`; or the connection broke during the commit, so that it is not
                known whether the change was made.
            StoreError: as for :meth:`read`.
        """

    @abstractmethod
    def store_error(self, error: Exception, what: str) -> StoreError:
        """A driver's error as a StoreError, without secrets."""

    def lost(self, error: Exception) -> bool:
        """Whether the connection is lost."""
        return False

    @abstractmethod
    def passing(self, error: Exception) -> bool:
        """Whether a retry may succeed."""

    @abstractmethod
    def notifications(self, told: Callable[[str], Awaitable[None]]) -> Awaitable[None]:
        """Passes on what :meth:`Connection.notify` said, until cancelled or the connection ends."""

    @abstractmethod
    def forgotten(self, tables: Sequence[str]) -> None:
        """Removes what a redaction of these tables left in the database's files, as far as it can."""

    def hurry(self) -> None:
        """Ends all waits: the process is about to end."""
        return

    @abstractmethod
    def close(self) -> None:
        """Closes all connections; a second call does nothing."""

    def closed(self) -> StoreError:
        """The error of a call after :meth:`close`."""
        return StoreError(f"the store {self.name} is closed; open it again to use it")


class Ask(Protocol):
    """Runs a function on a connection and returns its result."""

    def __call__(self, question: Callable[[Connection], T], /) -> Awaitable[T]: ...


class Asks:
    """What has methods that are one transaction each.

    Args:
        write: runs a function in a transaction, which its error undoes.
        read: runs a function on a reading connection.
    """

    def __init__(self, write: Ask, read: Ask) -> None:
        self._write = write
        self._read = read


def writes(work: Callable[Concatenate[A, Connection, P], T]) -> Callable[Concatenate[A, P], Coroutine[Any, Any, T]]:
    """A method that is one transaction: it is given a connection, which its callers leave out and await."""

    @wraps(work)
    async def method(self: A, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._write(lambda connection: work(self, connection, *args, **kwargs))

    return method


def reads(work: Callable[Concatenate[A, Connection, P], T]) -> Callable[Concatenate[A, P], Coroutine[Any, Any, T]]:
    """A method that only reads, as :func:`writes`."""

    @wraps(work)
    async def method(self: A, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._read(lambda connection: work(self, connection, *args, **kwargs))

    return method


def pages(values: Collection[Any], size: int = PAGE) -> Iterator[list[Any]]:
    """The values, at most so many at a time."""
    listed = list(values)
    for start in range(0, len(listed), size):
        yield listed[start : start + size]


def quoted(name: str) -> str:
    """A name as SQL; some are words of it."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step, ``migrations/DATABASE/NNNN_name.sql``."""

    version: int
    name: str
    sql: str


@cache
def steps_in(database: str) -> tuple[Migration, ...]:
    """The steps for a database (sqlite, postgres, or duckdb for files of version 0.2), in order."""
    folder = resources.files("metajudge.store") / "migrations" / database
    steps = []
    for file in folder.iterdir():
        if file.name.endswith(".sql"):
            number, name = file.name.removesuffix(".sql").split("_", 1)
            steps.append(Migration(int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(steps, key=lambda step: step.version))
