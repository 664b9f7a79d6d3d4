"""The books: every HTTP request counted, priced and recorded, exactly once."""

import asyncio
from dataclasses import replace

import pytest

from metajudge.errors import (
    BadReplyError,
    BudgetExceeded,
    ConnectionFailedError,
    FailureKind,
    ModelTimeoutError,
    ServerError,
)
from metajudge.providers.metering import Meter, MeteredModel
from metajudge.providers.model import Endpoint, Message, ModelRequest, OutputSchema, Parameters, request_key
from metajudge.providers.notices import Notices
from metajudge.providers.prices import FlatPrice
from metajudge.providers.retry import RetryingModel, RetryPolicy
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.stack import CachedModel
from metajudge.types import Reply, Usage
from tests.doubles.model_requests import FakeTime, MemoryLedger, ask

PRICE = FlatPrice.of(1.0, 2.0)
USUAL = Usage(1000, 0, 0, 100)


def metered(*answers, price=PRICE, **options):
    meter, ledger, notices = Meter(), MemoryLedger(), Notices()
    model = MeteredModel(
        ScriptedModel(list(answers)),
        meter=meter,
        find_price=lambda: price,
        ledger=ledger,
        run_id="run-1",
        notices=notices,
        **options,
    )
    return model, meter, ledger, notices


def answer(usage=USUAL):
    return Reply("text", "stop", "m-1", usage)


async def test_a_reply_is_counted_priced_and_recorded():
    model, meter, ledger, notices = metered(answer(), answer())
    reply = await model.complete(ask())
    await model.complete(ask("another"))
    assert reply.cost_usd == pytest.approx(0.0012)
    assert (meter.sent, meter.replies, meter.unpriced) == (2, 2, 0)
    assert meter.usage == Usage(2000, 0, 0, 200)
    assert meter.cost_usd == pytest.approx(0.0024)
    call = ledger.calls[0]
    assert call.key == request_key(model, ask())
    assert (call.status, call.reply_text, call.reply_model, call.http_status) == ("ok", "text", "m-1", 200)
    assert (call.run_id, call.attempt, call.cost_usd, call.usage) == ("run-1", 1, reply.cost_usd, reply.usage)
    assert notices.lines == ()


async def test_every_attempt_is_recorded_under_one_key_and_what_never_left_is_not_counted_as_sent():
    model, meter, ledger, _ = metered(ServerError("HTTP 500", status=500), ConnectionFailedError("cut"), answer())
    time = FakeTime()
    await RetryingModel(model, RetryPolicy(), sleep=time.sleep).complete(ask())
    kinds = [(1, "failed", 500), (2, "failed", None), (3, "ok", 200)]
    assert [(c.attempt, c.status, c.http_status) for c in ledger.calls] == kinds
    assert [c.failure_kind for c in ledger.calls] == [FailureKind.SERVER_ERROR, FailureKind.CONNECTION, None]
    assert ledger.calls[0].failure_message == "HTTP 500"
    assert len({c.key for c in ledger.calls}) == 1
    assert meter.sent == 3
    assert meter.failures == {FailureKind.SERVER_ERROR: 1, FailureKind.CONNECTION: 1}
    model, meter, ledger, _ = metered(ConnectionFailedError("refused", sent=False))
    with pytest.raises(ConnectionFailedError):
        await model.complete(ask())
    assert (meter.sent, meter.failures[FailureKind.CONNECTION], ledger.calls) == (0, 1, [])


async def test_a_cancelled_call_is_counted_and_recorded_because_it_may_be_billed():
    class Endless(ScriptedModel):
        async def complete(self, request):
            await asyncio.sleep(60)

    meter, ledger = Meter(), MemoryLedger()
    model = MeteredModel(Endless([]), meter=meter, ledger=ledger)
    task = asyncio.create_task(model.complete(ask()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (meter.sent, meter.replies) == (1, 0)
    assert (ledger.calls[0].status, ledger.calls[0].failure_kind) == ("failed", FailureKind.INTERRUPTED)


async def test_missing_usage_and_an_unknown_price_are_said_once_and_never_priced_as_nothing():
    model, meter, _, notices = metered(answer(None), answer(None))
    replies = [await model.complete(ask()) for _ in range(2)]
    assert [reply.cost_usd for reply in replies] == [None, None]
    assert meter.unpriced == 2
    assert len(notices.lines) == 1
    assert "reports no usage" in notices.lines[0]
    model, meter, _, notices = metered(answer(), answer(), price=None)
    for _ in range(2):
        assert (await model.complete(ask())).cost_usd is None
    assert meter.unpriced == 2
    assert len(notices.lines) == 1
    assert "give the agent a price" in notices.lines[0]


class TestUselessAnswers:
    """Answers that nobody can use, and that were billed all the same."""

    async def test_their_tokens_and_cost_are_counted_and_recorded(self):
        model, meter, ledger, _ = metered(BadReplyError("empty", status=200, usage=USUAL))
        with pytest.raises(BadReplyError) as failed:
            await model.complete(ask())
        assert failed.value.cost_usd == pytest.approx(0.0012)
        assert (meter.sent, meter.replies, meter.usage, meter.cost_usd) == (1, 0, USUAL, pytest.approx(0.0012))
        assert (ledger.calls[0].status, ledger.calls[0].usage) == ("failed", USUAL)
        assert ledger.calls[0].cost_usd == pytest.approx(0.0012)

    async def test_without_a_price_the_cost_is_unknown_and_without_usage_an_error_costs_nothing(self):
        model, meter, ledger, notices = metered(BadReplyError("empty", status=200, usage=USUAL), price=None)
        with pytest.raises(BadReplyError) as failed:
            await model.complete(ask())
        assert (failed.value.cost_usd, meter.unpriced, ledger.calls[0].cost_usd) == (None, 1, None)
        assert "price of scripted" in notices.lines[0]
        model, meter, _, notices = metered(ServerError("HTTP 500", status=500))
        with pytest.raises(ServerError) as failed:
            await model.complete(ask())
        assert (failed.value.cost_usd, failed.value.usage, meter.cost_usd, meter.unpriced) == (0.0, None, 0.0, 0)
        assert notices.lines == ()

    async def test_what_may_have_been_billed_without_a_report_makes_the_cost_unknown(self):
        for error in (ModelTimeoutError("late"), ConnectionFailedError("cut"), BadReplyError("no JSON", status=200)):
            model, meter, ledger, _ = metered(error)
            with pytest.raises(type(error)) as failed:
                await model.complete(ask())
            assert (failed.value.cost_usd, meter.unpriced, ledger.calls[0].cost_usd) == (None, 1, None)
        model, meter, _, _ = metered(ConnectionFailedError("refused", sent=False))
        with pytest.raises(ConnectionFailedError) as failed:
            await model.complete(ask())
        assert (failed.value.cost_usd, meter.unpriced) == (0.0, 0)

    async def test_the_reply_or_the_error_in_the_end_carries_what_all_attempts_took(self):
        model, meter, _, _ = metered(BadReplyError("empty", usage=USUAL), ServerError("HTTP 500", status=500), answer())
        reply = await RetryingModel(model, RetryPolicy(), sleep=FakeTime().sleep).complete(ask())
        assert (reply.attempts, reply.usage) == (3, USUAL + USUAL)
        assert reply.cost_usd == pytest.approx(0.0024) == pytest.approx(meter.cost_usd)
        model, meter, _, _ = metered(*[BadReplyError("empty", usage=USUAL) for _ in range(3)])
        with pytest.raises(BadReplyError) as failed:
            await RetryingModel(model, RetryPolicy(attempts=3), sleep=FakeTime().sleep).complete(ask())
        assert (failed.value.attempts, failed.value.usage) == (3, USUAL + USUAL + USUAL)
        assert failed.value.cost_usd == pytest.approx(0.0036) == pytest.approx(meter.cost_usd)


# Stored replies, and one request for identical calls in flight.
REQUEST = ModelRequest("system", (Message("user", "question"),))


class SlowModel(ScriptedModel):
    """Answers only when told to."""

    def __init__(self, script):
        super().__init__(script)
        self.gate = asyncio.Event()

    async def complete(self, request):
        self.requests.append(request)
        await self.gate.wait()
        self.requests.pop()
        return await super().complete(request)


class MemoryCache:
    def __init__(self, **replies):
        self.replies = replies
        self.looked_up = []

    async def find_reply(self, key):
        self.looked_up.append(key)
        return self.replies.get(key)


async def test_a_stored_reply_is_not_asked_for_again_but_a_fresh_request_is_asked():
    inner = ScriptedModel([])
    stored = Reply("stored", "stop", "m", attempts=0, cached=True)
    cache = MemoryCache(**{request_key(inner, REQUEST): stored})
    assert await CachedModel(inner, cache).complete(REQUEST) is stored
    assert inner.requests == []
    inner = ScriptedModel(["new"])
    cache = MemoryCache(**{request_key(inner, REQUEST): Reply("stored", "stop", "m", cached=True)})
    assert (await CachedModel(inner, cache).complete(replace(REQUEST, fresh=True))).text == "new"
    assert cache.looked_up == []


async def test_identical_calls_in_flight_are_one_request_and_the_others_count_as_cached():
    inner = SlowModel(["one"])
    model = CachedModel(inner, None)
    calls = [asyncio.create_task(model.complete(REQUEST)) for _ in range(10)]
    await asyncio.sleep(0)
    inner.gate.set()
    replies = await asyncio.gather(*calls)
    assert len(inner.requests) == 1
    assert {reply.text for reply in replies} == {"one"}
    assert sorted(reply.cached for reply in replies) == [False] + [True] * 9
    assert sum(reply.attempts for reply in replies) == 1


async def test_a_failure_is_shared_but_its_requests_are_counted_once():
    failed = ServerError("broken")
    failed.attempts = 6
    inner = SlowModel([failed])
    model = CachedModel(inner, None)
    calls = [asyncio.create_task(model.complete(REQUEST)) for _ in range(3)]
    await asyncio.sleep(0)
    inner.gate.set()
    errors = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(error) for error in errors] == [ServerError] * 3
    assert sum(error.attempts for error in errors) == 6
    assert [error.sent for error in errors] == [True, False, False]


@pytest.mark.parametrize("cancelled", [0, 1], ids=["the first call", "a waiter"])
async def test_a_cancelled_call_disturbs_no_other(cancelled):
    inner = SlowModel(["one", "two"])
    model = CachedModel(inner, None)
    calls = []
    for _ in range(2):
        calls.append(asyncio.create_task(model.complete(REQUEST)))
        await asyncio.sleep(0)
    calls[cancelled].cancel()
    with pytest.raises(asyncio.CancelledError):
        await calls[cancelled]
    inner.gate.set()
    reply = await calls[1 - cancelled]
    assert (reply.text, reply.cached) == ("one", False)


async def test_a_spent_budget_is_shared_as_what_it_is():
    inner = SlowModel([BudgetExceeded("spent")])
    model = CachedModel(inner, None)
    calls = [asyncio.create_task(model.complete(REQUEST)) for _ in range(3)]
    await asyncio.sleep(0)
    inner.gate.set()
    assert [type(e) for e in await asyncio.gather(*calls, return_exceptions=True)] == [BudgetExceeded] * 3


def test_whatever_changes_the_answer_changes_the_key_and_a_time_out_does_not():
    model = ScriptedModel([])
    schema = OutputSchema("scores", {"type": "object"})
    other = ScriptedModel([], endpoint=Endpoint("openai", "http://elsewhere/v1"))
    keys = [
        request_key(model, REQUEST),
        request_key(other, REQUEST),
        request_key(ScriptedModel([], name="another"), REQUEST),
        request_key(model, replace(REQUEST, draw=1)),
        request_key(model, replace(REQUEST, schema=schema)),
        request_key(model, replace(REQUEST, schema=OutputSchema("scores", {"type": "array"}))),
        request_key(model, replace(REQUEST, system="another")),
        request_key(model, replace(REQUEST, parameters=Parameters(seed=1))),
        request_key(model, replace(REQUEST, parameters=Parameters(headers=(("x-beta", "1"),)))),
    ]
    assert len(set(keys)) == len(keys)
    assert request_key(model, replace(REQUEST, parameters=Parameters(timeout_s=5))) == keys[0]


async def test_what_a_shared_failure_took_is_counted_once():
    inner = SlowModel([BadReplyError("empty", usage=Usage(10, 0, 0, 5))])
    model = CachedModel(inner, None)
    calls = [asyncio.create_task(model.complete(REQUEST)) for _ in range(2)]
    await asyncio.sleep(0)
    inner.gate.set()
    first, second = await asyncio.gather(*calls, return_exceptions=True)
    assert (first.usage, first.sent) == (Usage(10, 0, 0, 5), True)
    assert (second.usage, second.cost_usd, second.sent) == (None, 0.0, False)
