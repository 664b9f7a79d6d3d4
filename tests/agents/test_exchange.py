from metajudge.agents.exchange import ask
from metajudge.agents.parse import ReplyProblemsError
from metajudge.errors import FailureKind, ModelTimeoutError
from metajudge.providers.model import Message, ModelRequest, Parameters
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Reply, Usage

REQUEST = ModelRequest("Be brief.", (Message("user", "A number?"),), None, Parameters(max_tokens=5))


def number(text):
    if not text.isdigit():
        raise ReplyProblemsError(["the reply is no number"])
    return int(text)


async def test_a_reply_that_can_be_read_needs_no_second_one():
    model = ScriptedModel(["7"])
    found = await ask(model, REQUEST, number, asked="owl")
    assert (found.value, found.failure, found.replies, found.text) == (7, None, 1, "7")
    assert len(model.requests) == 1


async def test_a_repair_shows_the_reply_and_its_problems_and_keeps_what_was_asked_for():
    model = ScriptedModel(["seven", "7"])
    found = await ask(model, REQUEST, number, asked="owl")
    assert (found.value, found.replies) == (7, 2)
    again = model.requests[1]
    assert again.parameters == REQUEST.parameters
    assert [message.role for message in again.messages] == ["user", "assistant", "user"]
    assert again.messages[1].text == "seven"
    assert "the reply is no number" in again.messages[2].text


async def test_two_replies_of_no_use_are_a_failure_of_an_answer():
    found = await ask(ScriptedModel(["seven", "eight"]), REQUEST, number, asked="owl")
    assert found.failure.kind is FailureKind.BAD_REPLY
    assert found.replied
    assert found.text == "eight"
    assert "after one repair" in found.failure.message


async def test_without_repair_the_first_reply_counts():
    model = ScriptedModel(["seven"])
    found = await ask(model, REQUEST, number, asked="owl", repair=False)
    assert found.failure.kind is FailureKind.BAD_REPLY
    assert len(model.requests) == 1


async def test_a_reply_that_was_cut_names_the_limit():
    cut = Reply("sev", "length", "m", None)
    found = await ask(ScriptedModel([cut, cut]), REQUEST, number, asked="owl")
    assert found.failure.kind is FailureKind.TRUNCATED
    assert "max_tokens = 5" in found.failure.message


async def test_a_refusal_is_an_answer_and_is_not_repaired():
    model = ScriptedModel([Reply("I would rather not.", "refusal", "m", None)])
    found = await ask(model, REQUEST, number, asked="owl")
    assert found.failure.kind is FailureKind.REFUSED
    assert found.failure.message == "owl declined to answer: I would rather not."
    assert found.replied
    assert len(model.requests) == 1


async def test_a_model_that_could_not_be_asked_has_not_replied():
    found = await ask(ScriptedModel([ModelTimeoutError("late")]), REQUEST, number, asked="owl")
    assert found.failure.kind is FailureKind.TIMEOUT
    assert not found.replied
    assert found.last is None


async def test_a_stored_reply_of_no_use_is_asked_for_anew_only_when_trying_again():
    stored = Reply("seven", "stop", "m", Usage(1, 0, 0, 1), cached=True, attempts=0)
    model = ScriptedModel([stored, "7"])
    found = await ask(model, REQUEST, number, asked="owl", retry=True)
    assert found.value == 7
    assert [request.fresh for request in model.requests] == [False, True]
    assert found.spent.cached_calls == 1
