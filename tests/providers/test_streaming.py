"""Streamed answers of both protocols over a real socket: text, usage, time to the first token, faults."""

import pytest

from metajudge.errors import BadReplyError, ProviderError, RateLimitedError
from metajudge.providers.limits import LimitSettings
from metajudge.providers.model import Message, ModelRequest, Parameters
from metajudge.providers.retry import RetryPolicy
from metajudge.providers.spec import parse_agent_spec
from metajudge.providers.stack import Resources
from metajudge.providers.streaming import build_streaming_model
from tests.doubles.llm_server import LLMServer

BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])
REQUEST = ModelRequest("", (Message("user", "Say something."),), None, Parameters(max_tokens=50))


async def ask(server, provider, *, times=1, attempts=1):
    async with Resources(limits=LimitSettings(concurrency=4), retry=RetryPolicy(attempts=attempts)) as resources:
        spec = parse_agent_spec(f"{provider}:gpt-4o-mini@{server.url}")
        model = build_streaming_model(spec, resources=resources)
        return [await model.complete(REQUEST) for _ in range(times)][-1]


@BOTH
async def test_a_streamed_answer_is_whole_and_its_first_token_is_timed(provider):
    with LLMServer(answer=lambda _body: "One, two — three.", latency_s=0.05) as server:
        reply = await ask(server, provider)
        (body,) = server.bodies
    assert body["stream"] is True
    assert (reply.text, reply.finish) == ("One, two — three.", "stop")
    assert 0.04 < reply.first_token_s <= reply.latency_s
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens == len("One, two — three.") // 4


@BOTH
async def test_an_empty_answer_is_an_answer_without_a_first_token(provider):
    with LLMServer(answer=lambda _body: "") as server:
        reply = await ask(server, provider)
    assert (reply.text, reply.finish, reply.first_token_s) == ("", "stop", None)


@BOTH
async def test_a_server_that_answers_in_one_piece_is_read_empty_or_not(provider):
    for text in ("whole", ""):
        with LLMServer(answer=lambda _body, text=text: text, faults=["no_stream"]) as server:
            reply = await ask(server, provider)
        assert (reply.text, reply.first_token_s) == (text, None)


async def test_a_server_that_refuses_to_stream_is_asked_for_the_whole_answer():
    with LLMServer(answer=lambda _body: "whole", faults=lambda _request: "unsupported:stream") as server:
        reply = await ask(server, "openai", times=2, attempts=2)
        assert ["stream" in body for body in server.bodies] == [True, False, False]
    assert (reply.text, reply.first_token_s) == ("whole", None)


@BOTH
async def test_a_refusal_and_a_cut_answer_are_told_apart(provider):
    with LLMServer(answer=lambda _body: "A long text.", faults=["truncated_content"]) as server:
        assert (await ask(server, provider)).finish == "length"
    with LLMServer(answer=lambda _body: "x", faults=["refusal"]) as server:
        assert (await ask(server, provider)).finish == "refusal"


@BOTH
async def test_a_stream_that_breaks_off_is_no_answer(provider):
    with (
        LLMServer(answer=lambda _body: "A long text.", faults=["truncated_body"]) as server,
        pytest.raises(ProviderError),
    ):
        await ask(server, provider)


@pytest.mark.slow
@BOTH
async def test_errors_are_typed_and_retried(provider):
    with LLMServer(answer=lambda _body: "fine", faults=["429", "500", None]) as server:
        reply = await ask(server, provider, attempts=3)
        assert (reply.text, reply.attempts, server.count) == ("fine", 3, 3)
    with LLMServer(faults=["429"]) as server, pytest.raises(RateLimitedError):
        await ask(server, provider)


@BOTH
async def test_a_page_in_place_of_an_answer_is_a_bad_reply(provider):
    with LLMServer(faults=["html"]) as server, pytest.raises(BadReplyError):
        await ask(server, provider)


@BOTH
async def test_lines_may_be_long_and_end_in_two_characters(provider):
    text = "zwölf " * 100_000
    with LLMServer(answer=lambda _body: text, encode=lambda body: body.replace(b"\n", b"\r\n")) as server:
        reply = await ask(server, provider)
    assert reply.text == text
