"""Both protocols: what is dropped of a request, what is made of each answer, and streamed answers."""

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
from tests.doubles.model_requests import KEY, SCHEMA, anthropic_message, ask, completion, mocked, model_at

WHERE = {
    "openai": ("https://api.openai.com/v1", "gpt-4o-mini"),
    "anthropic": ("https://api.anthropic.com", "claude-sonnet-4-5"),
}
BOTH = pytest.mark.parametrize("provider", WHERE)


async def exchange(response, request=None, provider="openai", url=None):
    """Asks once; returns the reply, the HTTP request and what the user heard."""
    seen = []
    address, name = WHERE[provider]

    def handler(sent):
        seen.append(sent)
        return response if isinstance(response, httpx2.Response) else httpx2.Response(200, json=response)

    async with Resources(key_for=lambda spec: KEY, retry=RetryPolicy(attempts=1), **mocked(handler)) as resources:
        reply = await model_at(url or address, resources, provider, name=name).complete(request or ask())
    assert len(seen) == 1
    return reply, seen[0], resources.notices.lines


def of_both(openai, anthropic):
    """Rows of a table, each after its protocol."""
    rows = {"openai": openai, "anthropic": anthropic}
    return [(name, *(one if isinstance(one, tuple) else (one,))) for name, given in rows.items() for one in given]


async def test_own_headers_are_sent_and_conversations_keep_their_order():
    turns = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    request = ModelRequest("s", turns, None, Parameters(headers=(("x-team", "vetting"),)))
    _, sent, _ = await exchange(completion("ok"), request)
    assert sent.headers["x-team"] == "vetting"
    assert [m["content"] for m in orjson.loads(sent.content)["messages"]] == ["s", "a", "b", "c"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/messages"])
async def test_compatible_servers_are_asked_at_the_same_path_and_get_the_key_as_documented(url):
    _, sent, _ = await exchange(anthropic_message(), provider="anthropic", url=url)
    assert str(sent.url) == "http://127.0.0.1:1/v1/messages"
    assert sent.headers["x-api-key"] == KEY


async def test_settings_the_protocol_lacks_are_dropped_and_said_once():
    request = ask(temperature=0.0, top_p=0.5, seed=1, effort="minimal")
    _, sent, notices = await exchange(anthropic_message(), request, "anthropic")
    body = orjson.loads(sent.content)
    assert not {"temperature", "top_p", "seed"} & set(body)
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA.schema}}
    for name in ("temperature", "top_p", "seed", "effort 'minimal'"):
        assert len([line for line in notices if f"{name} is not sent" in line]) == 1, name
    body = PROTOCOLS["openai"].body("m", ask(temperature=0.0, seed=1), Dialect(dropped=frozenset({"temperature"})))
    assert ("temperature" in body, body["seed"]) == (False, 1)


def test_the_required_length_limit_leaves_room_for_thinking():
    limit = PROTOCOLS["anthropic"].limit
    assert [limit(Parameters(effort=effort)) for effort in (None, "low", "high")] == [4096, 4096, 16384]
    assert limit(Parameters(effort="high", max_tokens=5)) == 5


READ = {"prompt_tokens": 2000, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 1920}}
MADE = {"input_tokens": 10, "cache_read_input_tokens": 2000, "cache_creation_input_tokens": 300, "output_tokens": 7}


@pytest.mark.parametrize(
    ("provider", "answer", "model", "usage"),
    [
        ("openai", completion('{"score": 4}', usage=READ), "m-0613", Usage(2000, 1920, 0, 30)),
        ("anthropic", anthropic_message('{"score": 4}', usage=MADE), "m-20250929", Usage(2310, 2000, 300, 7)),
    ],
)
async def test_a_reply_carries_text_model_usage_and_finish(provider, answer, model, usage):
    reply, _, _ = await exchange(answer, provider=provider)
    assert (reply.text, reply.finish, reply.model, reply.usage) == ('{"score": 4}', "stop", model, usage)
    assert (reply.attempts, reply.cached) == (1, False)


THOUGHT = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
PARTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


@pytest.mark.parametrize(
    ("provider", "answer", "text", "finish"),
    of_both(
        [
            (completion('{"sc', finish="length"), '{"sc', "length"),
            (completion(None, finish="length"), "", "length"),
            (completion(None, message={"refusal": "I can't help with that."}), "I can't help with that.", "refusal"),
            (completion(None, finish="content_filter"), "", "refusal"),
            (completion("x", finish="eos_token"), "x", "stop"),
            (completion("x", finish="MAX_TOKENS"), "x", "length"),
            (completion("x", finish="safety"), "x", "refusal"),
            (completion(PARTS), "ab", "stop"),
        ],
        [
            (anthropic_message('{"sc', stop_reason="max_tokens"), '{"sc', "length"),
            (anthropic_message(content=[], stop_reason="max_tokens"), "", "length"),
            (anthropic_message("x", stop_reason="model_context_window_exceeded"), "x", "length"),
            (anthropic_message(content=[], stop_reason="refusal"), "", "refusal"),
            (anthropic_message(content=[*THOUGHT, *PARTS]), "ab", "stop"),
        ],
    ),
)
async def test_how_an_answer_ended_is_told(provider, answer, text, finish):
    reply, _, _ = await exchange(answer, provider=provider)
    assert (reply.text, reply.finish) == (text, finish)


@pytest.mark.parametrize("finish", ["error", "network_error", "tool_calls", "unknown", None])
async def test_an_answer_that_ends_otherwise_or_without_a_word_is_none(finish):
    answer = completion('{"sc', finish=finish)
    answer["choices"][0]["error"] = {"code": 502, "message": "Upstream broke"}
    with pytest.raises(BadReplyError, match="so it is not complete: Upstream broke") as raised:
        await exchange(answer)
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
    unread = {**MADE, "cache_read_input_tokens": None, "cache_creation_input_tokens": None}
    assert PROTOCOLS["anthropic"].usage(unread) == Usage(10, 0, 0, 7)


async def test_an_object_in_the_field_of_thoughts_is_taken_where_one_was_asked_for():
    answer = completion(None, message={"reasoning_content": '{"score": 5}'})
    reply, _, _ = await exchange(answer)
    assert reply.text == '{"score": 5}'
    with pytest.raises(BadReplyError, match=r"empty message; its thoughts have 4 characters") as raised:
        await exchange(completion(None, message={"reasoning": "So, "}))
    assert not raised.value.retryable


@pytest.mark.parametrize(
    ("provider", "answer"),
    of_both(
        [
            *({"choices": []}, {"choices": None}, {"object": "chat.completion"}, {"choices": ["text"]}),
            *({"choices": [{"message": None}]}, completion(""), completion(None)),
        ],
        [{"type": "message"}, anthropic_message(content=[]), anthropic_message(""), anthropic_message(content="x")],
    ),
)
async def test_an_answer_without_text_is_a_bad_reply_and_never_an_empty_one(provider, answer):
    address, name = WHERE[provider]
    with pytest.raises(BadReplyError, match=f"{name} at {address} answered with"):
        await exchange(answer, provider=provider)


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"choices": [', b"<html><body>Hello</body></html>", b'"text"'])
async def test_a_body_that_is_no_json_object_is_a_bad_reply(content):
    with pytest.raises(BadReplyError):
        await exchange(httpx2.Response(200, content=content, headers={"content-type": "text/html"}))


async def test_an_error_inside_a_success_is_that_error_and_white_space_is_ignored():
    with pytest.raises(ServerError, match=r"HTTP 502 .*Provider returned error"):
        await exchange({"error": {"message": "Provider returned error", "code": 502}})
    with pytest.raises(OverloadedError):
        await exchange({"error": {"message": "busy", "code": 503}, "choices": []})
    with pytest.raises(BadReplyError):
        await exchange({"error": "something"})
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(OverloadedError, match="Overloaded"):
        await exchange(overloaded, provider="anthropic")
    padded = b"\n\n   \n" + orjson.dumps(completion())
    reply, _, _ = await exchange(httpx2.Response(200, content=padded))
    assert reply.text == '{"score": 5}'


@pytest.mark.parametrize(
    ("provider", "usage"),
    of_both(
        [None, {}, "many", {"prompt_tokens": "3", "completion_tokens": 1}, {"prompt_tokens": 3}, []],
        [None, {}, {"input_tokens": None, "output_tokens": 1}, {"input_tokens": 1}],
    ),
)
async def test_an_unusable_report_is_no_usage_and_never_zero_tokens(provider, usage):
    made = completion if provider == "openai" else anthropic_message
    assert (await exchange(made(usage=usage), provider=provider))[0].usage is None


BILLED = Usage(10, 0, 0, 5)


@pytest.mark.parametrize(
    ("provider", "answer", "usage"),
    of_both(
        [
            *((one, BILLED) for one in (completion(""), completion(None), {**completion(), "choices": []})),
            ({"choices": [], "usage": None}, None),
        ],
        [(one, BILLED) for one in (anthropic_message(content=[]), {**anthropic_message(), "content": None})],
    ),
)
async def test_a_useless_answer_says_what_it_took_where_it_was_billed(provider, answer, usage):
    with pytest.raises(BadReplyError) as failed:
        await exchange(answer, provider=provider)
    assert failed.value.usage == usage


async def test_lone_surrogates_are_replaced_and_sent():
    _, sent, _ = await exchange(completion(), ask("half \ud83d of it"))
    assert orjson.loads(sent.content)["messages"][-1]["content"] == "half \ufffd of it"


# Streamed answers of both protocols over a real socket: text, usage, time to the first token, faults.
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
