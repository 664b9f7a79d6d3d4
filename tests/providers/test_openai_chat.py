"""Chat completions: what is dropped of a request, and what is made of each answer."""

import httpx2
import orjson
import pytest

from metajudge.errors import BadReplyError, OverloadedError, ServerError
from metajudge.providers.model import Message, ModelRequest, Parameters
from metajudge.providers.negotiation import Dialect
from metajudge.providers.openai_chat import read_usage, request_body
from metajudge.providers.retry import RetryPolicy
from metajudge.providers.stack import Resources
from metajudge.types import Usage
from tests.doubles.model_requests import KEY, ask, completion, mocked, model_at

ONCE = RetryPolicy(attempts=1)


async def exchange(request, response, url="https://api.openai.com/v1", retry=ONCE):
    """Asks once; returns the reply and the HTTP request."""
    seen = []

    def handler(sent):
        seen.append(sent)
        return response if isinstance(response, httpx2.Response) else httpx2.Response(200, json=response)

    async with Resources(key_for=lambda spec: KEY, retry=retry, **mocked(handler)) as resources:
        reply = await model_at(url, resources, name="gpt-4o-mini").complete(request)
    assert len(seen) == 1
    return reply, seen[0]


async def test_own_headers_are_sent_and_conversations_keep_their_order():
    turns = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    request = ModelRequest("s", turns, None, Parameters(headers=(("x-team", "vetting"),)))
    _, sent = await exchange(request, completion("ok"))
    assert sent.headers["x-team"] == "vetting"
    assert [m["content"] for m in orjson.loads(sent.content)["messages"]] == ["s", "a", "b", "c"]


def test_a_dropped_parameter_is_not_sent():
    body = request_body("m", ask(temperature=0.0, seed=1), Dialect(dropped=frozenset({"temperature"})))
    assert "temperature" not in body
    assert body["seed"] == 1


async def test_a_reply_carries_text_model_usage_and_finish():
    usage = {"prompt_tokens": 2000, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 1920}}
    reply, _ = await exchange(ask(), completion('{"score": 4}', usage=usage))
    assert (reply.text, reply.finish, reply.model) == ('{"score": 4}', "stop", "m-0613")
    assert reply.usage == Usage(input_tokens=2000, cached_tokens=1920, output_tokens=30)
    assert (reply.attempts, reply.cached) == (1, False)


@pytest.mark.parametrize(
    ("answer", "text", "finish"),
    [
        (completion('{"sc', finish="length"), '{"sc', "length"),
        (completion(None, finish="length"), "", "length"),
        (completion(None, message={"refusal": "I can't help with that."}), "I can't help with that.", "refusal"),
        (completion(None, finish="content_filter"), "", "refusal"),
        (completion("x", finish="tool_calls"), "x", "other"),
        (completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", "stop"),
    ],
)
async def test_how_an_answer_ended_is_told(answer, text, finish):
    reply, _ = await exchange(ask(), answer)
    assert (reply.text, reply.finish) == (text, finish)


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": []},
        {"choices": None},
        {"object": "chat.completion"},
        {"choices": ["text"]},
        {"choices": [{"message": None}]},
        completion(""),
        completion(None),
    ],
)
async def test_an_answer_without_a_message_is_a_bad_reply_and_never_an_empty_one(answer):
    with pytest.raises(BadReplyError, match=r"gpt-4o-mini at https://api.openai.com/v1 answered with"):
        await exchange(ask(), answer)


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"choices": [', b"<html><body>Hello</body></html>", b'"text"'])
async def test_a_body_that_is_no_json_object_is_a_bad_reply(content):
    with pytest.raises(BadReplyError):
        await exchange(ask(), httpx2.Response(200, content=content, headers={"content-type": "text/html"}))


async def test_a_gateways_error_inside_a_success_is_that_error():
    with pytest.raises(ServerError, match=r"HTTP 502 .*Provider returned error"):
        await exchange(ask(), {"error": {"message": "Provider returned error", "code": 502}})
    with pytest.raises(OverloadedError):
        await exchange(ask(), {"error": {"message": "busy", "code": 503}, "choices": []})
    with pytest.raises(BadReplyError):
        await exchange(ask(), {"error": "something"})


async def test_white_space_that_keeps_a_connection_alive_is_ignored():
    padded = b"\n\n   \n" + orjson.dumps(completion())
    reply, _ = await exchange(ask(), httpx2.Response(200, content=padded))
    assert reply.text == '{"score": 5}'


@pytest.mark.parametrize(
    "usage", [None, {}, "many", {"prompt_tokens": "3", "completion_tokens": 1}, {"prompt_tokens": 3}, []]
)
def test_an_unusable_report_is_no_usage_and_never_zero_tokens(usage):
    assert read_usage(usage) is None


def test_deepseeks_name_for_cached_tokens_is_known():
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}
    assert read_usage(usage) == Usage(9, 4, 0, 1)


@pytest.mark.parametrize("answer", [completion(""), completion(None), {**completion(), "choices": []}])
async def test_a_useless_answer_that_was_billed_says_what_it_took(answer):
    with pytest.raises(BadReplyError) as failed:
        await exchange(ask(), answer)
    assert failed.value.usage == Usage(10, 0, 0, 5)


async def test_a_useless_answer_without_a_report_has_no_usage():
    with pytest.raises(BadReplyError) as failed:
        await exchange(ask(), {"choices": [], "usage": None})
    assert failed.value.usage is None


async def test_lone_surrogates_are_replaced_and_sent():
    _, sent = await exchange(ask("half \ud83d of it"), completion())
    assert orjson.loads(sent.content)["messages"][-1]["content"] == "half \ufffd of it"
