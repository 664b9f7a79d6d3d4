"""Errors as servers send them, each typed; what is tried again, how often, after which wait."""

import asyncio
import email.utils
import random
import time
from dataclasses import replace

import orjson
import pytest

from metajudge.errors import (
    AuthError,
    BadReplyError,
    BadRequestError,
    BudgetExceeded,
    ConfigurationError,
    ConnectionFailedError,
    ContextTooLongError,
    FailureKind,
    ModelTimeoutError,
    NotFoundError,
    OverloadedError,
    PromptCutError,
    RateLimitedError,
    RefusedError,
    ServerError,
)
from metajudge.providers.http_errors import Asked, error_from_exception, error_from_response, retry_after
from metajudge.providers.http_model import ReadWhole
from metajudge.providers.metering import TracedModel
from metajudge.providers.model import Endpoint, Message, ModelRequest
from metajudge.providers.negotiation import RenegotiatedError
from metajudge.providers.retry import RetryingModel, RetryPolicy, Standing
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Reply, Usage
from tests.doubles.model_requests import KEY, ask
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


ASKED = Asked("gpt-4o-mini", "https://api.openai.com/v1", "OPENAI_API_KEY", KEY)


def openai(message, kind="invalid_request_error", code=None, param=None):
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def anthropic(message, kind="invalid_request_error"):
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


CASES = [
    (401, openai("Incorrect API key provided: sk-pr***6789.", code="invalid_api_key"), AuthError, "OPENAI_API_KEY"),
    (401, anthropic("invalid x-api-key", "authentication_error"), AuthError, "OPENAI_API_KEY"),
    (403, anthropic("not allowed", "permission_error"), AuthError, "what it may use"),
    (404, openai("The model `x` does not exist", code="model_not_found"), NotFoundError, "model's name"),
    (404, {"detail": "Not Found"}, NotFoundError, "base URL"),
    (405, {"detail": "Method Not Allowed"}, NotFoundError, "base URL"),
    (404, {"error": "model 'llama9' not found"}, NotFoundError, "llama9"),
    (301, b"", NotFoundError, "redirects to https://elsewhere"),
    (400, openai("maximum context length is 128000", code="context_length_exceeded"), ContextTooLongError, "larger"),
    (400, anthropic("prompt is too long: 210001 tokens > 200000 maximum"), ContextTooLongError, "210001"),
    (400, {"error": {"message": "the request exceeds the available context size"}}, ContextTooLongError, "Shorten"),
    (413, anthropic("Request exceeds the maximum size", "request_too_large"), ContextTooLongError, "Shorten"),
    (429, openai("Request too large for gpt-4o on tokens per min (TPM)", "tokens"), ContextTooLongError, "Shorten"),
    (400, openai("filtered", code="content_policy_violation"), RefusedError, "filter declined"),
    (400, openai("Invalid value for 'messages'."), BadRequestError, "Invalid value"),
    (422, {"detail": [{"loc": ["body", "n"], "msg": "field required"}]}, BadRequestError, "field required"),
    (429, openai("Rate limit reached", "requests", "rate_limit_exceeded"), RateLimitedError, "Lower the concurrency"),
    (429, anthropic("slow down", "rate_limit_error"), RateLimitedError, "Lower the concurrency"),
    (429, openai("You exceeded your current quota", "insufficient_quota"), RateLimitedError, "add credit"),
    (400, anthropic("Your credit balance is too low to access the Anthropic API."), RateLimitedError, "add credit"),
    (402, {"error": {"message": "Insufficient credits", "code": 402}}, RateLimitedError, "add credit"),
    (408, b"", ModelTimeoutError, "no message"),
    (504, b"<html><h1>Gateway Time-out</h1></html>", ModelTimeoutError, "Gateway Time-out"),
    (503, openai("The engine is currently overloaded", "server_error"), OverloadedError, "overloaded"),
    (529, anthropic("Overloaded", "overloaded_error"), OverloadedError, "Overloaded"),
    (500, anthropic("Internal server error", "api_error"), ServerError, "Internal server error"),
    (502, b"<html><style>b{}</style><body>Bad <b>gateway</b></body></html>", ServerError, "Bad gateway"),
    (500, b"", ServerError, "no message"),
    (500, b"\xff\xfe not text", ServerError, "not text"),
    (500, [{"error": {"message": "a list, as Google sends it"}}], ServerError, "a list"),
    (500, b"null", ServerError, "null"),
]


@pytest.mark.parametrize(("status", "body", "kind", "says"), CASES)
def test_each_error_body_has_its_type_and_says_model_url_and_remedy(status, body, kind, says):
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    error = error_from_response(status, {"location": "https://elsewhere"}, raw, ASKED)
    assert type(error) is kind
    assert says in str(error)
    assert f"HTTP {status} from gpt-4o-mini at https://api.openai.com/v1" in str(error)
    assert ".." not in str(error).replace("...", "")
    assert (error.status, error.sent) == (status, True)


def test_an_empty_account_is_not_asked_again_and_an_echoed_key_is_never_repeated():
    spent = error_from_response(429, {}, orjson.dumps(openai("quota", "insufficient_quota")), ASKED)
    limited = error_from_response(429, {}, orjson.dumps(openai("Rate limit reached")), ASKED)
    assert (spent.retryable, limited.retryable) == (False, True)
    for echoed in (KEY, "sk-proj-****6789", "sk-ant-api03-AbCdEf123456", "gsk_AbCdEf123456"):
        error = error_from_response(401, {}, orjson.dumps(openai(f"Incorrect API key provided: {echoed}.")), ASKED)
        assert echoed not in str(error)
        assert echoed not in repr(error)
    assert KEY not in repr(ASKED)
    odd = Asked("m", "http://x", "V", "plain-secret-word")
    assert "plain-secret-word" not in odd.excerpt("token plain-secret-word rejected")


def test_a_long_body_is_cut_and_the_wait_a_provider_asks_for_is_read_in_each_form():
    text = ASKED.excerpt(("word\n" * 1000).encode())
    assert len(text) == 200
    assert "\n" not in text
    assert retry_after({"retry-after": "7"}) == 7.0
    assert retry_after({"retry-after": "0.25"}) == 0.25
    assert retry_after({"retry-after-ms": "1500", "retry-after": "2"}) == 1.5
    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert retry_after({"retry-after": date}) == pytest.approx(30, abs=2)
    past = email.utils.formatdate(time.time() - 30, usegmt=True)
    assert retry_after({"retry-after": past}) == 0.0


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "inf", "", "1e99"])
def test_a_wait_that_makes_no_sense_is_none(value):
    assert retry_after({"retry-after": value}) is None
    assert retry_after({"retry-after-ms": value}) is None


def test_what_is_no_matter_of_the_network_stays_and_a_broken_connection_is_no_late_answer():
    assert error_from_exception(KeyError("defect"), ASKED, 1.0) is None
    cut = error_from_exception(ConnectionResetError("reset by peer"), ASKED, 1.0)
    late = error_from_exception(TimeoutError(), ASKED, 1.5)
    assert isinstance(cut, ConnectionFailedError)
    assert cut.sent
    assert isinstance(late, ModelTimeoutError)
    assert "within 1.5 s" in str(late)
    assert isinstance(error_from_response(200, {}, b'{"error": "x"}', ASKED), BadReplyError)


WHOLE = Asked("m", "http://host/v1", "KEY", "")


def check(reader, text, tokens):
    reader.check(ModelRequest("", (Message("user", text),)), Usage(tokens, 0, 0, 5), WHOLE)


def test_far_too_few_tokens_for_the_text_are_a_cut_prompt():
    with pytest.raises(PromptCutError, match=r"read 2,048 tokens of a prompt of 40,000 characters.*num_ctx") as raised:
        check(ReadWhole(), "Some words. " * 3_333 + "end.", 2_048)
    assert (raised.value.kind, raised.value.usage.input_tokens) == (FailureKind.TRUNCATED, 2_048)


def test_the_same_round_number_for_prompts_of_different_lengths_is_a_limit():
    reader = ReadWhole()
    check(reader, "word " * 2_000, 2_048)
    check(reader, "word " * 2_500, 2_048)
    with pytest.raises(PromptCutError):
        check(reader, "word " * 3_000, 2_048)


def test_ordinary_prompts_are_read_whole():
    reader = ReadWhole()
    for count in (500, 2_000, 9_000):
        check(reader, "word " * count, count)
    check(reader, " " * 60_000 + "=" * 60_000 + "end", 900)
    for _ in range(5):
        check(reader, "word " * 2_000, 2_048)  # the same prompt again
