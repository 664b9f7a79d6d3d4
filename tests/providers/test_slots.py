"""The semaphore that shrinks while a provider answers that it is asked too much."""

import asyncio

import pytest

from metajudge.providers.limits import AdaptiveSlots


async def used(slots, answers):
    for limited in answers:
        slots.release(await slots.acquire(), limited)


async def test_never_more_are_granted_than_there_are_and_waiting_is_first_come_first_served():
    slots, order, running = AdaptiveSlots(3), [], []

    async def worker(number):
        mark = await slots.acquire()
        order.append(number)
        running.append(number)
        assert len(running) <= 3
        await asyncio.sleep(0.001)
        running.remove(number)
        slots.release(mark, False)

    await asyncio.gather(*(worker(i) for i in range(30)))
    assert order == list(range(30))


async def test_unanswered_calls_teach_nothing():
    slots = AdaptiveSlots(4)
    await used(slots, [None] * 100)
    assert slots.allowed == 4


async def test_a_cancelled_wait_loses_no_slot():
    slots = AdaptiveSlots(1)
    mark = await slots.acquire()
    waiting = [asyncio.create_task(slots.acquire()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    slots.release(mark, False)  # granted to the second, which is cancelled in the same breath
    waiting[1].cancel()
    mark = await asyncio.wait_for(waiting[2], 1)
    slots.release(mark, False)
    for task in waiting[:2]:
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await asyncio.wait_for(slots.acquire(), 1) is not None
