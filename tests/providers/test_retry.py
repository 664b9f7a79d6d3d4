"""What is tried again, how often, after which wait; on a clock that does not run."""

import random

import pytest

from metajudge.errors import (
    AuthError,
    BadReplyError,
    BadRequestError,
    BudgetExceeded,
    ConnectionFailedError,
    ContextTooLongError,
    ModelTimeoutError,
    NotFoundError,
    OverloadedError,
    RateLimitedError,
    RefusedError,
    ServerError,
)
from metajudge.providers.model import Message, ModelRequest
from metajudge.providers.negotiation import RenegotiatedError
from metajudge.providers.retry import RetryingModel, RetryPolicy
from metajudge.providers.scripted import ScriptedModel
from tests.doubles.waiting import Clock

REQUEST = ModelRequest("system", (Message("user", "question"),))


def retrying(script, clock=None, **policy):
    inner = ScriptedModel(script)
    clock = clock or Clock()
    model = RetryingModel(inner, RetryPolicy(**policy), rng=random.Random(0), clock=clock, sleep=clock.sleep)
    return model, inner, clock


@pytest.mark.parametrize(
    "error",
    [RateLimitedError, ModelTimeoutError, OverloadedError, ServerError, ConnectionFailedError, BadReplyError],
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


async def test_no_retry_storm_attempts_are_bounded_and_the_message_says_how_many():
    model, inner, clock = retrying(lambda _: ServerError("broken"))
    with pytest.raises(ServerError, match=r"broken \(gave up after 6 attempts in") as raised:
        await model.complete(REQUEST)
    assert (len(inner.requests), raised.value.attempts) == (6, 6)
    assert all(later > earlier for earlier, later in zip(clock.waits, clock.waits[1:], strict=False))


async def test_time_is_bounded_too():
    model, inner, clock = retrying(lambda _: ServerError("broken"), attempts=1000, total_s=30.0)
    with pytest.raises(ServerError):
        await model.complete(REQUEST)
    assert clock.now <= 30.0
    assert len(inner.requests) < 12


async def test_retry_after_is_honoured_and_never_undercut():
    model, _, clock = retrying([RateLimitedError("slow down", retry_after=7.0), "yes"])
    await model.complete(REQUEST)
    assert 7.0 <= clock.waits[0] <= 7.0 * 1.25


async def test_a_retry_after_beyond_the_time_allowed_gives_up_at_once_and_says_so():
    model, inner, clock = retrying([RateLimitedError("slow down", retry_after=3600.0)])
    with pytest.raises(RateLimitedError, match=r"1 attempt in .* asks for 3600 s"):
        await model.complete(REQUEST)
    assert (len(inner.requests), clock.waits) == (1, [])


async def test_a_retry_after_of_zero_does_not_become_a_storm():
    model, _, clock = retrying(lambda _: RateLimitedError("slow down", retry_after=0.0))
    with pytest.raises(RateLimitedError):
        await model.complete(REQUEST)
    assert sum(clock.waits) > 5


async def test_requests_that_were_not_sent_are_not_counted():
    model, _, _ = retrying([ConnectionFailedError("down", sent=False), "yes"])
    assert (await model.complete(REQUEST)).attempts == 1


async def test_finding_out_what_a_server_supports_counts_as_requests_but_uses_up_no_attempt():
    model, inner, clock = retrying([RenegotiatedError("no schema"), RenegotiatedError("no object"), "yes"], attempts=1)
    assert (await model.complete(REQUEST)).attempts == 3
    assert (len(inner.requests), clock.waits) == (3, [])


@pytest.mark.parametrize("error", [AuthError, NotFoundError])
async def test_a_wrong_key_does_not_cost_seven_hundred_requests(error):
    model, inner, clock = retrying(lambda _: error("wrong"))
    for _ in range(700):
        with pytest.raises(error) as raised:
            await model.complete(REQUEST)
    assert len(inner.requests) == 1
    assert (raised.value.sent, raised.value.attempts) == (False, 0)
    assert "not sent" in str(raised.value)
    assert "wrong" in str(raised.value)
    clock.now += 31
    with pytest.raises(error):
        await model.complete(REQUEST)
    assert len(inner.requests) == 2


async def test_an_empty_account_and_a_dead_server_hold_off_further_calls_too():
    spent = RateLimitedError("insufficient_quota")
    spent.retryable = False
    model, inner, _ = retrying(lambda _: spent)
    for _ in range(3):
        with pytest.raises(RateLimitedError):
            await model.complete(REQUEST)
    assert len(inner.requests) == 1
    model, inner, _ = retrying(lambda _: ConnectionFailedError("refused", sent=False))
    for _ in range(3):
        with pytest.raises(ConnectionFailedError):
            await model.complete(REQUEST)
    assert len(inner.requests) == 6


async def test_a_call_that_was_cut_after_connecting_holds_nothing_off():
    model, inner, _ = retrying(lambda _: ConnectionFailedError("cut"))
    for _ in range(2):
        with pytest.raises(ConnectionFailedError):
            await model.complete(REQUEST)
    assert len(inner.requests) == 12


async def test_a_spent_budget_is_never_retried():
    model, inner, clock = retrying([BudgetExceeded("spent"), "yes"])
    with pytest.raises(BudgetExceeded):
        await model.complete(REQUEST)
    assert (len(inner.requests), clock.waits) == (1, [])
