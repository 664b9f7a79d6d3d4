import asyncio

from metajudge.distributed.shared_budget import BudgetKeeper
from metajudge.providers.budget import Amount

ONE = Amount(0.1, 1, 10)


async def test_batches_share_one_limit():
    keeper = BudgetKeeper(None, 3, None)
    assert [await keeper.reserve(batch, ONE) for batch in ("a", "b", "a")] == [None, None, None]
    for batch in ("a", "b", "a"):
        await keeper.settle(batch, ONE, ONE)
    assert "3 of 3 calls" in await keeper.reserve("b", ONE)


async def test_a_refused_call_frees_its_place():
    keeper = BudgetKeeper(None, 1, None)
    await keeper.reserve("a", ONE)
    waiting = asyncio.create_task(keeper.reserve("b", ONE))
    await asyncio.sleep(0)
    assert not waiting.done()
    await keeper.settle("a", ONE, Amount())
    assert await waiting is None


async def test_what_a_dead_worker_set_aside_counts_as_spent_and_holds_nobody_up():
    keeper = BudgetKeeper(0.2, None, None)
    await keeper.reserve("a", ONE)
    await keeper.reserve("a", ONE)
    waiting = asyncio.create_task(keeper.reserve("b", ONE))
    await asyncio.sleep(0)
    await keeper.abandon("a")
    assert "$0.2000 of $0.2 is spent" in await waiting
    await keeper.settle("a", ONE, ONE)  # late word of a worker that was given up for dead
    assert "$0.2000 of $0.2 is spent" in await keeper.reserve("b", ONE)
