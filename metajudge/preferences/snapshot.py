"""A store's tables as they are at one moment, in files that another process can read.

One process owns a store's file. It writes its tables to files for a process that exports, in one transaction and with a
cursor of its own. DuckDB streams the rows, so neither the owner's memory nor its event loop notices.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import duckdb

from metajudge.preferences.filters import Filters, prepare
from metajudge.preferences.workspace import quoted, ranges, readable_errors
from metajudge.store.sql import Connection
from metajudge.store.versions import versions

TABLES: Final = ("items", "judgments", "assessments", "annotations", "reviews", "review_decisions", "review_events")
"""What an export reads."""
_ROW_GROUP: Final = 2_048
"""Rows in memory at most: DuckDB's vectors have as many."""
_OPTIONS: Final = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP}"
_OF_TEXTS: Final = ("items", "judgments")
"""Whose payloads are as long as people send them."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a snapshot.

    Attributes:
        folder: where they are.
        filters: of the export: the texts of other rows are neither read nor written.
    """

    folder: Path
    filters: Filters = field(default_factory=Filters)

    def write(self, connection: Connection) -> None:
        """Writes all tables of an open DuckDB store; blocks, so it belongs in a thread.

        Raises:
            DiskFullError: there is no room.
            InputError: a file cannot be written.
            duckdb.OutOfMemoryException: the connection may use too little.
        """
        assert isinstance(connection, duckdb.DuckDBPyConnection), "other stores are copied"
        everything = dict.fromkeys(_OF_TEXTS, "true")
        wanted = everything if self.filters == Filters() else self.filters.text_conditions(versions())
        with readable_errors(self.folder, memory=None):
            connection.execute("BEGIN TRANSACTION")
            try:
                prepare(connection, self.filters)
                for table in TABLES:
                    for number, rows in enumerate(_pieces(connection, table, wanted.get(table))):
                        file = quoted(self.folder / f"{table}-{number:06}.parquet")
                        connection.execute(f"COPY ({rows}) TO {file} ({_OPTIONS})")
            finally:
                connection.execute("ROLLBACK")

    def attach(self, work: duckdb.DuckDBPyConnection) -> None:
        """Makes the tables readable under the name ``kept``."""
        work.execute("CREATE SCHEMA IF NOT EXISTS kept")
        for table in TABLES:
            files = quoted(self.folder / f"{table}-*.parquet")
            work.execute(f"CREATE OR REPLACE VIEW kept.{table} AS SELECT * FROM read_parquet({files})")


def _pieces(connection: duckdb.DuckDBPyConnection, table: str, wanted: str | None) -> Iterator[str]:
    """Queries for the rows of a table; where it is one of texts, first of those whose texts are not wanted."""
    if wanted is None:
        yield f"SELECT * FROM {table}"
        return
    yield f"SELECT rowid AS rowid, * REPLACE (NULL::VARCHAR AS payload) FROM {table} WHERE NOT ({wanted})"
    ((first, last),) = connection.execute(f"SELECT min(rowid), max(rowid) FROM {table} WHERE {wanted}").fetchall()
    if first is None:
        return
    lengths = f"SELECT rowid AS place, strlen(payload) AS size FROM {table} WHERE rowid BETWEEN {first} AND {last}"
    for low, high in ranges(connection, lengths):
        yield f"SELECT rowid AS rowid, * FROM {table} WHERE rowid BETWEEN {low} AND {high} AND {wanted}"
