"""What calls may do together: in one loop, of several processes, and by a keeper."""

import asyncio
import json
import time

import pytest

from metajudge.errors import StoreError
from metajudge.providers.limit_book import Ask, Bucket, LimitBook
from metajudge.providers.limits import AdaptiveSlots, LimitedModel, Limits, LimitSettings
from metajudge.providers.model import Endpoint, Message, ModelRequest
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.usage_estimate import UsageEstimate

REQUEST = ModelRequest("s", (Message("user", "q"),))
HERE = Endpoint("openai", "http://here/v1")


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


class Gauge(ScriptedModel):
    def __init__(self, gauge, answer="fine"):
        super().__init__(lambda _: answer, endpoint=HERE)
        self.gauge = gauge

    async def complete(self, request):
        self.gauge["now"] += 1
        self.gauge["most"] = max(self.gauge["most"], self.gauge["now"])
        await asyncio.sleep(0.001)
        self.gauge["now"] -= 1
        return await super().complete(request)


def models(keeper, settings, gauge):
    """One model of each of two processes."""
    return [LimitedModel(Gauge(gauge), Limits(settings, keeper=keeper), UsageEstimate()) for _ in range(2)]


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
