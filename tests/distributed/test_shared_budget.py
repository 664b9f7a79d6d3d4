import asyncio

from metajudge.distributed.shared_budget import BudgetKeeper
from metajudge.providers.budget import Amount

ONE = Amount(0.1, 1, 10)


async def test_batches_share_one_limit():
    keeper = BudgetKeeper(None, 3, None)
    assert [await keeper.reserve(batch, "w", ONE) for batch in ("a", "b", "a")] == [None, None, None]
    for batch in ("a", "b", "a"):
        await keeper.settle(batch, "w", ONE, ONE)
    assert "3 of 3 calls" in await keeper.reserve("b", "w", ONE)


async def test_a_refused_call_frees_its_place():
    keeper = BudgetKeeper(None, 1, None)
    await keeper.reserve("a", "w", ONE)
    waiting = asyncio.create_task(keeper.reserve("b", "w", ONE))
    await asyncio.sleep(0)
    assert not waiting.done()
    await keeper.settle("a", "w", ONE, Amount())
    assert await waiting is None


async def test_what_a_dead_worker_set_aside_is_returned_but_for_what_it_has_spent():
    keeper = BudgetKeeper(0.3, None, None)
    for _ in range(3):
        await keeper.reserve("a", "dead", ONE)
    await keeper.settle("a", "dead", ONE, Amount(0.05, 1, 10))
    waiting = asyncio.create_task(keeper.reserve("b", "w", ONE))
    # Two calls are recorded: the word of the second one died with its worker. The third was in flight.
    await keeper.take_over("a", "w", Amount(0.13, 2, 20))
    assert await waiting is None
    assert await keeper.reserve("a", "w", Amount(0.06, 1, 10)) is None, "0.13 is spent and 0.1 set aside, of 0.3"
    assert "$0.1300 of $0.3 is spent" in await keeper.reserve("a", "w", Amount(0.18, 1, 10))


async def test_late_word_of_a_dead_worker_counts_nothing_twice_and_frees_nothing_of_its_successor():
    keeper = BudgetKeeper(0.2, None, None)
    await keeper.reserve("a", "dead", ONE)
    await keeper.take_over("a", "w", ONE)
    await keeper.reserve("a", "w", ONE)
    await keeper.settle("a", "dead", ONE, ONE)
    waiting = asyncio.create_task(keeper.reserve("b", "w", ONE))
    await asyncio.sleep(0)
    await keeper.settle("a", "w", ONE, Amount())
    assert await waiting is None


async def test_what_a_worker_waited_for_when_it_died_is_not_kept_for_it():
    keeper = BudgetKeeper(0.1, None, None)
    await keeper.reserve("b", "w", ONE)
    waiting = asyncio.create_task(keeper.reserve("a", "dead", ONE))
    await asyncio.sleep(0)
    await keeper.take_over("a", "w", Amount())
    await keeper.settle("b", "w", ONE, Amount())
    await waiting
    assert await keeper.reserve("a", "w", ONE) is None
