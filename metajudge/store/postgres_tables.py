"""A PostgreSQL store's tables as rows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from metajudge.store.postgres_connections import Connections, PgConnection
from metajudge.store.postgres_migrating import migrate
from metajudge.store.sql import only_row
from metajudge.store.tables import NUMBERED_LIKE, OWN_COLUMNS, Insertion, Row, Table
from metajudge.types.location import PostgresUrl


@contextmanager
def opened_tables(url: PostgresUrl) -> Iterator["PostgresTables"]:
    """A database's rows.

    Raises:
        StoreError: it cannot be opened, or the connection breaks.
    """
    connections = Connections(url)
    with connections.connect() as reader, connections.connect() as writer:
        migrate(writer, connections)
        try:
            yield PostgresTables(reader, writer)
        except psycopg.Error as error:
            raise connections.store_error(error, "copy") from error


class PostgresTables:
    """A :class:`~metajudge.store.tables.Tables` over two connections, one to read all rows as of one moment.

    Args:
        reader: its transaction stays open; what others write meanwhile is not seen.
        writer: connection for everything else.
    """

    def __init__(self, reader: PgConnection, writer: PgConnection) -> None:
        self._reader = reader
        self._connection = writer
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def columns(self, table: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() "
            "AND table_name = $1",
            [table],
        ).fetchall()
        return sorted({name for (name,) in rows} - OWN_COLUMNS)

    def count(self, table: str) -> int:
        return int(only_row(self._connection, f"SELECT count(*) FROM {table}")[0])  # noqa: S608 - our own names

    def batches(self, table: Table, columns: Sequence[str], size: int) -> Iterator[list[Row]]:
        self._reader.execute(
            f"DECLARE rows NO SCROLL CURSOR FOR SELECT {', '.join(columns)} FROM {table.name} ORDER BY {table.order}"  # noqa: S608
        )
        try:
            while batch := self._reader.execute(f"FETCH {size} FROM rows").fetchall():
                yield batch
        finally:
            self._reader.execute("CLOSE rows")

    def find(self, table: str, column: str, columns: Sequence[str], values: Sequence[Any]) -> list[Row]:
        kind = "BIGINT" if values and isinstance(values[0], int) else "VARCHAR"
        query = f"SELECT {', '.join(columns)} FROM {table} WHERE {column} = ANY($1::{kind}[])"  # noqa: S608
        return self._connection.execute(query, [list(values)]).fetchall()

    def insert(self, rows: Sequence[Insertion]) -> None:
        with self._connection.transaction():
            for one in rows:
                with self._connection.cursor().copy(f"COPY {one.table} ({', '.join(one.columns)}) FROM STDIN") as copy:
                    for row in one.rows:
                        copy.write_row(row)
                if one.number is not None:
                    self._go_on_after(one.table, one.number)

    def _go_on_after(self, table: str, column: str) -> None:
        owner = NUMBERED_LIKE.get(table, (table, column))
        (sequence,) = only_row(self._connection, "SELECT pg_get_serial_sequence($1, $2)", owner)
        self._connection.execute(
            f"SELECT setval('{sequence}', greatest((SELECT max({column}) FROM {table}), "  # noqa: S608 - our own names
            f"(SELECT last_value FROM {sequence})))"
        )
