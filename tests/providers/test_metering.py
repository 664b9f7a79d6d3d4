"""The books: every HTTP request counted, priced and recorded exactly once, and the files of batches."""

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metajudge.errors import (
    BadReplyError,
    BudgetExceeded,
    ConnectionFailedError,
    FailureKind,
    ModelTimeoutError,
    ServerError,
)
from metajudge.providers.batch_services import SERVICES, BatchAnswer, Ending
from metajudge.providers.metering import Meter, MeteredModel
from metajudge.providers.model import Endpoint, Message, ModelRequest, OutputSchema, Parameters, request_key
from metajudge.providers.notices import Notices
from metajudge.providers.prices import FlatPrice, find_batch_price, find_price
from metajudge.providers.retry import RetryingModel, RetryPolicy
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.spec import AgentSpec
from metajudge.providers.stack import CachedModel
from metajudge.types import Reply, Usage
from tests.doubles.model_requests import MemoryLedger, ask
from tests.doubles.waiting import Clock

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
    await RetryingModel(model, RetryPolicy(), sleep=Clock().sleep).complete(ask())
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
        reply = await RetryingModel(model, RetryPolicy(), sleep=Clock().sleep).complete(ask())
        assert (reply.attempts, reply.usage) == (3, USUAL + USUAL)
        assert reply.cost_usd == pytest.approx(0.0024) == pytest.approx(meter.cost_usd)
        model, meter, _, _ = metered(*[BadReplyError("empty", usage=USUAL) for _ in range(3)])
        with pytest.raises(BadReplyError) as failed:
            await RetryingModel(model, RetryPolicy(attempts=3), sleep=Clock().sleep).complete(ask())
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


async def at_once(inner, count):
    """What identical calls at once come to, replies or errors."""
    model = CachedModel(inner, None)
    calls = [asyncio.create_task(model.complete(REQUEST)) for _ in range(count)]
    await asyncio.sleep(0)
    inner.gate.set()
    return await asyncio.gather(*calls, return_exceptions=True)


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
    replies = await at_once(inner, 10)
    assert len(inner.requests) == 1
    assert {reply.text for reply in replies} == {"one"}
    assert sorted(reply.cached for reply in replies) == [False] + [True] * 9
    assert sum(reply.attempts for reply in replies) == 1


async def test_a_failure_is_shared_but_what_it_took_is_counted_once():
    failed = ServerError("broken")
    failed.attempts = 6
    inner = SlowModel([failed])
    errors = await at_once(inner, 3)
    assert [type(error) for error in errors] == [ServerError] * 3
    assert sum(error.attempts for error in errors) == 6
    assert [error.sent for error in errors] == [True, False, False]
    first, second = await at_once(SlowModel([BadReplyError("empty", usage=Usage(10, 0, 0, 5))]), 2)
    assert (first.usage, first.sent) == (Usage(10, 0, 0, 5), True)
    assert (second.usage, second.cost_usd, second.sent) == (None, 0.0, False)
    assert [type(one) for one in await at_once(SlowModel([BudgetExceeded("spent")]), 3)] == [BudgetExceeded] * 3


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


OPENAI, ANTHROPIC = (SERVICES[name](None) for name in ("openai", "anthropic"))


def openai_line(name, body="fine", status=200):
    response = {"status_code": status, "request_id": "r", "body": body}
    return json.dumps({"id": "x", "custom_id": name, "response": response, "error": None}).encode() + b"\n"


def test_answers_are_matched_by_id_and_different_ones_to_one_request_count_not_at_all():
    lines = [openai_line(name, name) for name in "abc"]
    for files in ([b"".join(lines)], [b"".join(lines[::-1])], [lines[2], lines[0] + lines[1]]):
        found = OPENAI.results(files, "abc")
        assert {name: json.loads(one.content) for name, one in found.answers.items()} == {n: n for n in "abc"}
        assert found.oddities() == ""
    equal = OPENAI.results([openai_line("a") * 3], "a")
    assert (equal.answers["a"].status, equal.repeated) == (200, 1)
    for first, second in (("x", "y"), ("y", "x")):
        found = OPENAI.results([openai_line("a", first) + openai_line("a", second)], "a")
        assert (found.answers["a"].ending, found.repeated) == (Ending.CONTRADICTORY, 1)


def test_a_file_cut_in_the_middle_of_a_line_and_what_no_line_mentions():
    whole = openai_line("a") + openai_line("b")
    assert not OPENAI.results([whole.rstrip(b"\n")], "ab").cut
    found = OPENAI.results([whole[:-30]], "ab")
    assert (found.cut, found.unreadable, found.missing) == (True, 1, 1)
    assert found.answers["b"].ending is Ending.MISSING
    assert OPENAI.results([], "a", Ending.EXPIRED).answers["a"].ending is Ending.EXPIRED


@given(st.binary(max_size=300), st.sampled_from([OPENAI, ANTHROPIC]))
def test_no_bytes_make_an_answer_out_of_thin_air_or_crash(content, service):
    found = service.results([content], ["a"])
    assert found.answers["a"].ending is Ending.MISSING


WORDS = ["a", "b", "succeeded", "errored", "expired", "canceled", "batch_expired", ""]


KEYS = ["custom_id", "response", "error", "result", "type", "status_code", "body", "message", "code"]


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=12,
)


@given(ANY_JSON | st.fixed_dictionaries({"custom_id": st.just("a")}, optional=dict.fromkeys(KEYS[1:4], ANY_JSON)))
def test_whatever_json_a_line_holds_it_counts_once_and_answers_only_the_request_it_names(value):
    line = json.dumps(value).encode()
    names_it = isinstance(value, dict) and value.get("custom_id") == "a"
    for service in (OPENAI, ANTHROPIC):
        found = service.results([line + b"\n"], ["a"])
        answered = found.answers["a"].ending is not Ending.MISSING
        assert (list(found.answers), found.repeated, found.cut) == (["a"], 0, False)
        assert found.unreadable + found.unknown + answered == 1
        assert names_it or not answered


def anthropic_line(name, **result):
    return json.dumps({"custom_id": name, "result": result}).encode() + b"\n"


def test_errors_get_the_status_and_reason_they_have_live():
    for kind, status in (("invalid_request_error", 400), ("overloaded_error", 529), ("new_error", 500)):
        error = {"type": "error", "error": {"type": kind, "message": "m"}}
        line = json.loads(anthropic_line("a", type="errored", error=error))
        assert ANTHROPIC.read(line)[1].status == status
    assert ANTHROPIC.read(json.loads(anthropic_line("a", type="canceled")))[1].ending is Ending.CANCELED
    assert ANTHROPIC.read(json.loads(anthropic_line("a", type="unheard_of"))) is None
    expired = {"custom_id": "a", "response": None, "error": {"code": "batch_expired", "message": "late"}}
    broken = {"custom_id": "a", "response": None, "error": {"code": "other", "message": "oh"}}
    assert OPENAI.read(expired) == ("a", BatchAnswer(None, ending=Ending.EXPIRED))
    assert OPENAI.read(broken)[1].status == 500
    assert OPENAI.read({"custom_id": "a"}) is None
    assert OPENAI.read({"response": {"status_code": 200}}) is None


USAGE = Usage(10_000, 2_000, 0, 1_000)


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "gpt-4o-mini"), ("openai", "gpt-4.1"), ("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-4")],
)
def test_the_big_two_take_half(provider, model):
    spec = AgentSpec(model, provider, model)
    live, batch = find_price(spec), find_batch_price(spec)
    assert batch.cost(Usage(10_000, 0, 0, 1_000)) == pytest.approx(live.cost(Usage(10_000, 0, 0, 1_000)) / 2)


def test_a_users_own_price_is_halved_too_and_an_unknown_one_stays_unknown():
    own = FlatPrice.of(1.0, 10.0)
    assert find_batch_price(AgentSpec("m", "openai", "m"), own).cost(USAGE) == pytest.approx(own.cost(USAGE) / 2)
    assert find_batch_price(AgentSpec("m", "together", "m"), own).cost(USAGE) == pytest.approx(own.cost(USAGE))
    assert find_batch_price(AgentSpec("m", "openai", "nobody-knows")) is None
    assert find_batch_price(AgentSpec("m", "ollama", "m")) is None
