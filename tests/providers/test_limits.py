"""Concurrency and rates."""

import asyncio

import pytest

from metajudge.errors import ConfigurationError, ModelTimeoutError, OverloadedError, RateLimitedError, ServerError
from metajudge.providers.limits import AdaptiveSlots, LimitedModel, Limits, LimitSettings, Rate
from metajudge.providers.model import Endpoint, Message, ModelRequest
from metajudge.providers.retry import RetryingModel
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.usage_estimate import UsageEstimate, characters
from metajudge.types import Usage
from tests.doubles.model_requests import ask
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


async def test_concurrency_is_bounded_over_endpoints_and_over_the_agents_of_one():
    gauge = {"now": 0, "most": 0}
    limits = Limits(LimitSettings(concurrency=5))
    models = [LimitedModel(Counted(where, gauge=gauge), limits, UsageEstimate()) for where in (HERE, THERE)]
    await asyncio.gather(*(models[i % 2].complete(REQUEST) for i in range(40)))
    assert gauge["most"] == 5
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


async def test_starts_are_spread_over_the_minute_at_most_one_seconds_worth_at_once():
    clock = Clock(100.0)
    rate = Rate(60, clock=clock, sleep=clock.sleep)
    starts = []
    for _ in range(5):
        await rate.take(1)
        starts.append(clock.now - 100)
    assert starts == pytest.approx([0, 1, 2, 3, 4])
    clock = Clock(100.0)
    rate = Rate(600, clock=clock, sleep=clock.sleep)
    clock.now += 1000
    begin = clock.now
    for _ in range(30):
        await rate.take(1)
    assert clock.now - begin == pytest.approx(2.0)


async def test_a_call_larger_than_the_burst_is_paid_for_by_the_next_and_a_wrong_estimate_corrected():
    clock = Clock(100.0)
    rate = Rate(600, clock=clock, sleep=clock.sleep)
    await rate.take(100)
    assert clock.now == 100
    await rate.take(1)
    assert clock.now == pytest.approx(100 + 10 - 0.9)
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


LIMITED = RateLimitedError("429")


async def take_and_release(slots, limited, times=1):
    for _ in range(times):
        slots.release(await slots.acquire(), LIMITED if limited else None)


@pytest.mark.parametrize(("error", "times"), [(OverloadedError("503"), 8), (ModelTimeoutError("late"), 2)])
async def test_a_server_that_is_overloaded_or_late_is_asked_less(error, times):
    slots = AdaptiveSlots(64)
    for _ in range(times):
        slots.release(await slots.acquire(), error)
    assert slots.allowed == 32


async def test_a_local_server_begins_with_four_and_gets_more_while_its_answers_stay_fast():
    assert Limits(LimitSettings(given=False)).at(HERE).slots.allowed == 64
    here = Endpoint("openai", "http://localhost:1/v1")
    assert Limits(LimitSettings(concurrency=64)).at(here).slots.allowed == 64
    slots = Limits(LimitSettings(given=False)).at(here).slots
    assert slots.allowed == 4
    for _ in range(100):
        slots.release(await slots.acquire(), None, 1.0, 120.0)
    assert slots.allowed == 64


async def test_a_server_that_answers_one_at_a_time_keeps_few_and_late_answers_halve_them():
    slots = AdaptiveSlots(64, 4)
    for latency_s in (1.0, 2.0, 3.0, 4.0, *[4.0] * 40):
        slots.release(await slots.acquire(), None, latency_s, 120.0)
    assert slots.allowed <= 8
    for _ in range(10):
        slots.release(await slots.acquire(), None, 100.0, 120.0)
    assert slots.allowed == 1


async def test_a_few_refusals_change_nothing_and_many_ask_fewer_at_once_and_never_none():
    slots = AdaptiveSlots(64)
    for i in range(400):
        await take_and_release(slots, i % 5 == 0)
    assert slots.allowed == 64
    slots = AdaptiveSlots(64)
    await take_and_release(slots, True, 8)
    assert slots.allowed == 32
    await take_and_release(slots, True, 400)
    assert slots.allowed == 1
    await take_and_release(slots, False, 5000)
    assert slots.allowed == 64


async def test_refusals_halve_once_bind_what_is_in_flight_and_an_empty_account_slows_nothing():
    slots = AdaptiveSlots(64)
    marks = [await slots.acquire() for _ in range(64)]
    for mark in marks:
        slots.release(mark, LIMITED)
    assert slots.allowed == 32
    limits = Limits(LimitSettings(concurrency=16))
    slots = limits.at(HERE).slots
    await take_and_release(slots, True, 16)
    model = Counted()
    await asyncio.gather(*(LimitedModel(model, limits, UsageEstimate()).complete(REQUEST) for _ in range(4)))
    assert slots.allowed <= 5
    assert model.gauge["most"] <= 5
    spent = RateLimitedError("insufficient_quota")
    spent.retryable = False
    limits = Limits(LimitSettings(concurrency=16))
    model = LimitedModel(Counted(answer=spent), limits, UsageEstimate())
    await asyncio.gather(*(model.complete(REQUEST) for _ in range(40)), return_exceptions=True)
    assert limits.at(HERE).slots.allowed == 16


async def test_a_wait_for_a_rate_keeps_no_other_endpoint_and_when_cancelled_takes_nothing():
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


# Estimates err on the high side and learn.
def test_estimates_of_input_and_output_follow_what_was_seen_and_sent():
    assert characters(ask("1234", system="123456", schema=None)) == 10
    assert characters(ask("1234", system="123456")) == 1010
    assert UsageEstimate().of(ask(max_tokens=7)).output_tokens == 7
    assert UsageEstimate(lambda p: 4096).of(ask()).output_tokens == 4096
    estimate = UsageEstimate()
    assert estimate.of(ask()).output_tokens == 1024
    estimate.learn(ask(), Usage(10, 0, 0, 3000))
    estimate.learn(ask(), Usage(10, 0, 0, 5))
    assert estimate.of(ask()).output_tokens == 6000
    estimate, request = UsageEstimate(), ask("x" * 3000, schema=None, system="")
    assert estimate.of(request).input_tokens == 1016
    estimate.learn(request, Usage(6000, 0, 0, 1))
    assert estimate.of(request).input_tokens == 6016
    estimate.learn(request, Usage(10, 0, 0, 1))
    assert estimate.of(request).input_tokens == 6016
