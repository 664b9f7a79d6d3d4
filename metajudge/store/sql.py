"""What DuckDB and PostgreSQL have in common: SQL with ``$1`` for values, and their few differences.

Queries over these keep to what both understand: ``DISTINCT ON``, ``array_agg``, ``= ANY(...)``, ``FLOAT8``, ``strpos``,
``RETURNING``, ``unnest($1::VARCHAR[])``.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


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

    def numbers(self, connection: Connection, table: str, column: str, count: int) -> list[int]:
        """Numbers for new rows, ascending, larger than all existing ones."""


class Ask(Protocol):
    """Runs a function on a connection and returns its result."""

    def __call__(self, question: Callable[[Connection], T], /) -> Awaitable[T]: ...


def only_row(connection: Connection, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
    """The row of a query that has exactly one.

    Reads to the end: a result that is not read out keeps its transaction, and that stops DuckDB's checkpoints.
    """
    (row,) = connection.execute(query, list(values)).fetchall()
    found: tuple[Any, ...] = row
    return found
