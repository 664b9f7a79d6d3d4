"""Numbered migrations of a store's file to the schema of this version."""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from metajudge.errors import StoreError

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step, ``migrations/NNNN_name.sql``."""

    version: int
    name: str
    sql: str


@cache
def known_migrations() -> tuple[Migration, ...]:
    """The steps for a DuckDB file shipped with this version, in order."""
    return steps_in(resources.files("metajudge.store") / "migrations")


def steps_in(folder: Traversable) -> tuple[Migration, ...]:
    """The steps in a folder, in order."""
    files = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    steps = []
    for file in files:
        number, name = file.name.removesuffix(".sql").split("_", 1)
        steps.append(Migration(int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(steps, key=lambda step: step.version))


def migrate(connection: "duckdb.DuckDBPyConnection", path: Path) -> None:
    """Applies the steps the file lacks, all of them or none.

    Raises:
        StoreError: the file belongs to a newer metajudge, or to something else.
    """
    applied = _applied(connection, path)
    steps = known_migrations()
    newest = steps[-1].version
    if applied > newest:
        raise StoreError(
            f"the store {path} was written by a newer metajudge (format {applied}, this version knows {newest}); "
            "upgrade metajudge, or choose another file with --store"
        )
    pending = [step for step in steps if step.version > applied]
    if not pending:
        return
    connection.begin()
    try:
        connection.execute("CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name VARCHAR)")
        for step in pending:
            connection.execute(step.sql)
            connection.execute("INSERT INTO migrations VALUES ($1, $2)", [step.version, step.name])
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def _applied(connection: "duckdb.DuckDBPyConnection", path: Path) -> int:
    found = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
    ).fetchall()
    tables = {name for (name,) in found}
    if not tables:
        return 0
    if "migrations" not in tables:
        raise StoreError(
            f"{path} is a DuckDB database, but not a metajudge store (it has the tables "
            f"{', '.join(sorted(tables)[:5])}); it was not changed. Choose another file with --store"
        )
    ((version,),) = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchall()
    return int(version)
