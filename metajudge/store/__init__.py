"""What is kept: judgments, calls, assessments and runs, in one file."""

from typing import TYPE_CHECKING

from metajudge.store.protocol import RunRecord, Store

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["RunRecord", "Store", "open_store"]


async def open_store(path: "str | Path") -> Store:
    """Opens the store at a path; see :func:`metajudge.store.duckdb_store.open_store`."""
    from metajudge.store.duckdb_store import open_store as open_duckdb  # duckdb and numpy only where needed

    return await open_duckdb(path)
