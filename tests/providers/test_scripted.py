"""The public model for tests: answers from a script, and complains when it ends."""

import pytest

from metajudge.errors import ConfigurationError, RefusedError
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Reply
from tests.doubles.model_requests import ask


async def test_answers_come_in_order_and_requests_are_remembered():
    ready = Reply("second", "length", "x")
    model = ScriptedModel(["first", ready, RefusedError("no")], name="mini")
    first = await model.complete(ask("1"))
    assert (first.text, first.model, first.finish, first.cost_usd) == ("first", "mini", "stop", 0.0)
    assert await model.complete(ask("2")) is ready
    with pytest.raises(RefusedError):
        await model.complete(ask("3"))
    assert [request.messages[0].text for request in model.requests] == ["1", "2", "3"]


async def test_a_function_answers_any_number_of_times():
    model = ScriptedModel(lambda request: request.messages[-1].text.upper())
    assert [(await model.complete(ask(word))).text for word in ("a", "b")] == ["A", "B"]


async def test_an_exhausted_script_is_an_error_and_never_an_empty_answer():
    model = ScriptedModel(["only"])
    await model.complete(ask())
    with pytest.raises(ConfigurationError, match="asked 2 times, but its script has only 1 answers"):
        await model.complete(ask())
