"""Known coroutines at once, in order; work on long texts off the event loop."""

import asyncio
import threading

import pytest

from metajudge.concurrency import LONG_TEXT, all_of, heard, off_the_loop


async def after(seconds, value, done=None):
    await asyncio.sleep(seconds)
    if done is not None:
        done.append(value)
    if isinstance(value, Exception):
        raise value
    return value


async def test_results_come_in_the_order_of_the_coroutines():
    assert await all_of([after(0.02, "slow"), after(0, "quick")]) == ["slow", "quick"]
    assert await all_of([]) == []


async def test_the_others_run_to_their_end_and_then_the_first_error_in_order_is_raised():
    done = []
    with pytest.raises(ValueError, match="first"):
        await all_of(
            [after(0.02, ValueError("first"), done), after(0, ValueError("second"), done), after(0.03, 3, done)]
        )
    assert done[-1] == 3


async def test_being_cancelled_cancels_all():
    done = []
    task = asyncio.ensure_future(all_of([after(0.05, 1, done), after(0.05, 2, done)]))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.1)
    assert done == []


@pytest.mark.parametrize(("characters", "aside"), [(LONG_TEXT - 1, False), (LONG_TEXT, True)])
async def test_long_texts_are_worked_on_in_a_thread(characters, aside):
    where = await off_the_loop(threading.current_thread, characters)
    assert (where is not threading.main_thread()) == aside


class TestHeard:
    async def test_an_event_and_its_absence(self):
        event = asyncio.Event()
        assert not await heard(event, 0.001)
        event.set()
        assert await heard(event, 10)

    async def test_a_cancellation_that_comes_with_the_event_is_not_lost(self):
        event = asyncio.Event()
        waiting = asyncio.create_task(heard(event, 10))
        await asyncio.sleep(0.01)
        event.set()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
