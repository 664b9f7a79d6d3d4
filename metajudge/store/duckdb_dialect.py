"""What SQL for both databases does in its own way on DuckDB."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from metajudge.store.gaps import OWN_COLUMNS, rows_of
from metajudge.store.sql import PAGE, Connection, only_row

_NEW: Final = "missing_rows"
_ARRAYS: Final[dict[str, Callable[[Sequence[Any]], np.ndarray[Any, Any]]]] = {
    "VARCHAR": lambda values: np.array(values, dtype=object),
    "INTEGER": lambda values: np.array(values, dtype=np.int32),
    "FLOAT8": lambda values: np.ma.masked_invalid([np.nan if one is None else one for one in values]),
    "BOOLEAN": lambda values: np.array(values, dtype=bool),
}
"""What DuckDB reads a column from fastest, by type. Only texts and FLOAT8 may be absent."""


class DuckDBDialect:
    """A :class:`~metajudge.store.sql.Dialect`: one thread writes, so nothing needs a lock."""

    skip_locked: Final = ""
    keep_lines: Final = ""

    def lock_reviews(self, connection: Connection, names: Sequence[str]) -> None:
        return

    def overwrite(self, table: str) -> str:
        empty = "".join(f", {name} = NULL" for name in OWN_COLUMNS.get(table, ()))
        return f"UPDATE {rows_of(table)} SET payload = $1, redacted = true{empty}"  # noqa: S608 - our own names

    def lock_facts(self, connection: Connection) -> None:
        return

    def pages(
        self, connection: Connection, table: str, key: str, values: Sequence[str]
    ) -> Iterator[tuple[str, list[Any]]]:
        """By the places of the rows in the table: finding them reads no texts."""
        query = f"SELECT rowid FROM {table} WHERE {key} IN (SELECT unnest($1::VARCHAR[]))"  # noqa: S608 - our own names
        places = sorted(place for (place,) in connection.execute(query, [list(values)]).fetchall())
        for start in range(0, len(places), PAGE):
            page = places[start : start + PAGE]
            if page[-1] - page[0] < len(page):
                yield "rowid BETWEEN $1 AND $2", [page[0], page[-1]]
            else:
                condition = "rowid BETWEEN $1 AND $2 AND rowid IN (SELECT unnest($3::BIGINT[]))"
                yield condition, [page[0], page[-1], page]

    def append(self, connection: Any, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        appender = connection.appender(table)
        appender.append_rows(rows)
        appender.flush()

    def add_missing(
        self, connection: Any, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]
    ) -> int:
        columns = zip(types.items(), zip(*rows, strict=True), strict=True)
        connection.register(_NEW, {name: _ARRAYS[kind](values) for (name, kind), values in columns})
        query = f"INSERT INTO {table} BY NAME SELECT * FROM {_NEW} ON CONFLICT DO NOTHING RETURNING 1"  # noqa: S608
        try:
            return len(connection.execute(query).fetchall())
        finally:
            connection.unregister(_NEW)

    def numbers(self, connection: Connection, table: str, column: str, count: int) -> list[int]:
        (last,) = only_row(connection, f"SELECT coalesce(max({column}), 0) FROM {table}")  # noqa: S608 - our own names
        return list(range(int(last) + 1, int(last) + 1 + count))
