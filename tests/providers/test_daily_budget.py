import asyncio

import pytest

from metajudge.errors import DayBudgetExceeded, StoreUnavailableError
from metajudge.providers.budget import Amount
from metajudge.providers.budget_book import DAY_S
from metajudge.providers.daily_budget import DailyBudget
from metajudge.store import limits, open_store

ONE = Amount(0.4, 1, 10)


@pytest.fixture
async def keeper(tmp_path):
    store = await open_store(tmp_path / "s.db")
    yield store.limits
    await store.close()


def opened(keeper, usd=1.0):
    budget = DailyBudget(usd)
    budget.keeper = keeper
    return budget


async def test_two_processes_share_a_keeper_and_a_waiting_call_gets_what_comes_back(keeper):
    one, other = opened(keeper), opened(keeper)
    await one.reserve(ONE)
    await other.reserve(ONE)
    waiting = asyncio.create_task(other.reserve(ONE))
    await asyncio.sleep(0.03)
    assert not waiting.done(), "it would fit but for the calls in flight"
    one.settle(ONE, Amount(0.1, 1, 10))
    await waiting
    for budget in (other, other):
        budget.settle(ONE, Amount(0.3, 1, 10))
    await other.flush(5)
    with pytest.raises(DayBudgetExceeded, match=r"\$0.7000 of \$1 is spent") as raised:
        await one.reserve(ONE)
    assert 0 < raised.value.ends_in_s <= DAY_S
    state = await one.state()
    assert (round(state.spent, 9), state.held) == (0.7, 0.0)
    await one.flush(5)


async def test_a_call_that_is_cancelled_while_it_waits_holds_nothing(keeper):
    budget = opened(keeper)
    await budget.reserve(Amount(0.9, 1, 10))
    waiting = asyncio.create_task(budget.reserve(ONE))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    budget.settle(Amount(0.9, 1, 10), Amount())
    await budget.flush(5)
    assert (await budget.state()).held == 0


async def test_a_cost_is_told_until_the_keeper_has_heard_it(keeper):
    failures = [1, 2]
    settle = keeper.settle_usd

    async def unreliable(ticket, usd):
        if failures:
            failures.pop()
            raise StoreUnavailableError("no database")
        await settle(ticket, usd)

    async def at_once(_seconds):
        await asyncio.sleep(0)

    keeper.settle_usd = unreliable
    budget = DailyBudget(1.0, sleep=at_once)
    budget.keeper = keeper
    await budget.reserve(ONE)
    budget.settle(ONE, ONE)
    await budget.flush(5)
    assert (await budget.state()).spent == 0.4


async def test_a_restart_finds_the_day_s_spending_until_the_next_day(tmp_path, monkeypatch):
    now = [20_000 * DAY_S + 10.0]
    monkeypatch.setattr(limits.time, "time", lambda: now[0])
    store = await open_store(tmp_path / "s.db")
    await store.limits.reserve_usd("a", 0.5, 1.0)
    await store.limits.reserve_usd("b", 0.5, 1.0)
    await store.limits.settle_usd("a", 0.25)
    await store.close()
    store = await open_store(tmp_path / "s.db")
    state = await store.limits.spent_usd()
    assert (state.spent, state.held) == (0.25, 0.5)
    now[0] += 11.0
    state = await store.limits.spent_usd()
    assert (state.spent, state.held) == (0.25, 0.0), "what a process that ended had set aside is held for ever"
    now[0] += DAY_S
    assert (await store.limits.spent_usd()).spent == 0
    await store.close()
