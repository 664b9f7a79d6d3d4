import asyncio

import pytest

from metajudge.store.store import GatheredReads


class Table:
    def __init__(self) -> None:
        self.queries: list[list[str]] = []
        self.error: Exception | None = None

    async def read(self, keys) -> dict[str, str]:
        self.queries.append(list(keys))
        await asyncio.sleep(0.01)
        if self.error is not None:
            raise self.error
        return {key: key.upper() for key in keys if not key.startswith("missing")}


async def test_each_gets_its_own_value_and_few_queries_are_asked() -> None:
    table = Table()
    reads = GatheredReads(table.read)
    keys = [f"key-{n}" for n in range(600)] + ["missing"]
    assert await asyncio.gather(*[reads.get(key) for key in keys]) == [*(key.upper() for key in keys[:-1]), None]
    assert len(table.queries) == 3
    assert max(len(query) for query in table.queries) == 256


async def test_same_key_at_once_is_asked_once_and_later_again() -> None:
    table = Table()
    reads = GatheredReads(table.read)
    assert await asyncio.gather(reads.get("a"), reads.get("a")) == ["A", "A"]
    assert await reads.get("a") == "A"
    assert table.queries == [["a"], ["a"]]


async def test_error_reaches_all_who_asked_and_nobody_later() -> None:
    table = Table()
    reads = GatheredReads(table.read)
    table.error = ValueError("unreadable")
    results = await asyncio.gather(reads.get("a"), reads.get("b"), return_exceptions=True)
    assert [str(result) for result in results] == ["unreadable", "unreadable"]
    table.error = None
    assert await reads.get("a") == "A"


async def test_one_who_gives_up_does_not_take_the_answer_from_others() -> None:
    table = Table()
    reads = GatheredReads(table.read)
    first = asyncio.create_task(reads.get("a"))
    second = asyncio.create_task(reads.get("a"))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == "A"
    with pytest.raises(asyncio.CancelledError):
        await first
