"""How the owner of a DuckDB file answers others; see :mod:`metajudge.store.sharing`."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from metajudge.store.database import Database
from metajudge.store.sql import Connection


class Shared(Protocol):
    """The open store of a file; see :class:`~metajudge.store.duckdb_store.DuckDBStore`."""

    @property
    def database(self) -> Database: ...
    async def flush(self) -> None: ...
    async def changed_by_other(self, change: Callable[[Connection], None]) -> None: ...
    async def forget(self, item_id: str) -> int: ...
    async def copy_to(self, path: Path) -> None: ...


class StoreAnswers:
    """:class:`~metajudge.store.sharing.Answers` of an open store, called in threads of their own."""

    def __init__(self, store: Shared) -> None:
        self._store = store

    def read(self, session: Callable[[Connection], None]) -> None:
        asyncio.run(self._store.flush())
        database = self._store.database
        try:
            with database.reading() as cursor:
                cursor.execute("BEGIN TRANSACTION READ ONLY")
                try:
                    session(cursor)
                finally:
                    cursor.rollback()
        finally:
            database.release()

    def change(self, session: Callable[[Connection], None]) -> None:
        asyncio.run(self._store.changed_by_other(session))

    def forget(self, item_id: str) -> int:
        return asyncio.run(self._store.forget(item_id))

    def copy_to(self, path: Path) -> None:
        asyncio.run(self._store.copy_to(path))
