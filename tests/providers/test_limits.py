"""Concurrency and rates: what calls may do together, in one loop and of several processes, and what a keeper says."""

import asyncio
import json
import time
from dataclasses import replace

import pytest

from metajudge.errors import (
    ConfigurationError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
    ServerError,
    StoreError,
)
from metajudge.providers.limit_book import Ask, Bucket, LimitBook
from metajudge.providers.limits import AdaptiveSlots, LimitedModel, Limits, LimitSettings
from metajudge.providers.model import Endpoint, Message, ModelRequest
from metajudge.providers.prices import UsageEstimate, characters
from metajudge.providers.retry import RetryingModel
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Usage
from tests.doubles.model_requests import ask

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


async def test_waiters_for_a_rate_start_in_order_of_arrival():
    order, limits = [], Limits(LimitSettings(requests_per_minute=60_000))
    model = LimitedModel(ScriptedModel(lambda request: order.append(request.draw) or "fine"), limits, UsageEstimate())
    await asyncio.gather(*(model.complete(replace(REQUEST, draw=i)) for i in range(20)))
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


# Of several processes.
class Keeper:
    """A book in this process."""

    def __init__(self):
        self.book, self.asked = LimitBook(), 0

    async def enter(self, ticket, ask):
        self.asked += 1
        return self.book.enter(ticket, ask, time.monotonic())

    async def leave(self, ticket, ask, units):
        self.book.leave(ticket, ask, units)

    async def renew(self, tickets):
        self.book.renew(tickets, time.monotonic())


def models(keeper, settings, gauge):
    """One model of each of two processes."""
    return [LimitedModel(Counted(gauge=gauge), Limits(settings, keeper=keeper), UsageEstimate()) for _ in range(2)]


async def test_calls_in_flight_and_a_rate_are_bounded_over_both_processes_together():
    keeper, gauge = Keeper(), {"now": 0, "most": 0}
    both = models(keeper, LimitSettings(concurrency=3), gauge)
    await asyncio.gather(*(one.complete(REQUEST) for one in both * 10))
    assert gauge["most"] == 3
    assert not keeper.book.tickets, "every call gave its place back"
    keeper, gauge = Keeper(), {"now": 0, "most": 0}
    both = models(keeper, LimitSettings(requests_per_minute=6000, tokens_per_minute=600_000), gauge)
    await asyncio.gather(*(one.complete(REQUEST) for one in both * 5))
    rates = keeper.book.paid[str(HERE)]
    before = time.monotonic()
    assert rates["requests"] - before <= 10 * 60 / 6000
    assert keeper.asked == 10
    assert rates.keys() == {"requests", "tokens"}


async def test_a_call_that_is_cancelled_while_it_waits_leaves_nothing_behind():
    keeper, gauge = Keeper(), {"now": 0, "most": 0}
    one, other = models(keeper, LimitSettings(concurrency=1), gauge)
    running = asyncio.create_task(one.complete(REQUEST))
    waiting = asyncio.create_task(other.complete(REQUEST))
    for _ in range(5):
        await asyncio.sleep(0)
    assert keeper.book.tickets
    waiting.cancel()
    await asyncio.gather(running, waiting, return_exceptions=True)
    assert not keeper.book.tickets
    assert (await other.complete(REQUEST)).text == "fine"


async def test_nothing_is_sent_where_the_keeper_cannot_be_asked():
    class Gone(Keeper):
        async def enter(self, ticket, ask):
            raise StoreError("gone")

    gauge = {"now": 0, "most": 0}
    found = await asyncio.gather(
        *(one.complete(REQUEST) for one in models(Gone(), LimitSettings(), gauge)), return_exceptions=True
    )
    assert [str(one) for one in found] == ["gone", "gone"]
    assert gauge["most"] == 0


# What calls of several processes may do together, by a clock of the test's own.
def test_calls_of_all_processes_count_together_and_those_of_a_dead_one_are_free_after_the_lease():
    book = LimitBook()
    here, there = Ask(endpoint="here", in_flight=3, here=2), Ask(endpoint="there", in_flight=3)
    assert [book.enter(name, here, 0.0) for name in "abc"] == [0.0, 0.0, None]
    assert [book.enter(name, there, 0.0) for name in "de"] == [0.0, None]
    book.leave("a", here, 0)
    assert book.enter("e", there, 0.0) == 0.0
    assert book.enter("c", here, 0.0) is None
    book, ask = LimitBook(), Ask(endpoint="here", in_flight=2)
    assert [book.enter(name, ask, 0.0, lease_s=10) for name in ("dead", "alive")] == [0.0, 0.0]
    book.renew(["alive"], 8.0, lease_s=10)
    assert book.enter("next", ask, 9.9) is None
    assert book.enter("next", ask, 10.0) == 0.0
    assert book.enter("another", ask, 10.0) is None, "the one that renewed is in flight still"


def test_a_question_asked_twice_takes_one_place_and_one_that_waits_books_nothing():
    book, ask = LimitBook(), Ask(endpoint="here", in_flight=2, requests_per_minute=60)
    assert [book.enter("a", ask, 0.0), book.enter("a", ask, 0.0)] == [0.0, 0.0]
    assert book.enter("b", ask, 0.5) == pytest.approx(0.5)
    assert book.enter("b", ask, 1.0) == 0.0
    book = LimitBook()
    ask = Ask(endpoint="here", in_flight=9, tokens=100, requests_per_minute=600, tokens_per_minute=6000)
    assert book.enter("a", ask, 0.0) == 0.0
    assert book.enter("b", ask, 0.2) == 0.0, "a second's worth of tokens may start at once"
    assert book.enter("c", ask, 0.2) == pytest.approx(0.81)
    assert book.enter("c", ask, 0.2) == pytest.approx(0.81), "asking again costs nothing"
    book.leave("b", ask, -80)
    assert book.enter("c", ask, 0.3) == 0.0


def test_a_call_whose_ticket_expired_corrects_nothing_and_the_book_survives_json():
    book, ask = LimitBook(), Ask(endpoint="here", in_flight=9, tokens=10, tokens_per_minute=600)
    book.enter("a", ask, 0.0)
    before = book.to_json()["paid"]["here"]["tokens"]
    book.leave("a", ask, 5)
    book.leave("a", ask, 5)
    assert book.to_json()["paid"]["here"]["tokens"] == pytest.approx(before + 0.5)
    book, ask = LimitBook(), Ask(endpoint="here", in_flight=2, requests_per_minute=30)
    book.enter("a", ask, 5.0)
    assert LimitBook.from_json(json.loads(json.dumps(book.to_json()))) == book


def test_a_call_larger_than_the_burst_is_paid_for_by_the_next_and_a_wrong_estimate_corrected():
    assert Bucket(600).take(100, 100.0).wait(100.0) == pytest.approx(10 - 0.9)
    assert Bucket(600).take(100, 100.0).correct(-90).wait(100.0) == pytest.approx(0.1)
    assert [Bucket(60, 100.0).wait(now) for now in (100.0, 100.75)] == [0.0, -0.75], "a second's worth at once"


@pytest.mark.parametrize("burst_s", [1.0, 60.0])
def test_over_any_stretch_a_bucket_lets_through_its_rate_and_one_burst(burst_s):
    bucket, now, started = Bucket(120, burst_s=burst_s), 0.0, []
    while now < 300:
        wait = bucket.wait(now)
        if wait <= 0:
            bucket = bucket.take(1, now)
            started.append(now)
        else:
            now += wait
    for start in (0, 90, 200):
        within = sum(start <= at < start + 60 for at in started)
        assert within <= 120 + 2 * burst_s + 1
    assert len(started) >= 600 - 1


# The semaphore that shrinks while a provider answers that it is asked too much.
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


async def test_unanswered_calls_teach_nothing_and_a_cancelled_wait_loses_no_slot():
    slots = AdaptiveSlots(4)
    await used(slots, [None] * 100)
    assert slots.allowed == 4
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
