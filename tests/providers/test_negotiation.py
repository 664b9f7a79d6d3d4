"""Finding out what a server accepts: once, shared, and said."""

import asyncio

import pytest

from metajudge.errors import AuthError, BadRequestError
from metajudge.providers.negotiation import Dialect, Negotiation, OutputMode
from metajudge.providers.notices import Notices

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


def test_the_other_name_of_the_length_limit_is_tried_once():
    found, _ = negotiation()
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is not None
    assert found.dialect.max_tokens_name == "max_completion_tokens"
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is None


def test_an_unsupported_parameter_is_dropped_loudly_and_alone():
    found, notices = negotiation()
    said = "Unsupported value: 'temperature' does not support 0 with this model."
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is not None
    assert found.dialect == Dialect(dropped=frozenset({"temperature"}))
    assert notices.lines == ("m: temperature is not sent: the server does not support it",)


def test_a_parameter_that_was_not_sent_is_not_blamed():
    found, _ = negotiation()
    said = "Unsupported parameter: 'top_p' is not supported"
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is None


def test_calls_that_were_under_way_do_not_make_it_plainer_still():
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
