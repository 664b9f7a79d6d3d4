"""procrastinate's queue and PostgreSQL's notifications in the store's database."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

import procrastinate
import psycopg
from procrastinate.exceptions import ProcrastinateException
from procrastinate.schema import SchemaManager

from metajudge.errors import StoreError
from metajudge.store.postgres_connections import PgConnection
from metajudge.store.postgres_store import PostgresStore
from metajudge.store.sql import Connection

QUEUE = "metajudge"
CONNECTIONS = 3
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('metajudge queue ' || $1, 0))"

# What it says about a server that is away is said once, by us.
logging.getLogger("procrastinate").setLevel(logging.CRITICAL)


async def opened_app(store: PostgresStore) -> procrastinate.App:
    """Procrastinate on the store's database and schema, its tables made where there are none.

    Raises:
        StoreError: they cannot be made or reached.
    """
    await store.change_again(lambda connection: _make_tables(connection, store.connections.schema))

    async def configure(connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute(store.connections.session)
        await connection.commit()

    connector = procrastinate.PsycopgConnector(
        conninfo="", kwargs=store.connections.options, configure=configure, min_size=1, max_size=CONNECTIONS
    )
    app = procrastinate.App(connector=connector)
    try:
        await app.open_async()
    except (ProcrastinateException, psycopg.Error) as error:
        raise StoreError(f"the queue of jobs in {store.url} cannot be opened: {type(error).__name__}") from None
    return app


def _make_tables(connection: Connection, schema: str) -> None:
    connection.execute(_LOCK, [schema])
    ((there,),) = connection.execute("SELECT to_regclass('procrastinate_jobs') IS NOT NULL").fetchall()
    if not there:
        cast("PgConnection", connection).execute(SchemaManager.get_schema())


async def listening(store: PostgresStore, channel: str, heard: Callable[[str], Awaitable[None]]) -> None:
    """Hands on what is told on a channel, for as long as the connection lives."""
    connection = await psycopg.AsyncConnection.connect("", autocommit=True, **store.connections.options)
    async with connection:
        await connection.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(channel)))
        async for one in connection.notifies():
            await heard(one.payload)
