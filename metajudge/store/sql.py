"""What DuckDB and PostgreSQL have in common: SQL with ``$1`` for values, and their few differences.

Queries over these keep to what both understand: ``DISTINCT ON``, ``array_agg``, ``= ANY(...)``, ``FLOAT8``, ``strpos``,
``RETURNING``, ``unnest($1::VARCHAR[])``.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

PAGE: Final = 2_000
"""Rows with texts that are read at once."""


class Result(Protocol):
    """The result of a statement."""

    @property
    def description(self) -> Sequence[Any] | None:
        """A sequence for each column, its name first; None without rows."""

    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    """A connection or cursor of either database."""

    def execute(self, query: str, parameters: Any = None, /) -> Result: ...


class Dialect(Protocol):
    """Differences between the two when rows are changed."""

    @property
    def skip_locked(self) -> str:
        """Ends the selection of a row of ``reviews`` that is about to be changed."""

    def lock_reviews(self, connection: Connection, names: Sequence[str]) -> None:
        """Locks these reviews until the transaction ends."""

    def overwrite(self, table: str) -> str:
        """An UPDATE that gives rows of a table the payload ``$1`` and marks them as redacted; a condition follows."""

    @property
    def keep_lines(self) -> str:
        """Ends a selection of rows of ``lines`` that must stay until the transaction ends."""

    def lock_facts(self, connection: Connection) -> None:
        """Lets no other process add rows to ``line_facts`` until the transaction ends."""

    def pages(
        self, connection: Connection, table: str, key: str, values: Sequence[str]
    ) -> Iterable[tuple[str, list[Any]]]:
        """Conditions and their values that select the rows whose key is among these, at most :data:`PAGE` rows each."""

    def append(
        self, connection: Connection, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
    ) -> None:
        """Adds many rows in bulk; the columns are those of the table, in its order."""

    def add_missing(
        self, connection: Connection, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]
    ) -> int:
        """Adds those of many rows whose key is not in the table yet; returns how many.

        Args:
            types: the table's columns in its order, each with its type: VARCHAR, INTEGER, FLOAT8 or BOOLEAN.
            rows: one or more, with different keys.
        """

    def numbers(self, connection: Connection, table: str, column: str, count: int) -> list[int]:
        """Numbers for new rows, ascending, larger than all existing ones."""


class Ask(Protocol):
    """Runs a function on a connection and returns its result."""

    def __call__(self, question: Callable[[Connection], T], /) -> Awaitable[T]: ...


def add_by_lists(connection: Connection, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> int:
    """:meth:`Dialect.add_missing` with each column as a value of the statement."""
    columns = ", ".join(f"unnest(${place}::{kind}[])" for place, kind in enumerate(types.values(), 1))
    query = f"INSERT INTO {table} SELECT {columns} ON CONFLICT DO NOTHING RETURNING 1"
    return len(connection.execute(query, [list(column) for column in zip(*rows, strict=True)]).fetchall())


def in_file(connection: Connection) -> bool:
    """Whether a connection is one to a DuckDB file, which has no indexes of digests and ids, here or at its owner."""
    return bool(getattr(connection, "in_file", type(connection).__module__.lstrip("_").partition(".")[0] == "duckdb"))


def among(connection: Connection, column: str, numbers: str) -> str:
    """The condition that a BIGINT column is one of a list of numbers (``$1``), in the form that is quick there."""
    if in_file(connection):
        return f"{column} IN (SELECT unnest({numbers}::BIGINT[]))"
    return f"{column} = ANY({numbers}::BIGINT[])"


def only_row(connection: Connection, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
    """The row of a query that has exactly one.

    Reads to the end: a result that is not read out keeps its transaction, and that stops DuckDB's checkpoints.
    """
    (row,) = connection.execute(query, list(values)).fetchall()
    found: tuple[Any, ...] = row
    return found
