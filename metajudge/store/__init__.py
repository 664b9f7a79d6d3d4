"""The store: judgments, calls, assessments and runs, in one file or in a PostgreSQL database."""

from typing import TYPE_CHECKING

from metajudge.installation import install_command
from metajudge.store.protocol import RunRecord, Store
from metajudge.types.location import PostgresUrl, store_location

if TYPE_CHECKING:
    from metajudge.types.location import StoreLocation

__all__ = ["RunRecord", "Store", "open_store", "open_to_read"]


async def open_store(location: "StoreLocation | str") -> Store:
    """Opens the store at a file's path or a ``postgresql://`` URL.

    See :func:`metajudge.store.duckdb_store.open_store` and :func:`metajudge.store.postgres_store.open_store`.

    Raises:
        ConfigurationError: a URL of something else, or extra ``postgres`` is missing.
        StoreError: no store can be opened there; the message gives the reason.
    """
    where = store_location(location)
    if isinstance(where, PostgresUrl):
        return await _open_postgres(where)
    from metajudge.store.duckdb_store import open_store as open_duckdb  # duckdb and numpy only where needed

    return await open_duckdb(where)


async def open_to_read(location: "StoreLocation | str") -> Store:
    """Like :func:`open_store`, for those who read, review and decide: also while another process has the file open.

    That process then answers; see :mod:`metajudge.store.sharing`. Calls and assessments cannot be kept meanwhile.

    Raises:
        ConfigurationError, StoreError: as for :func:`open_store`.
    """
    where = store_location(location)
    if isinstance(where, PostgresUrl):
        return await _open_postgres(where)
    from metajudge.store.shared_store import open_shared

    return await open_shared(where)


async def _open_postgres(url: PostgresUrl) -> Store:
    try:
        from metajudge.store.postgres_store import open_store as open_postgres
    except ImportError as error:
        from metajudge.errors import ConfigurationError

        raise ConfigurationError(
            f"a store on PostgreSQL needs extra packages ({error.name}): {install_command('postgres')}"
        ) from None
    return await open_postgres(url)
