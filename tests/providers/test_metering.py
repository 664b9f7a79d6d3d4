"""The books: every HTTP request counted, priced and recorded, exactly once."""

import asyncio

import pytest

from metajudge.errors import BadReplyError, ConnectionFailedError, FailureKind, ServerError
from metajudge.providers.metering import Meter, MeteredModel
from metajudge.providers.model import request_key
from metajudge.providers.notices import Notices
from metajudge.providers.prices import FlatPrice
from metajudge.providers.retry import RetryingModel, RetryPolicy
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Reply, Usage
from tests.doubles.model_requests import FakeTime, MemoryLedger, ask

PRICE = FlatPrice.of(1.0, 2.0)
USUAL = Usage(1000, 0, 0, 100)


def metered(*answers, price=PRICE, **options):
    meter, ledger, notices = Meter(), MemoryLedger(), Notices()
    model = MeteredModel(
        ScriptedModel(list(answers)),
        meters=(meter,),
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


async def test_every_attempt_of_a_retried_call_is_recorded_under_one_key():
    model, meter, ledger, _ = metered(ServerError("HTTP 500", status=500), ConnectionFailedError("cut"), answer())
    time = FakeTime()
    await RetryingModel(model, RetryPolicy(), sleep=time.sleep).complete(ask())
    assert [(c.attempt, c.status, c.http_status) for c in ledger.calls] == [
        (1, "failed", 500),
        (2, "failed", None),
        (3, "ok", 200),
    ]
    assert [c.failure_kind for c in ledger.calls] == [FailureKind.SERVER_ERROR, FailureKind.CONNECTION, None]
    assert ledger.calls[0].failure_message == "HTTP 500"
    assert len({c.key for c in ledger.calls}) == 1
    assert meter.sent == 3
    assert meter.failures == {FailureKind.SERVER_ERROR: 1, FailureKind.CONNECTION: 1}


async def test_what_never_left_is_shown_as_a_failure_but_not_counted_as_sent():
    model, meter, ledger, _ = metered(ConnectionFailedError("refused", sent=False))
    with pytest.raises(ConnectionFailedError):
        await model.complete(ask())
    assert (meter.sent, meter.failures[FailureKind.CONNECTION], ledger.calls) == (0, 1, [])


async def test_a_cancelled_call_is_counted_and_recorded_because_it_may_be_billed():
    class Endless(ScriptedModel):
        async def complete(self, request):
            await asyncio.sleep(60)

    meter, ledger = Meter(), MemoryLedger()
    model = MeteredModel(Endless([]), meters=(meter,), ledger=ledger)
    task = asyncio.create_task(model.complete(ask()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (meter.sent, meter.replies) == (1, 0)
    assert (ledger.calls[0].status, ledger.calls[0].failure_kind) == ("failed", FailureKind.INTERRUPTED)


async def test_missing_usage_is_said_once_and_never_priced_as_nothing():
    model, meter, _, notices = metered(answer(None), answer(None))
    replies = [await model.complete(ask()) for _ in range(2)]
    assert [reply.cost_usd for reply in replies] == [None, None]
    assert meter.unpriced == 2
    assert len(notices.lines) == 1
    assert "reports no usage" in notices.lines[0]


async def test_an_unknown_price_is_said_once():
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

    async def test_without_a_price_the_cost_is_unknown_and_said_not_zero(self):
        model, meter, ledger, notices = metered(BadReplyError("empty", status=200, usage=USUAL), price=None)
        with pytest.raises(BadReplyError) as failed:
            await model.complete(ask())
        assert (failed.value.cost_usd, meter.unpriced, ledger.calls[0].cost_usd) == (None, 1, None)
        assert "price of scripted" in notices.lines[0]

    async def test_an_error_that_reports_no_usage_costs_nothing(self):
        model, meter, _, notices = metered(ServerError("HTTP 500", status=500))
        with pytest.raises(ServerError) as failed:
            await model.complete(ask())
        assert (failed.value.cost_usd, failed.value.usage, meter.cost_usd, meter.unpriced) == (0.0, None, 0.0, 0)
        assert notices.lines == ()

    async def test_the_reply_after_them_carries_what_they_took(self):
        model, meter, _, _ = metered(BadReplyError("empty", usage=USUAL), ServerError("HTTP 500"), answer())
        reply = await RetryingModel(model, RetryPolicy(), sleep=FakeTime().sleep).complete(ask())
        assert (reply.attempts, reply.usage) == (3, USUAL + USUAL)
        assert reply.cost_usd == pytest.approx(0.0024) == pytest.approx(meter.cost_usd)

    async def test_a_call_given_up_carries_what_all_its_attempts_took(self):
        model, meter, _, _ = metered(*[BadReplyError("empty", usage=USUAL) for _ in range(3)])
        with pytest.raises(BadReplyError) as failed:
            await RetryingModel(model, RetryPolicy(attempts=3), sleep=FakeTime().sleep).complete(ask())
        assert (failed.value.attempts, failed.value.usage) == (3, USUAL + USUAL + USUAL)
        assert failed.value.cost_usd == pytest.approx(0.0036) == pytest.approx(meter.cost_usd)
