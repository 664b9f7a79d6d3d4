"""What is tried again, how often, after which wait; on a clock that does not run."""

import asyncio
import random

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
from metajudge.providers.model import Message, ModelRequest
from metajudge.providers.negotiation import Dialect, Negotiation, OutputMode, RenegotiatedError
from metajudge.providers.notices import Notices
from metajudge.providers.retry import RetryingModel, RetryPolicy
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.tracing import TracedModel
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
    model, inner, clock = retrying(lambda _: ServerError("broken"))
    with pytest.raises(ServerError, match=r"broken \(gave up after 6 attempts in") as raised:
        await model.complete(REQUEST)
    assert (len(inner.requests), raised.value.attempts) == (6, 6)
    assert all(later > earlier for earlier, later in zip(clock.waits, clock.waits[1:], strict=False))
    model, inner, clock = retrying(lambda _: ServerError("broken"), attempts=1000, total_s=30.0)
    with pytest.raises(ServerError):
        await model.complete(REQUEST)
    assert clock.now <= 30.0
    assert len(inner.requests) < 12


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


async def test_a_call_cut_after_connecting_holds_nothing_off_and_a_spent_budget_is_never_retried():
    model, inner, _ = retrying(lambda _: ConnectionFailedError("cut"))
    for _ in range(2):
        with pytest.raises(ConnectionFailedError):
            await model.complete(REQUEST)
    assert len(inner.requests) == 12
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


# Finding out what a server accepts: once, shared, and said.
MODES = (OutputMode.JSON_SCHEMA, OutputMode.JSON_OBJECT, OutputMode.TEXT)
BODY = {"model": "m", "temperature": 0, "seed": 1, "max_tokens": 5, "response_format": {"type": "json_schema"}}


def negotiation(grace_s=0.02, **dialect):
    notices = Notices()
    return Negotiation("m", Dialect(**dialect), MODES, notices, grace_s), notices


@pytest.mark.parametrize(
    "said",
    [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "This model does not support response format `json_schema`.",
        "This response_format type is unavailable now",
        "output_config.format: Extra inputs are not permitted",
        "'response_format.type' must be 'json_object'",
        "This model does not support structured outputs",
    ],
)
def test_servers_without_schemas_are_asked_more_plainly_step_by_step(said):
    found, notices = negotiation()
    for mode in (OutputMode.JSON_OBJECT, OutputMode.TEXT):
        assert found.rejected(found.dialect, BODY, BadRequestError(said)) is not None
        assert found.dialect.mode is mode
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is None
    assert len(notices.lines) == 2


@pytest.mark.parametrize(
    "said",
    [
        "Invalid schema for response_format 'scores': 'additionalProperties' is required to be supplied",
        "temperature: range: 0..1",
        "Invalid value for 'messages[0].role'",
    ],
)
def test_a_mistake_in_the_request_is_not_taken_for_a_missing_feature(said):
    found, notices = negotiation()
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is None
    assert (found.dialect, notices.lines) == (Dialect(), ())


def test_the_other_name_is_tried_once_and_an_unsupported_parameter_is_dropped_loudly_and_alone():
    found, _ = negotiation()
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is not None
    assert found.dialect.max_tokens_name == "max_completion_tokens"
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is None
    found, notices = negotiation()
    said = "Unsupported value: 'temperature' does not support 0 with this model."
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is not None
    assert found.dialect == Dialect(dropped=frozenset({"temperature"}))
    assert notices.lines == ("m: temperature is not sent: the server does not support it",)


def test_a_parameter_that_was_not_sent_is_not_blamed_and_calls_under_way_make_it_no_plainer():
    found, _ = negotiation()
    said = "Unsupported parameter: 'top_p' is not supported"
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is None
    found, _ = negotiation()
    used = found.dialect
    said = BadRequestError("response_format is not supported")
    for _ in range(10):
        assert found.rejected(used, BODY, said) is not None
    assert found.dialect.mode is OutputMode.JSON_OBJECT


async def test_concurrent_first_calls_wait_for_the_one_that_finds_out():
    found, _ = negotiation(grace_s=60)
    used = []

    async def call():
        dialect = await found.begin()
        used.append(dialect.mode)
        accepted = dialect.mode is OutputMode.TEXT
        await asyncio.sleep(0.001)
        if not accepted:
            found.rejected(dialect, BODY, BadRequestError("response_format is not supported"))
        found.end(accepted)
        return accepted

    async def until_accepted():
        while not await call():
            pass

    await asyncio.gather(*(until_accepted() for _ in range(50)))
    assert (used.count(OutputMode.JSON_SCHEMA), used.count(OutputMode.JSON_OBJECT)) == (1, 1)
    assert used.count(OutputMode.TEXT) == 50


async def test_a_slow_first_answer_holds_the_others_up_only_briefly():
    found, _ = negotiation()
    await found.begin()
    loop = asyncio.get_running_loop()
    start = loop.time()
    await asyncio.gather(*(found.begin() for _ in range(20)))
    assert loop.time() - start < 0.2


async def test_a_cancelled_first_call_hands_over():
    found, _ = negotiation()

    async def call():
        await found.begin()
        try:
            await asyncio.sleep(5)
        finally:
            found.end(False)

    first = asyncio.create_task(call())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert await asyncio.wait_for(found.begin(), 1) == Dialect()


async def test_failing_first_calls_make_the_others_wait_the_grace_in_all_and_not_each():
    found, _ = negotiation()

    async def call():
        await found.begin()
        await asyncio.sleep(0.01)
        found.end(False)

    loop = asyncio.get_running_loop()
    start = loop.time()
    await asyncio.gather(*(call() for _ in range(64)))
    assert loop.time() - start < 0.3


async def test_calls_that_wait_for_one_with_a_wrong_key_end_unsent():
    found = Negotiation("m", Dialect(), MODES, Notices(), 60)
    await found.begin()
    waiting = [asyncio.create_task(found.begin()) for _ in range(5)]
    await asyncio.sleep(0)
    found.fail_waiting(AuthError("HTTP 401: check the key"))
    found.end(False)
    results = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 1)
    assert all(isinstance(r, AuthError) and not r.sent and r.attempts == 0 for r in results)
    assert "not sent, because another call failed" in str(results[0])
    await asyncio.wait_for(found.begin(), 1)  # a later call tries for itself
