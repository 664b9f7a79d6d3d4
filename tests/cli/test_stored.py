"""Commands on a store: it must exist, and it is closed at the end."""

import pytest

from metajudge.cli.stored import with_store
from metajudge.errors import StoreError
from metajudge.store import open_store


async def runs_of(store):
    return await store.runs(5)


def test_a_missing_store_is_refused_and_not_made(tmp_path):
    path = tmp_path / "none.duckdb"
    with pytest.raises(StoreError, match=r"no such store; name it with --on, or make one with `metajudge case`"):
        with_store(str(path), runs_of, maker="case", option="--on")
    assert not path.exists()


def test_the_result_is_returned_and_the_store_is_closed_after_an_error_too(tmp_path):
    path = tmp_path / "store.duckdb"

    async def fails(store):
        raise ZeroDivisionError

    async def make():
        await (await open_store(path)).close()

    import asyncio

    asyncio.run(make())
    with pytest.raises(ZeroDivisionError):
        with_store(str(path), fails)
    assert with_store(str(path), runs_of) == []
