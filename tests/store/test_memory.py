"""What happens where the memory of a DuckDB store is used up."""

import asyncio
import contextlib
import os
import threading
from pathlib import Path

import duckdb
import pytest

from metajudge.errors import StoreMemoryError
from metajudge.store.answering import StoreAnswers
from metajudge.store.duckdb_store import DuckDBStore, open_store
from metajudge.store.owner import owner_of
from metajudge.store.shared_store import SharedStore
from metajudge.store.sql import Connection


def use_up(store: DuckDBStore) -> None:
    """Leaves hardly any memory, as a query would that uses it."""
    with store.database.cursor() as cursor:
        for kilobytes in range(100, 96_000, 50):
            with contextlib.suppress(duckdb.OutOfMemoryException):
                cursor.execute(f"SET GLOBAL memory_limit = '{kilobytes}KB'")
                return


@pytest.fixture
async def store(tmp_path: Path):
    store = await open_store(tmp_path / "store.duckdb")
    yield store
    await store.close()


async def count(store: DuckDBStore, table: str) -> int:
    ((found,),) = await store.ask(lambda c: c.execute(f"SELECT count(*) FROM {table}").fetchall())
    return found


async def test_writes_that_found_no_memory_are_made_again_and_once(store, records) -> None:
    judgments = [records.judgment(n, mark="long " * 200) for n in range(200)]
    for turn in range(3):
        use_up(store)
        for n, one in enumerate(judgments[: 100 * (turn + 1)]):
            store.record_call(records.call(1000 * turn + n, "answer " * 100))
            await store.save_assessment(f"key-{turn}-{n}", one, records.assessment(one, n), f"run-{turn}")
        await store.flush()
        use_up(store)
        await store.audit_log.append("note", "x", {"text": "y" * 200_000}, now=1.0)
    assert await count(store, "items") == await count(store, "judgments") == 200
    assert await count(store, "calls") == 500
    assert await count(store, "audit_log") == 3
    assert {one.judgment_id for _, one in await store.newest_assessments()} == {one.id for one in judgments}


async def test_a_change_that_needs_too_much_fails_alone(store, records) -> None:
    too_much = "CREATE TEMP TABLE big AS SELECT list(repeat('x', 100) || range) FROM range(2000000)"
    with pytest.raises(StoreMemoryError, match="may use 96MB"):
        await store.change(lambda c: c.execute(too_much))
    judgment = records.judgment()
    await store.save_assessment("key", judgment, records.assessment(judgment), "run-1")
    assert await count(store, "assessments") == 1


async def test_only_the_process_that_asks_for_too_much_gets_an_error(store, records) -> None:
    owner = owner_of(store.path, os.getpid())
    other = SharedStore(store.path, owner, None)
    for ask in (other.ask, other._change):
        with pytest.raises(StoreMemoryError, match="Out of Memory"):
            await ask(lambda c: c.execute("SELECT list(repeat('x', 100) || range) FROM range(2000000)").fetchall())
    assert await other.ask(lambda c: c.execute("SELECT range FROM range(4500)").fetchall()) == [
        (n,) for n in range(4500)
    ]
    judgment = records.judgment()
    await store.save_assessment("key", judgment, records.assessment(judgment), "run-1")
    assert await count(store, "assessments") == 1


async def test_a_question_in_the_way_of_a_write_is_stopped(store) -> None:
    begun = threading.Event()

    def question(connection: Connection) -> None:
        begun.set()
        connection.execute("SELECT count(*) FROM range(100000000000) WHERE hash(range) = 8").fetchall()

    slow = asyncio.create_task(asyncio.to_thread(StoreAnswers(store).read, question))
    await asyncio.to_thread(begun.wait, 30)
    await asyncio.sleep(0.1)
    use_up(store)
    await store.audit_log.append("note", "x", {"text": "y" * 400_000}, now=1.0)
    with pytest.raises(StoreMemoryError, match="ask again"):
        await slow
    assert len(await store.audit_log.entries("note")) == 1
