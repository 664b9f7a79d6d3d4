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

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, TypeVar

from metajudge.errors import StoreError
from metajudge.store.patience import Pauses

T = TypeVar("T")

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


class Connection(Protocol):
    """A connection to either database."""

    def execute(self, query: str, parameters: Any = None, /) -> Result: ...


class Dialect(Protocol):
    """Differences between the two databases within a transaction.

    Attributes:
        for_update: ends a selection of rows that stay as they are until the transaction ends.
        for_share: ends a selection of rows that must not be deleted until the transaction ends.
        skip_locked: ends a selection of rows of ``kept`` that are about to be changed; those locked by others are left
            out. All three are empty where one transaction writes at a time.
    """

    @property
    def for_update(self) -> str: ...
    @property
    def for_share(self) -> str: ...
    @property
    def skip_locked(self) -> str: ...

    def lock(self, connection: Connection, name: str) -> None:
        """Lets one process at a time go on under this name, until the transaction ends."""

    def insert(
        self, connection: Connection, table: str, columns: Sequence[str], rows: Iterable[Row], ending: str = ""
    ) -> int:
        """Adds many rows; returns how many were added or, by ``ending``, changed.

        Args:
            ending: of the statement, such as ``ON CONFLICT DO NOTHING``.
        """

    def numbers(self, connection: Connection, table: str, column: str, count: int) -> list[int]:
        """Numbers for new rows, ascending, larger than all existing ones; those of annotations are of assessments."""

    def alive(self, connection: Connection) -> list[int]:
        """Numbers of the writers (rows of ``writers``) whose store is open."""

    def notify(self, connection: Connection, what: str) -> None:
        """Tells all who listen (:meth:`Engine.notifications`) once the transaction is committed."""


class Engine(Protocol):
    """Connections to one database and how they fail.

    Attributes:
        name: of the store, for messages; without secrets.
        dialect: how its SQL differs.
        failures: what its driver raises.
        patience_s: how long a database that does not answer is asked again.
    """

    @property
    def name(self) -> str: ...
    @property
    def dialect(self) -> Dialect: ...
    @property
    def failures(self) -> tuple[type[Exception], ...]: ...
    @property
    def patience_s(self) -> float: ...

    def connect(self) -> Any:
        """A connection of its own, apart from those that :meth:`read` uses."""

    def open_pool(self) -> None:
        """Lets :meth:`read` and :meth:`change` begin, once :meth:`connect` has succeeded."""

    def migrate(self, connection: Any) -> None:
        """Brings the tables to this version."""

    def register(self, connection: Any) -> int:
        """Adds a writer for this opening of the store; returns its number."""

    def claim(self, connection: Any, writer_id: int) -> bool:
        """Marks a writer as alive while the connection lives; False while an earlier connection still does."""

    def resign(self, connection: Any, writer_id: int) -> None:
        """Marks a writer as gone."""

    def transaction(self, connection: Any) -> AbstractContextManager[Any]:
        """A transaction that may write."""

    def read(self, question: Callable[[Connection], T], pauses: Pauses | None = None) -> T:
        """Runs read-only queries, all of which see one state of the database where it can.

        Raises:
            StoreError: it cannot be read.
        """

    def change(self, change: Callable[[Connection], T], pauses: Pauses | None = None, *, safe: bool = False) -> T:
        """Runs a change in one transaction, which its error undoes.

        Args:
            safe: whether doing it twice is the same as doing it once.

        Raises:
            StoreError: it cannot be written.
        """

    def store_error(self, error: Exception, what: str) -> StoreError:
        """A driver's error as a StoreError, without secrets."""

    def lost(self, error: Exception) -> bool:
        """Whether the connection is lost."""

    def passing(self, error: Exception) -> bool:
        """Whether a retry may succeed."""

    def notifications(self, told: Callable[[str], Awaitable[None]]) -> Awaitable[None]:
        """Passes on what :meth:`Dialect.notify` said, until cancelled or the connection ends."""

    def forgotten(self, tables: Sequence[str]) -> None:
        """Removes what a redaction of these tables left in the database's files, as far as it can."""

    def hurry(self) -> None:
        """Ends all waits: the process is about to end."""

    def close(self) -> None:
        """Closes all connections; a second call does nothing."""

    def closed(self) -> StoreError:
        """The error of a call after :meth:`close`."""


class Ask(Protocol):
    """Runs a function on a connection and returns its result."""

    def __call__(self, question: Callable[[Connection], T], /) -> Awaitable[T]: ...


def pages(values: Collection[Any], size: int = PAGE) -> Iterator[list[Any]]:
    """The values, at most so many at a time."""
    listed = list(values)
    for start in range(0, len(listed), size):
        yield listed[start : start + size]


def only_row(connection: Connection, query: str, values: Sequence[Any] = ()) -> Row:
    """The row of a query that has exactly one."""
    (row,) = connection.execute(query, list(values)).fetchall()
    found: Row = row
    return found


def add_numbered(
    connection: Connection, dialect: Dialect, table: str, columns: Sequence[str], rows: Sequence[Row], ending: str = ""
) -> int:
    """Adds rows with new numbers, which are their first column; as :meth:`Dialect.insert`."""
    numbers = dialect.numbers(connection, table, columns[0], len(rows))
    numbered = [(number, *row) for number, row in zip(numbers, rows, strict=True)]
    return dialect.insert(connection, table, columns, numbered, ending)
