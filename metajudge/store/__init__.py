"""The store: judgments, calls, assessments, runs, reviews and jobs, in an SQLite file or a PostgreSQL database.

:func:`open_store` opens either. SQL is written once (:mod:`~metajudge.store.sql`); begin reading at
:class:`~metajudge.store.store.Store`.
"""

import asyncio
from typing import TYPE_CHECKING

from metajudge.errors import ConfigurationError
from metajudge.installation import install_command
from metajudge.store.queries import RunRecord
from metajudge.store.sql import PATIENCE_S
from metajudge.store.store import AuditEntry, Store
from metajudge.types.location import PostgresUrl, store_location

if TYPE_CHECKING:
    from metajudge.store.sql import Engine
    from metajudge.types.location import StoreLocation

__all__ = ["AuditEntry", "RunRecord", "Store", "open_store"]


async def open_store(location: "StoreLocation | str") -> Store:
    """Opens the store at a file's path or a ``postgresql://`` URL; any number of processes may have it open.

    Raises:
        ConfigurationError: a URL of something else, or extra ``postgres`` is missing.
        StoreUnavailableError: the server cannot be reached, or another process writes without an end.
        StoreError: no store can be opened there; the message gives the reason.
    """
    where = store_location(location)
    return await asyncio.to_thread(lambda: Store(engine_of(where)))


def engine_of(location: "StoreLocation", *, patience_s: float = PATIENCE_S) -> "Engine":
    """The engine of a location.

    Args:
        patience_s: how long a database that does not answer is asked again.

    Raises:
        ConfigurationError, StoreError: as for :func:`open_store`.
    """
    if not isinstance(location, PostgresUrl):
        from metajudge.store.sqlite import SqliteEngine

        return SqliteEngine(location, patience_s=patience_s)
    try:
        from metajudge.store.postgres import PostgresEngine
    except ImportError as error:
        raise ConfigurationError(
            f"a store on PostgreSQL needs extra packages ({error.name}): {install_command('postgres')}"
        ) from None
    return PostgresEngine(location, patience_s=patience_s)
