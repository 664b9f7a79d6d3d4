"""A store's tables as they are at one moment, in files that another process can read.

One process owns a store's file. It writes its tables to files for a process that exports, in one transaction and with a
cursor of its own. DuckDB streams the rows, so neither the owner's memory nor its event loop notices.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from metajudge.preferences.workspace import quoted, readable_errors
from metajudge.store.sql import Connection

TABLES: Final = ("items", "judgments", "assessments", "annotations", "reviews", "review_decisions", "review_events")
"""What an export reads."""
_ROW_GROUP: Final = 2_048
"""Rows that are in memory while they are written; DuckDB's vectors have as many."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a snapshot.

    Attributes:
        folder: where they are.
    """

    folder: Path

    def write(self, connection: Connection) -> None:
        """Writes all tables of an open DuckDB store; blocks, so it belongs in a thread.

        Raises:
            DiskFullError: there is no room.
            InputError: a file cannot be written.
        """
        with readable_errors(self.folder):
            connection.execute("BEGIN TRANSACTION")
            try:
                for table in TABLES:
                    place = "rowid AS rowid, " if table in ("items", "judgments") else ""
                    connection.execute(
                        f"COPY (SELECT {place}* FROM {table}) TO {quoted(self._file(table))} "
                        f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP})"
                    )
            finally:
                connection.execute("ROLLBACK")

    def attach(self, work: duckdb.DuckDBPyConnection) -> None:
        """Makes the tables readable under the name ``kept``."""
        work.execute("CREATE SCHEMA IF NOT EXISTS kept")
        for table in TABLES:
            work.execute(
                f"CREATE OR REPLACE VIEW kept.{table} AS SELECT * FROM read_parquet({quoted(self._file(table))})"
            )

    def _file(self, table: str) -> Path:
        return self.folder / f"{table}.parquet"
