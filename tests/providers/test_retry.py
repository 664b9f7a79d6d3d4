"""What is tried again, how often, after which wait; on a clock that does not run."""

import asyncio
import random
from dataclasses import replace

import pytest

from metajudge.errors import (
    AuthError,
    BadReplyError,
    BadRequestError,
    BudgetExceeded,
    ConfigurationError,
    ConnectionFailedError,
    ContextTooLongError,
    ModelTimeoutError,
    NotFoundError,
    OverloadedError,
    RateLimitedError,
    RefusedError,
    ServerError,
)
from metajudge.providers.metering import TracedModel
from metajudge.providers.model import Endpoint, Message, ModelRequest
from metajudge.providers.negotiation import RenegotiatedError
from metajudge.providers.retry import RetryingModel, RetryPolicy, Standing
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Reply, Usage
from tests.doubles.model_requests import ask
from tests.doubles.waiting import Clock

REQUEST = ModelRequest("system", (Message("user", "question"),))


def retrying(script, clock=None, **policy):
    inner = ScriptedModel(script)
    clock = clock or Clock()
    model = RetryingModel(inner, RetryPolicy(**policy), rng=random.Random(0), clock=clock, sleep=clock.sleep)
    return model, inner, clock


@pytest.mark.parametrize(
    "error", [RateLimitedError, ModelTimeoutError, OverloadedError, ServerError, ConnectionFailedError, BadReplyError]
)
async def test_what_a_retry_may_cure_is_tried_again_and_every_request_is_counted(error):
    model, inner, clock = retrying([error("no"), error("no"), "yes"])
    reply = await model.complete(REQUEST)
    assert (reply.text, reply.attempts, len(inner.requests)) == ("yes", 3, 3)
    assert [request.attempt for request in inner.requests] == [1, 2, 3]
    assert 0.25 <= clock.waits[0] <= 0.5 <= clock.waits[1] <= 1.0


@pytest.mark.parametrize("error", [AuthError, NotFoundError, BadRequestError, ContextTooLongError, RefusedError])
async def test_what_a_retry_cannot_cure_is_never_tried_again(error):
    model, inner, clock = retrying([error("no"), "yes"])
    with pytest.raises(error) as raised:
        await model.complete(REQUEST)
    assert (len(inner.requests), clock.waits, raised.value.attempts) == (1, [], 1)
    assert str(raised.value) == "no"


async def test_no_retry_storm_attempts_and_time_are_bounded_and_the_message_says_how_many():
    model, inner, clock = retrying(lambda _: ServerError("broken"), attempts=6)
    with pytest.raises(ServerError, match=r"broken \(gave up after 6 attempts in") as raised:
        await model.complete(REQUEST)
    assert (len(inner.requests), raised.value.attempts) == (6, 6)
    assert all(later > earlier for earlier, later in zip(clock.waits, clock.waits[1:], strict=False))
    model, inner, clock = retrying(lambda _: ServerError("broken"), total_s=30.0)
    with pytest.raises(ServerError):
        await model.complete(REQUEST)
    assert 10.0 < clock.now <= 30.0  # until the time is up, and not until a number of attempts
    assert len(inner.requests) < 12


async def test_a_useless_answer_is_bought_three_times_and_no_connection_is_tried_three_times():
    for error in (BadReplyError("empty", usage=Usage(1, 0, 0, 3_000)), ConnectionFailedError("refused", sent=False)):
        model, inner, _ = retrying(lambda _, error=error: error)
        with pytest.raises(type(error)):
            await model.complete(REQUEST)
        assert len(inner.requests) == 3


async def test_retry_after_is_honoured_never_undercut_no_storm_at_zero_and_given_up_beyond_the_time():
    model, _, clock = retrying([RateLimitedError("slow down", retry_after=7.0), "yes"])
    await model.complete(REQUEST)
    assert 7.0 <= clock.waits[0] <= 7.0 * 1.25
    model, inner, clock = retrying([RateLimitedError("slow down", retry_after=3600.0)])
    with pytest.raises(RateLimitedError, match=r"1 attempt in .* asks for 3600 s"):
        await model.complete(REQUEST)
    assert (len(inner.requests), clock.waits) == (1, [])
    model, _, clock = retrying(lambda _: RateLimitedError("slow down", retry_after=0.0))
    with pytest.raises(RateLimitedError):
        await model.complete(REQUEST)
    assert sum(clock.waits) > 5


async def test_requests_not_sent_are_not_counted_and_finding_out_uses_up_no_attempt():
    model, _, _ = retrying([ConnectionFailedError("down", sent=False), "yes"])
    assert (await model.complete(REQUEST)).attempts == 1
    model, inner, clock = retrying([RenegotiatedError("no schema"), RenegotiatedError("no object"), "yes"], attempts=1)
    assert (await model.complete(REQUEST)).attempts == 3
    assert (len(inner.requests), clock.waits) == (3, [])


def other(n):
    return ModelRequest("system", (Message("user", f"question {n}"),))


@pytest.mark.parametrize("error", [AuthError, NotFoundError, BadRequestError])
async def test_what_every_call_meets_is_asked_a_few_times_in_all(error):
    model, inner, clock = retrying(lambda _: error("wrong"))
    found = await asyncio.gather(*(model.complete(other(n)) for n in range(700)), return_exceptions=True)
    assert len(inner.requests) == 4
    assert all(isinstance(one, error) for one in found)
    assert (found[-1].sent, found[-1].attempts) == (False, 0)
    assert "not sent, because 4 different requests failed, none succeeded since" in str(found[-1])
    clock.now += 31
    with pytest.raises(error):
        await model.complete(other(701))
    assert len(inner.requests) == 5


@pytest.mark.parametrize("error", [AuthError, NotFoundError, BadRequestError, RefusedError, ContextTooLongError])
@pytest.mark.parametrize("together", [1, 64])
async def test_one_items_failure_never_holds_another(error, together):
    flagged = {f"question {n}" for n in (0, 1, 2, 3, 4, 50, 51, 52, 53, 54, 99)}  # the first ones in a row, too
    model, inner, _ = retrying(lambda one: error("no") if one.messages[0].text in flagged else "yes")
    places, found = asyncio.Semaphore(together), {}

    async def one(n):
        async with places:
            found[n] = (await asyncio.gather(model.complete(other(n)), return_exceptions=True))[0]

    await asyncio.gather(*(one(n) for n in (6, *range(100))))
    failed = {n for n, end in found.items() if isinstance(end, Exception)}
    assert failed == {0, 1, 2, 3, 4, 50, 51, 52, 53, 54, 99}
    assert len(inner.requests) >= 100  # none was kept from being sent


async def test_draws_of_one_request_are_no_evidence_about_another():
    model, inner, _ = retrying(lambda one: AuthError("no") if one.messages[0].text == "question 0" else "yes")
    draws = [replace(other(0), draw=draw) for draw in range(20)]
    await asyncio.gather(*map(model.complete, draws), return_exceptions=True)
    assert len(inner.requests) == 20
    assert (await model.complete(other(1))).text == "yes"


async def test_an_empty_account_and_a_dead_server_hold_off_further_calls_at_once():
    spent = RateLimitedError("insufficient_quota")
    spent.retryable, spent.tells = False, "all"
    model, inner, _ = retrying(lambda _: spent)
    for n in range(3):
        with pytest.raises(RateLimitedError):
            await model.complete(other(n))
    assert len(inner.requests) == 1
    model, inner, _ = retrying(lambda _: ConnectionFailedError("refused", sent=False))
    for n in range(3):
        with pytest.raises(ConnectionFailedError):
            await model.complete(other(n))
    assert len(inner.requests) == 3


async def test_a_call_cut_after_connecting_holds_nothing_off_and_a_spent_budget_is_never_retried():
    model, inner, _ = retrying(lambda _: ConnectionFailedError("cut"))
    for _ in range(2):
        with pytest.raises(ConnectionFailedError):
            await model.complete(REQUEST)
    assert len(inner.requests) > 12
    model, inner, clock = retrying([BudgetExceeded("spent"), "yes"])
    with pytest.raises(BudgetExceeded):
        await model.complete(REQUEST)
    assert (len(inner.requests), clock.waits) == (1, [])


# The public model for tests complains when its script ends; calls carry their key through wrappers.
async def test_an_exhausted_script_is_an_error_and_never_an_empty_answer():
    model = ScriptedModel(["only"])
    await model.complete(ask())
    with pytest.raises(ConfigurationError, match="asked 2 times, but its script has only 1 answers"):
        await model.complete(ask())


async def test_no_span_is_made_where_only_the_package_was_imported(monkeypatch):
    trace = pytest.importorskip("opentelemetry.trace")
    for kind in (trace.ProxyTracer, trace.NoOpTracer):
        monkeypatch.setattr(kind, "start_as_current_span", None)  # a call would fail
    for provider in (trace.ProxyTracerProvider(), trace.NoOpTracerProvider()):
        monkeypatch.setattr(trace, "get_tracer_provider", lambda provider=provider: provider)
        assert (await TracedModel(ScriptedModel(["text"])).complete(ask())).text == "text"


async def test_first_calls_wait_briefly_for_the_first_of_them_and_a_slow_answer_or_a_cancelled_one_holds_none():
    gate = asyncio.Event()

    class Slow:
        name, endpoint, sent = "m", Endpoint("openai", "http://host/v1"), 0

        async def complete(self, request):
            self.sent += 1
            await gate.wait()
            return Reply("yes", "stop", "m")

    inner = Slow()
    model = RetryingModel(inner, standing=Standing(grace_s=0.05))
    calls = [asyncio.create_task(model.complete(other(n))) for n in range(20)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert inner.sent == 1
    calls[0].cancel()
    await asyncio.sleep(0.3)
    assert inner.sent == 20
    gate.set()
    assert len(await asyncio.gather(*calls[1:])) == 19
