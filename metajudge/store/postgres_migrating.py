"""Migrates a PostgreSQL schema to this version, while other processes may be starting too."""

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Final

import psycopg

from metajudge.errors import StoreError
from metajudge.store.migrating import Migration, steps_in
from metajudge.store.postgres_connections import Connections, PgConnection, quoted

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('metajudge migrations ' || $1, 0))"


@cache
def known_migrations() -> tuple[Migration, ...]:
    """The steps for PostgreSQL shipped with this version, in order."""
    return steps_in(resources.files("metajudge.store") / "migrations" / "postgres")


def migrate(connection: PgConnection, connections: Connections) -> None:
    """Applies the steps the schema lacks, all of them or none; one process at a time does.

    Raises:
        StoreError: the schema belongs to a newer metajudge, or to something else, or may not be created.
    """
    steps = known_migrations()
    if _applied(connection, connections) == steps[-1].version:
        return
    try:
        with connection.transaction():
            connection.execute(_LOCK, [connections.schema])
            applied = _applied(connection, connections)
            if applied == 0:
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(connections.schema)}")
                connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name VARCHAR)")
            _apply(connection, [step for step in steps if step.version > applied])
    except psycopg.Error as error:
        raise connections.store_error(error, "bring up to date") from error


def _apply(connection: PgConnection, pending: Sequence[Migration]) -> None:
    for step in pending:
        connection.execute(step.sql)
        connection.execute("INSERT INTO migrations VALUES ($1, $2)", [step.version, step.name])


def _applied(connection: PgConnection, connections: Connections) -> int:
    """The newest step the schema has, 0 for one that is not there or empty."""
    rows = connection.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = $1", [connections.schema]
    ).fetchall()
    tables = {name for (name,) in rows}
    if not tables:
        return 0
    where = f"the schema {connections.schema!r} of {connections.url}"
    if "migrations" not in tables or "assessments" not in tables:
        raise StoreError(
            f"{where} is not a metajudge store (it has the tables {', '.join(sorted(tables)[:5])}); it was not "
            "changed. Choose another database with --store, or a schema with ?options=-csearch_path%3DNAME in the URL"
        )
    ((version,),) = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchall()
    newest = known_migrations()[-1].version
    if version > newest:
        raise StoreError(
            f"{where} was written by a newer metajudge (format {version}, this version knows {newest}); upgrade "
            "metajudge, or choose another database with --store"
        )
    return int(version)
