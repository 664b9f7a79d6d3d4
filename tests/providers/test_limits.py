"""Concurrency and rates."""

import asyncio

import pytest

from metajudge.errors import ConfigurationError, RateLimitedError, ServerError
from metajudge.providers.limits import AdaptiveSlots, LimitedModel, Limits, LimitSettings, Rate
from metajudge.providers.model import Endpoint, Message, ModelRequest
from metajudge.providers.retry import RetryingModel
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.usage_estimate import UsageEstimate
from tests.doubles.waiting import Clock

REQUEST = ModelRequest("s", (Message("user", "q"),))
HERE, THERE = Endpoint("openai", "http://here/v1"), Endpoint("openai", "http://there/v1")


class Counted(ScriptedModel):
    """Counts how many calls are in flight."""

    def __init__(self, endpoint=HERE, answer="fine", gauge=None):
        super().__init__(lambda _: answer, endpoint=endpoint)
        self.gauge = gauge if gauge is not None else {"now": 0, "most": 0}

    async def complete(self, request):
        self.gauge["now"] += 1
        self.gauge["most"] = max(self.gauge["most"], self.gauge["now"])
        await asyncio.sleep(0.002)
        self.gauge["now"] -= 1
        return await super().complete(request)


async def test_concurrency_is_bounded_over_all_endpoints():
    gauge = {"now": 0, "most": 0}
    limits = Limits(LimitSettings(concurrency=5))
    models = [LimitedModel(Counted(where, gauge=gauge), limits, UsageEstimate()) for where in (HERE, THERE)]
    await asyncio.gather(*(models[i % 2].complete(REQUEST) for i in range(40)))
    assert gauge["most"] == 5


async def test_an_endpoint_is_bounded_across_the_agents_that_ask_it():
    limits = Limits(LimitSettings(concurrency=50), {HERE: LimitSettings(per_endpoint=3)})
    gauge, elsewhere = {"now": 0, "most": 0}, {"now": 0, "most": 0}
    here = [LimitedModel(Counted(HERE, gauge=gauge), limits, UsageEstimate()) for _ in range(2)]
    there = LimitedModel(Counted(THERE, gauge=elsewhere), limits, UsageEstimate())
    await asyncio.gather(*(model.complete(REQUEST) for model in (*here * 10, *[there] * 20)))
    assert (gauge["most"], elsewhere["most"]) == (3, 20)


async def test_a_failed_or_cancelled_call_gives_its_slot_back():
    limits = Limits(LimitSettings(concurrency=1))
    failing = LimitedModel(Counted(answer=ValueError("x")), limits, UsageEstimate())
    with pytest.raises(ValueError, match="x"):
        await failing.complete(REQUEST)
    model = LimitedModel(Counted(), limits, UsageEstimate())
    running = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    waiting.cancel()
    running.cancel()
    await asyncio.gather(running, waiting, return_exceptions=True)
    async with asyncio.timeout(1):
        assert (await model.complete(REQUEST)).text == "fine"


async def test_starts_are_spread_over_the_minute():
    clock = Clock(100.0)
    rate = Rate(60, clock=clock, sleep=clock.sleep)
    starts = []
    for _ in range(5):
        await rate.take(1)
        starts.append(clock.now - 100)
    assert starts == pytest.approx([0, 1, 2, 3, 4])


async def test_at_most_one_seconds_worth_starts_at_once_also_after_a_pause():
    clock = Clock(100.0)
    rate = Rate(600, clock=clock, sleep=clock.sleep)
    clock.now += 1000
    begin = clock.now
    for _ in range(30):
        await rate.take(1)
    assert clock.now - begin == pytest.approx(2.0)


async def test_a_call_larger_than_the_burst_starts_on_a_full_bucket_and_is_paid_for_by_the_next():
    clock = Clock(100.0)
    rate = Rate(600, clock=clock, sleep=clock.sleep)
    await rate.take(100)
    assert clock.now == 100
    await rate.take(1)
    assert clock.now == pytest.approx(100 + 10 - 0.9)


async def test_a_wrong_estimate_of_tokens_is_corrected():
    clock = Clock(100.0)
    rate = Rate(600, clock=clock, sleep=clock.sleep)
    await rate.take(100)
    rate.correct(-90)
    await rate.take(1)
    assert clock.now == pytest.approx(100.1)


async def test_waiters_for_a_rate_start_in_order_of_arrival():
    order = []
    rate = Rate(60_000)

    async def one(i):
        await rate.take(10)
        order.append(i)

    await asyncio.gather(*(one(i) for i in range(20)))
    assert order == list(range(20))


async def test_tokens_a_minute_hold_calls_back():
    limits = Limits(LimitSettings(tokens_per_minute=60_000))
    model = LimitedModel(Counted(), limits, UsageEstimate())
    loop = asyncio.get_running_loop()
    start = loop.time()
    first, second = (asyncio.create_task(model.complete(REQUEST)) for _ in range(2))
    await first
    assert loop.time() - start < 0.05
    await second  # the first was expected to take over 1,000 tokens: a burst of one second, and a little
    assert 0.03 < loop.time() - start < 1.0


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_limits_that_are_no_positive_numbers_are_refused(value):
    with pytest.raises(ConfigurationError, match="requests_per_minute"):
        LimitSettings(requests_per_minute=value)


async def take_and_release(slots, limited, times=1):
    for _ in range(times):
        slots.release(await slots.acquire(), limited)


async def test_a_few_refusals_among_good_answers_change_nothing():
    slots = AdaptiveSlots(64)
    for i in range(400):
        await take_and_release(slots, i % 5 == 0)
    assert slots.allowed == 64


async def test_where_the_provider_keeps_refusing_fewer_are_asked_at_once_and_never_none():
    slots = AdaptiveSlots(64)
    await take_and_release(slots, True, 8)
    assert slots.allowed == 32
    await take_and_release(slots, True, 400)
    assert slots.allowed == 1
    await take_and_release(slots, False, 5000)
    assert slots.allowed == 64


async def test_refusals_of_calls_that_started_before_the_halving_do_not_halve_again():
    slots = AdaptiveSlots(64)
    marks = [await slots.acquire() for _ in range(64)]
    for mark in marks:
        slots.release(mark, True)
    assert slots.allowed == 32


async def test_fewer_slots_really_bound_what_is_in_flight():
    limits = Limits(LimitSettings(concurrency=16))
    slots = limits.at(HERE).slots
    await take_and_release(slots, True, 16)
    model = Counted()
    await asyncio.gather(*(LimitedModel(model, limits, UsageEstimate()).complete(REQUEST) for _ in range(4)))
    assert slots.allowed <= 5
    assert model.gauge["most"] <= 5


async def test_an_empty_account_is_no_reason_to_go_slower():
    spent = RateLimitedError("insufficient_quota")
    spent.retryable = False
    limits = Limits(LimitSettings(concurrency=16))
    model = LimitedModel(Counted(answer=spent), limits, UsageEstimate())
    await asyncio.gather(*(model.complete(REQUEST) for _ in range(40)), return_exceptions=True)
    assert limits.at(HERE).slots.allowed == 16


async def test_who_waits_for_one_endpoints_minute_keeps_no_other_from_being_asked():
    limits = Limits(LimitSettings(concurrency=2), {HERE: LimitSettings(requests_per_minute=1)})
    slow = LimitedModel(Counted(HERE), limits, UsageEstimate())
    waiting = [asyncio.create_task(slow.complete(REQUEST)) for _ in range(10)]
    await asyncio.sleep(0.01)
    quick = LimitedModel(Counted(THERE), limits, UsageEstimate())
    await asyncio.wait_for(asyncio.gather(*(quick.complete(REQUEST) for _ in range(20))), 5)
    for task in waiting:
        task.cancel()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert sum(isinstance(result, asyncio.CancelledError) for result in results) == 9


async def test_a_cancelled_wait_for_a_rate_takes_nothing_and_blocks_nobody():
    clock = Clock(100.0)
    rate = Rate(6, clock=clock, sleep=asyncio.sleep)
    await rate.take(1)
    waiting = asyncio.create_task(rate.take(1))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    clock.now += 10
    await asyncio.wait_for(rate.take(1), 1)


async def test_no_slot_is_held_during_the_wait_before_a_retry():
    limits, told = Limits(LimitSettings(concurrency=1)), asyncio.Event()
    failing = LimitedModel(ScriptedModel([ServerError("x"), "late"], endpoint=HERE), limits, UsageEstimate())

    async def until_told(_seconds):
        await told.wait()

    first = asyncio.create_task(RetryingModel(failing, sleep=until_told).complete(REQUEST))
    await asyncio.sleep(0.01)
    other = LimitedModel(ScriptedModel(["early"], endpoint=HERE), limits, UsageEstimate())
    assert (await asyncio.wait_for(other.complete(REQUEST), 2)).text == "early"
    told.set()
    assert (await first).text == "late"
