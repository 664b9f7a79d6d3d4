"""Chat completions: what is dropped of a request, and what is made of each answer."""

import httpx2
import orjson
import pytest

from metajudge.errors import BadReplyError, OverloadedError, ProviderError, RateLimitedError, ServerError
from metajudge.providers.limits import LimitSettings
from metajudge.providers.model import Message, ModelRequest, Parameters
from metajudge.providers.negotiation import Dialect
from metajudge.providers.protocols import PROTOCOLS, read_cost
from metajudge.providers.retry import RetryPolicy
from metajudge.providers.spec import parse_agent_spec
from metajudge.providers.stack import Resources, build_streaming_model
from metajudge.types import Usage
from tests.doubles.llm_server import LLMServer
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
    body = PROTOCOLS["openai"].body("m", ask(temperature=0.0, seed=1), Dialect(dropped=frozenset({"temperature"})))
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
        (completion("x", finish="eos_token"), "x", "stop"),
        (completion("x", finish="MAX_TOKENS"), "x", "length"),
        (completion("x", finish="safety"), "x", "refusal"),
        (completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", "stop"),
    ],
)
async def test_how_an_answer_ended_is_told(answer, text, finish):
    reply, _ = await exchange(ask(), answer)
    assert (reply.text, reply.finish) == (text, finish)


@pytest.mark.parametrize("finish", ["error", "network_error", "tool_calls", "unknown", None])
async def test_an_answer_that_ends_otherwise_or_without_a_word_is_none(finish):
    answer = completion('{"sc', finish=finish)
    answer["choices"][0]["error"] = {"code": 502, "message": "Upstream broke"}
    with pytest.raises(BadReplyError, match="so it is not complete: Upstream broke") as raised:
        await exchange(ask(), answer)
    assert raised.value.usage is not None


@pytest.mark.parametrize(
    ("usage", "tokens", "cost"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, (10, 0, 0, 5), None),
        ({"prompt_tokens": 10.0, "completion_tokens": 5.0}, (10, 0, 0, 5), None),
        ({"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 6100}, (1000, 0, 0, 5100), None),
        ({"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.5}, (10, 0, 0, 5), 0.5),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, (10, 4, 0, 5), None),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
            },
            (10, 4, 3, 5),
            None,
        ),
    ],
)
def test_all_tokens_that_are_billed_are_counted(usage, tokens, cost):
    assert (PROTOCOLS["openai"].usage(usage), read_cost(usage)) == (Usage(*tokens), cost)


async def test_an_object_in_the_field_of_thoughts_is_taken_where_one_was_asked_for():
    answer = completion(None, message={"reasoning_content": '{"score": 5}'})
    reply, _ = await exchange(ask(), answer)
    assert reply.text == '{"score": 5}'
    with pytest.raises(BadReplyError, match=r"empty message; its thoughts have 4 characters") as raised:
        await exchange(ask(), completion(None, message={"reasoning": "So, "}))
    assert not raised.value.retryable


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


async def test_a_gateways_error_inside_a_success_is_that_error_and_white_space_is_ignored():
    with pytest.raises(ServerError, match=r"HTTP 502 .*Provider returned error"):
        await exchange(ask(), {"error": {"message": "Provider returned error", "code": 502}})
    with pytest.raises(OverloadedError):
        await exchange(ask(), {"error": {"message": "busy", "code": 503}, "choices": []})
    with pytest.raises(BadReplyError):
        await exchange(ask(), {"error": "something"})
    padded = b"\n\n   \n" + orjson.dumps(completion())
    reply, _ = await exchange(ask(), httpx2.Response(200, content=padded))
    assert reply.text == '{"score": 5}'


@pytest.mark.parametrize(
    "usage", [None, {}, "many", {"prompt_tokens": "3", "completion_tokens": 1}, {"prompt_tokens": 3}, []]
)
async def test_an_unusable_report_is_no_usage_and_never_zero_tokens(usage):
    assert (await exchange(ask(), completion(usage=usage)))[0].usage is None


@pytest.mark.parametrize(
    ("answer", "usage"),
    [
        *((one, Usage(10, 0, 0, 5)) for one in (completion(""), completion(None), {**completion(), "choices": []})),
        ({"choices": [], "usage": None}, None),
    ],
)
async def test_a_useless_answer_says_what_it_took_where_it_was_billed(answer, usage):
    with pytest.raises(BadReplyError) as failed:
        await exchange(ask(), answer)
    assert failed.value.usage == usage


async def test_lone_surrogates_are_replaced_and_sent():
    _, sent = await exchange(ask("half \ud83d of it"), completion())
    assert orjson.loads(sent.content)["messages"][-1]["content"] == "half \ufffd of it"


# Streamed answers of both protocols over a real socket: text, usage, time to the first token, faults.
BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])
REQUEST = ModelRequest("", (Message("user", "Say something."),), None, Parameters(max_tokens=50))


async def streamed(server, provider, *, times=1, attempts=1):
    async with Resources(limits=LimitSettings(concurrency=4), retry=RetryPolicy(attempts=attempts)) as resources:
        spec = parse_agent_spec(f"{provider}:gpt-4o-mini@{server.url}")
        model = build_streaming_model(spec, resources=resources)
        return [await model.complete(REQUEST) for _ in range(times)][-1]


@BOTH
async def test_a_streamed_answer_is_whole_and_its_first_token_is_timed(provider):
    with LLMServer(answer=lambda _body: "One, two — three.", latency_s=0.05) as server:
        reply = await streamed(server, provider)
        (body,) = server.bodies
    assert body["stream"] is True
    assert (reply.text, reply.finish) == ("One, two — three.", "stop")
    assert 0.04 < reply.first_token_s <= reply.latency_s
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens == len("One, two — three.") // 4


@BOTH
@pytest.mark.parametrize(("text", "faults"), [("", ()), ("whole", ["no_stream"]), ("", ["no_stream"])])
async def test_an_empty_answer_and_one_in_one_piece_are_answers_without_a_first_token(provider, text, faults):
    with LLMServer(answer=lambda _body: text, faults=faults) as server:
        reply = await streamed(server, provider)
    assert (reply.text, reply.finish, reply.first_token_s) == (text, "stop", None)


async def test_a_server_that_refuses_to_stream_is_asked_for_the_whole_answer():
    with LLMServer(answer=lambda _body: "whole", faults=lambda _request: "unsupported:stream") as server:
        reply = await streamed(server, "openai", times=2, attempts=2)
        assert ["stream" in body for body in server.bodies] == [True, False, False]
    assert (reply.text, reply.first_token_s) == ("whole", None)


@BOTH
async def test_a_refusal_and_a_cut_answer_are_told_apart(provider):
    with LLMServer(answer=lambda _body: "A long text.", faults=["truncated_content"]) as server:
        assert (await streamed(server, provider)).finish == "length"
    with LLMServer(answer=lambda _body: "x", faults=["refusal"]) as server:
        assert (await streamed(server, provider)).finish == "refusal"


@BOTH
@pytest.mark.parametrize(("fault", "error"), [("truncated_body", ProviderError), ("html", BadReplyError)])
async def test_a_stream_that_breaks_off_and_a_page_are_no_answer(provider, fault, error):
    with LLMServer(answer=lambda _body: "A long text.", faults=[fault]) as server, pytest.raises(error):
        await streamed(server, provider)


@pytest.mark.slow
@BOTH
async def test_errors_are_typed_and_retried(provider):
    with LLMServer(answer=lambda _body: "fine", faults=["429", "500", None]) as server:
        reply = await streamed(server, provider, attempts=3)
        assert (reply.text, reply.attempts, server.count) == ("fine", 3, 3)
    with LLMServer(faults=["429"]) as server, pytest.raises(RateLimitedError):
        await streamed(server, provider)


@BOTH
async def test_lines_may_be_long_and_end_in_two_characters(provider):
    text = "zwölf " * 100_000
    with LLMServer(answer=lambda _body: text, encode=lambda body: body.replace(b"\n", b"\r\n")) as server:
        reply = await streamed(server, provider)
    assert reply.text == text
