"""Stored replies, and one request for identical calls in flight."""

import asyncio
from dataclasses import replace

import pytest

from metajudge.errors import BadReplyError, BudgetExceeded, ServerError
from metajudge.providers.model import Endpoint, Message, ModelRequest, OutputSchema, Parameters, request_key
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.stack import CachedModel
from metajudge.types import Reply, Usage

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


async def test_a_stored_reply_is_not_asked_for_again():
    inner = ScriptedModel([])
    stored = Reply("stored", "stop", "m", attempts=0, cached=True)
    cache = MemoryCache(**{request_key(inner, REQUEST): stored})
    assert await CachedModel(inner, cache).complete(REQUEST) is stored
    assert inner.requests == []


async def test_a_fresh_request_is_asked_although_a_reply_is_stored():
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


async def test_a_cancelled_first_call_does_not_take_the_others_with_it():
    inner = SlowModel(["one", "two"])
    model = CachedModel(inner, None)
    first = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    second = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    inner.gate.set()
    reply = await second
    assert (reply.text, reply.cached) == ("one", False)


async def test_a_cancelled_waiter_does_not_disturb_the_first_call():
    inner = SlowModel(["one"])
    model = CachedModel(inner, None)
    first = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    second = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    inner.gate.set()
    assert (await first).text == "one"


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
