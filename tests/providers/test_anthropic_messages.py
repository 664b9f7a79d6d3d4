"""Anthropic's messages: what is dropped of a request, and what is made of each answer."""

import httpx2
import orjson
import pytest

from metajudge.errors import BadReplyError, OverloadedError
from metajudge.providers.model import Parameters
from metajudge.providers.protocols import PROTOCOLS
from metajudge.providers.retry import RetryPolicy
from metajudge.providers.stack import Resources
from metajudge.types import Usage
from tests.doubles.model_requests import KEY, SCHEMA, anthropic_message, ask, mocked, model_at


async def exchange(request, response, url="https://api.anthropic.com"):
    """Asks once; returns the reply, the HTTP request and what the user heard."""
    seen = []

    def handler(sent):
        seen.append(sent)
        return response if isinstance(response, httpx2.Response) else httpx2.Response(200, json=response)

    retry = RetryPolicy(attempts=1)
    async with Resources(key_for=lambda spec: KEY, retry=retry, **mocked(handler)) as resources:
        reply = await model_at(url, resources, "anthropic", name="claude-sonnet-4-5").complete(request)
    assert len(seen) == 1
    return reply, seen[0], resources.notices.lines


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/messages"])
async def test_compatible_servers_are_asked_at_the_same_path_and_get_the_key_as_documented(url):
    _, sent, _ = await exchange(ask(), anthropic_message(), url=url)
    assert str(sent.url) == "http://127.0.0.1:1/v1/messages"
    assert sent.headers["x-api-key"] == KEY


async def test_settings_the_protocol_lacks_are_dropped_and_said_once():
    request = ask(temperature=0.0, top_p=0.5, seed=1, effort="minimal")
    _, sent, notices = await exchange(request, anthropic_message())
    body = orjson.loads(sent.content)
    assert not {"temperature", "top_p", "seed"} & set(body)
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA.schema}}
    for name in ("temperature", "top_p", "seed", "effort 'minimal'"):
        assert len([line for line in notices if f"{name} is not sent" in line]) == 1, name


def test_the_required_length_limit_leaves_room_for_thinking():
    limit = PROTOCOLS["anthropic"].limit
    assert [limit(Parameters(effort=effort)) for effort in (None, "low", "high")] == [4096, 4096, 16384]
    assert limit(Parameters(effort="high", max_tokens=5)) == 5


async def test_cached_tokens_are_part_of_the_input():
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 300,
        "output_tokens": 7,
    }
    reply, _, _ = await exchange(ask(), anthropic_message('{"score": 4}', usage=usage))
    assert reply.usage == Usage(input_tokens=2310, cached_tokens=2000, cache_write_tokens=300, output_tokens=7)
    assert (reply.text, reply.finish, reply.model) == ('{"score": 4}', "stop", "m-20250929")


@pytest.mark.parametrize(
    ("answer", "text", "finish"),
    [
        (anthropic_message('{"sc', stop_reason="max_tokens"), '{"sc', "length"),
        (anthropic_message(content=[], stop_reason="max_tokens"), "", "length"),
        (anthropic_message("x", stop_reason="model_context_window_exceeded"), "x", "length"),
        (anthropic_message(content=[], stop_reason="refusal"), "", "refusal"),
        (
            anthropic_message(
                content=[
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "a"},
                    {"type": "text", "text": "b"},
                ]
            ),
            "ab",
            "stop",
        ),
    ],
)
async def test_how_an_answer_ended_is_told(answer, text, finish):
    reply, _, _ = await exchange(ask(), answer)
    assert (reply.text, reply.finish) == (text, finish)


@pytest.mark.parametrize(
    "answer",
    [{"type": "message"}, anthropic_message(content=[]), anthropic_message(""), anthropic_message(content="x")],
)
async def test_an_answer_without_text_is_a_bad_reply_and_never_an_empty_one(answer):
    with pytest.raises(BadReplyError, match=r"claude-sonnet-4-5 at https://api.anthropic.com answered with"):
        await exchange(ask(), answer)


async def test_an_error_inside_a_success_is_that_error():
    with pytest.raises(OverloadedError, match="Overloaded"):
        await exchange(ask(), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None, "output_tokens": 1}, {"input_tokens": 1}])
async def test_an_unusable_report_is_no_usage_and_never_zero_tokens(usage):
    assert (await exchange(ask(), anthropic_message(usage=usage)))[0].usage is None


def test_cache_counts_that_are_null_are_none():
    usage = {
        "input_tokens": 3,
        "output_tokens": 1,
        "cache_read_input_tokens": None,
        "cache_creation_input_tokens": None,
    }
    assert PROTOCOLS["anthropic"].usage(usage) == Usage(3, 0, 0, 1)


async def test_a_useless_answer_that_was_billed_says_what_it_took():
    for answer in (anthropic_message(content=[]), {**anthropic_message(), "content": None}):
        with pytest.raises(BadReplyError) as failed:
            await exchange(ask(), answer)
        assert failed.value.usage == Usage(10, 0, 0, 5)
