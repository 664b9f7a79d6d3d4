"""Limits of a store that is opened twice, as two processes of a service have it."""

import asyncio

import pytest

from metajudge.providers.limit_book import Ask
from metajudge.store.limits import StoredLimits

ASK = Ask(endpoint="here", in_flight=2, requests_per_minute=6_000_000)


@pytest.fixture
async def replicas(reopen):
    both = [await reopen() for _ in range(2)]
    yield both
    for one in both:
        await one.close()


async def test_places_are_shared_and_come_back(replicas):
    one, other = (store.limits for store in replicas)
    assert [await one.enter("a", ASK), await other.enter("b", ASK), await other.enter("c", ASK)] == [0.0, 0.0, None]
    await one.leave("a", ASK, 0)
    assert await other.enter("c", ASK) == 0.0


async def test_of_many_at_once_exactly_the_bound_get_in(replicas):
    found = await asyncio.gather(*(replicas[n % 2].limits.enter(str(n), ASK) for n in range(12)))
    assert sorted(str(one) for one in found) == ["0.0"] * 2 + ["None"] * 10


async def test_a_replica_that_died_gives_its_places_back(replicas):
    dead = StoredLimits(replicas[0].change_again, lease_s=0.0)
    assert [await dead.enter(name, ASK) for name in "ab"] == [0.0, 0.0]
    assert await replicas[1].limits.enter("c", ASK) == 0.0


async def test_a_key_s_requests_count_over_both(replicas):
    one, other = (store.limits for store in replicas)
    waits = [await which.take("ci", 3, 60.0) for which in (one, other, one, other)]
    assert waits[:3] == [0.0, 0.0, 0.0]
    assert 15 < waits[3] <= 20
    assert await other.take("another", 3, 60.0) == 0.0


async def test_a_day_s_budget_is_shared_and_what_a_dead_replica_set_aside_is_returned(replicas):
    one, other = (store.limits for store in replicas)
    assert (await one.reserve_usd("a", 0.6, 1.0)).granted
    assert not (await other.reserve_usd("b", 0.6, 1.0)).granted
    await one.renew_usd(["a"])
    await one.settle_usd("a", 0.1)
    dead = StoredLimits(replicas[0].change_again, lease_s=0.0)
    assert (await dead.reserve_usd("d", 0.9, 1.0)).granted
    assert (await other.reserve_usd("b", 0.9, 1.0)).granted
    state = await one.spent_usd()
    assert (state.spent, state.held) == (0.1, 0.9)


async def test_of_many_at_once_only_what_fits_is_granted(replicas):
    found = await asyncio.gather(*(replicas[n % 2].limits.reserve_usd(str(n), 0.3, 1.0) for n in range(12)))
    assert sum(one.granted for one in found) == 3
