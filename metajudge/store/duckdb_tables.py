"""A DuckDB file's tables as rows."""

from collections.abc import Iterator, Sequence
from typing import Any

from metajudge.store.database import Database
from metajudge.store.gaps import no_own, rows_of
from metajudge.store.lookups import key_hash
from metajudge.store.sql import only_row
from metajudge.store.tables import OWN_COLUMNS, Insertion, Row, Table


class DuckDBTables:
    """A :class:`~metajudge.store.tables.Tables` over the database's writing connection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection = database.writer

    def columns(self, table: str) -> list[str]:
        return sorted(set(self._all_columns(table)) - OWN_COLUMNS)

    def _all_columns(self, table: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT column_name FROM duckdb_columns() WHERE table_name = $1 AND database_name = current_database() "
            "ORDER BY column_index",
            [table],
        ).fetchall()
        return [name for (name,) in rows]

    def count(self, table: str) -> int:
        return int(only_row(self._connection, f"SELECT count(*) FROM {table}")[0])  # noqa: S608 - our own names

    def batches(self, table: Table, columns: Sequence[str], size: int) -> Iterator[list[Row]]:
        cursor = self._database.cursor()
        try:
            cursor.execute(f"SELECT {', '.join(columns)} FROM {table.name} ORDER BY {table.order}")  # noqa: S608
            while batch := cursor.fetchmany(size):
                yield batch
        finally:
            cursor.close()

    def find(self, table: str, column: str, columns: Sequence[str], values: Sequence[Any]) -> list[Row]:
        kind = "BIGINT" if values and isinstance(values[0], int) else "VARCHAR"
        query = f"SELECT {', '.join(columns)} FROM {table} WHERE {column} IN (SELECT unnest($1::{kind}[]))"  # noqa: S608
        return self._connection.execute(query, [list(values)]).fetchall()

    def insert(self, rows: Sequence[Insertion]) -> None:
        self._connection.begin()
        try:
            for one in rows:
                self._append(one)
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise

    def _append(self, one: Insertion) -> None:
        place = {name: number for number, name in enumerate(one.columns)}
        wanted = self._all_columns(one.table)
        rest = no_own(one.table)
        appender = self._connection.appender(rows_of(one.table))
        appender.append_rows(
            [
                (*(key_hash(row[place["key"]]) if name == "key_hash" else row[place[name]] for name in wanted), *rest)
                for row in one.rows
            ]
        )
        appender.flush()
