"""Processes at one keeper, here two sets of places in one event loop."""

import asyncio
import time

from metajudge.errors import StoreError
from metajudge.providers.limit_book import LimitBook
from metajudge.providers.limits import LimitedModel, Limits, LimitSettings
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


async def test_calls_in_flight_are_bounded_over_both_processes_together():
    keeper, gauge = Keeper(), {"now": 0, "most": 0}
    both = models(keeper, LimitSettings(concurrency=3), gauge)
    await asyncio.gather(*(one.complete(REQUEST) for one in both * 10))
    assert gauge["most"] == 3
    assert not keeper.book.tickets, "every call gave its place back"


async def test_a_rate_is_one_for_both_processes():
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
