"""Removes forgotten texts from the bytes of a DuckDB file."""

from pathlib import Path

import duckdb

from metajudge.errors import StoreError
from metajudge.store.database import Database, attach
from metajudge.store.migrating import migrate
from metajudge.store.sql import only_row

Connection = duckdb.DuckDBPyConnection


def rewrite(database: Database) -> None:
    """Copies the tables into a new file and replaces the old one with it.

    DuckDB leaves the old bytes of a changed row in free blocks of its file, so a checkpoint is not enough.
    Needs as much free space as the file has. An interrupted rewrite leaves its copy behind, and
    :func:`finish_rewrite` repeats it.

    Raises:
        StoreError: the copy could not be written; the tables are redacted nevertheless.
    """
    if database.in_memory:
        return
    copy = copy_path(database.path)
    try:
        _remove(copy)
        with database.several_threads():
            _copy_tables(database.writer, copy, database.path)
        database.replaced_by(copy)
    except (duckdb.Error, OSError) as error:
        _remove(copy)
        raise StoreError(
            f"the texts are redacted, but {database.path} could not be rewritten, so that their bytes may still "
            f"be in it: {error}. It needs free space for a second copy; then forget the item again"
        ) from error


def finish_rewrite(database: Database) -> None:
    """Repeats an interrupted rewrite (its copy still exists)."""
    if not database.in_memory and copy_path(database.path).exists():
        rewrite(database)


def copy_path(path: Path) -> Path:
    return path.with_name(path.name + ".rewrite")


def _copy_tables(connection: Connection, copy: Path, path: Path) -> None:
    (name,) = only_row(connection, "SELECT current_database()")
    source = '"' + name.replace('"', '""') + '"'
    connection.execute("FORCE CHECKPOINT")  # waits for readers
    attach(connection, copy, "rewritten")
    try:
        connection.execute("USE rewritten")
        migrate(connection, path)
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'rewritten' AND table_name != 'migrations'"
        ).fetchall()
        for (table,) in tables:
            connection.execute(f"DELETE FROM rewritten.{table}")  # noqa: S608 - what a migration put there
            connection.execute(f"INSERT INTO rewritten.{table} SELECT * FROM {source}.{table}")  # noqa: S608
        connection.execute("CHECKPOINT rewritten")
    finally:
        connection.execute(f"USE {source}")
        connection.execute("DETACH rewritten")


def _remove(copy: Path) -> None:
    for path in (copy, copy.with_name(copy.name + ".wal")):
        path.unlink(missing_ok=True)
