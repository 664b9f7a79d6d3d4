"""Finding out what a server accepts: once, shared, said; by its words, else by its answers."""

import pytest

from metajudge.errors import BadRequestError, ContextTooLongError, NotFoundError, ServerError
from metajudge.providers.negotiation import Dialect, Negotiation, OutputMode
from metajudge.providers.notices import Notices

MODES = (OutputMode.JSON_SCHEMA, OutputMode.JSON_OBJECT, OutputMode.TEXT)
BODY = {"model": "m", "temperature": 0, "seed": 1, "max_tokens": 5, "response_format": {"type": "json_schema"}}


def negotiation(**dialect):
    notices = Notices()
    return Negotiation("m", Dialect(**dialect), MODES, notices, versioned=True), notices


def settled(**dialect):
    found, notices = negotiation(**dialect)
    found.accepted(found.begin(), structured=True)
    return found, notices


@pytest.mark.parametrize(
    "said",
    [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "This model does not support response format `json_schema`.",
        "This response_format type is unavailable now",
        "output_config.format: Extra inputs are not permitted",
        "'response_format.type' must be 'json_object'",
        "This model does not support structured outputs",
        "Invalid value at 'generation_config.response_schema'",
        "guided_json is not supported by the outlines backend",
    ],
)
@pytest.mark.parametrize("kind", [BadRequestError, NotFoundError, ServerError])
def test_servers_without_schemas_are_asked_more_plainly_step_by_step(said, kind):
    found, notices = negotiation()
    for mode in (OutputMode.JSON_OBJECT, OutputMode.TEXT):
        assert found.rejected(found.dialect, BODY, kind(said)) is not None
        assert found.dialect.mode is mode
    assert len(notices.lines) == 2


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ("Unsupported value: 'messages[0].role' does not support 'system' with this model.", {"system"}),
        ("System role not supported", {"system"}),
        ("Conversation roles must alternate user/assistant/user/assistant/...", {"system"}),
        ("invalid temperature: only 1 is allowed for this model", {"temperature"}),
        ("Unsupported value: 'temperature' does not support 0 with this model.", {"temperature"}),
        ("seed: Extra inputs are not permitted", {"seed"}),
        ("temperature: range: 0..1", {"temperature"}),
    ],
)
def test_what_a_rejection_names_is_left_out_loudly_and_alone(said, changed):
    found, notices = negotiation()
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is not None
    assert found.dialect == Dialect(dropped=frozenset(changed))
    assert len(notices.lines) == 1


def test_a_parameter_may_be_spelled_as_the_server_does_and_one_that_was_not_sent_is_not_blamed():
    found, _ = settled()
    body = BODY | {"reasoning_effort": "low"}
    assert found.rejected(found.dialect, body, BadRequestError("Argument not supported: reasoningEffort")) is not None
    assert found.dialect.dropped == {"reasoning_effort"}
    found, _ = settled()
    assert (
        found.rejected(found.dialect, BODY, BadRequestError("Unsupported parameter: 'top_p' is not supported")) is None
    )


@pytest.mark.parametrize(
    "said", ["This model only support stream mode", "enable_thinking must be set to false for non-streaming calls"]
)
def test_a_server_that_only_streams_is_asked_for_streams(said):
    found, _ = negotiation()
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is not None
    assert found.dialect == Dialect(stream=True)


def test_enumerations_of_integers_become_strings_where_the_server_says_so():
    found, _ = negotiation()
    said = "Invalid value at 'generation_config.response_schema.properties[0].value.enum[0]' (TYPE_STRING), 1"
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is not None
    assert found.dialect == Dialect(string_enums=True)


def test_the_limits_other_name_is_tried_once():
    found, _ = negotiation()
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is not None
    assert found.dialect.max_tokens_name == "max_completion_tokens"
    found.accepted(found.begin(), structured=True)
    assert found.rejected(found.dialect, BODY, BadRequestError(said)) is None


def test_our_limit_is_lowered_to_a_small_context_and_a_prompt_that_does_not_fit_is_said():
    found, notices = negotiation()
    words = (
        "This model's maximum context length is 4096 tokens. However, you requested 5996 tokens (1900 in the "
        "messages, 4096 in the completion). Please reduce the length of the messages or completion."
    )
    assert found.rejected(found.dialect, BODY | {"max_tokens": 4096}, ContextTooLongError(words)) is not None
    assert found.dialect.limit == 4096 - 1900 - 32
    assert len(notices.lines) == 1
    full = words.replace("1900", "4000")
    assert found.rejected(found.dialect, BODY | {"max_tokens": 2164}, ContextTooLongError(full)) is None
    assert found.rejected(found.dialect, BODY, ContextTooLongError("prompt is too long: 250000 tokens")) is None


def test_a_first_rejection_in_unknown_words_is_answered_by_the_plainest_form_and_walked_back_up():
    found, notices = negotiation()
    assert found.rejected(found.begin(), BODY, BadRequestError("nope")) is not None
    plainest = Dialect(OutputMode.TEXT, dropped=frozenset({"system", "temperature", "seed"}))
    assert found.dialect == plainest
    found.accepted(found.begin(), structured=True)
    refused, tried = {"temperature"}, []
    for _ in range(12):  # a server that minds the temperature alone
        dialect = found.begin()
        tried.append(dialect)
        if refused - dialect.dropped:
            assert found.rejected(dialect, BODY, BadRequestError("nope")) is not None
        else:
            found.accepted(dialect, structured=True)
    assert found.dialect == Dialect(dropped=frozenset({"temperature"}))
    assert len(set(tried)) <= 6
    assert notices.lines == ("m: temperature is not sent: the server does not accept it",)


def test_a_request_that_is_at_fault_itself_changes_nothing_and_costs_one_more():
    found, notices = negotiation()
    before = found.dialect
    assert found.rejected(before, BODY, BadRequestError("nope")) is not None
    assert found.rejected(found.dialect, BODY, BadRequestError("nope")) is None
    assert (found.dialect, notices.lines) == (before, ())
    found, notices = settled()
    assert found.rejected(before, BODY, BadRequestError("nope")) is None
    assert (found.dialect, notices.lines) == (before, ())


def test_only_one_call_tries_what_may_come_back():
    found, _ = negotiation()
    found.rejected(found.begin(), BODY, BadRequestError("nope"))
    plain = found.begin()
    found.accepted(plain, structured=True)
    assert found.begin() != plain
    assert [found.begin() for _ in range(5)] == [plain] * 5


def test_an_address_without_a_version_is_tried_once_where_the_path_is_not_found():
    found, _ = negotiation()
    missing = NotFoundError("HTTP 404: 404 page not found")
    assert found.rejected(found.begin(), BODY, missing) is not None
    assert found.dialect.bare
    assert found.rejected(found.begin(), BODY, missing) is None
    assert not found.dialect.bare
    assert found.rejected(found.begin(), BODY, missing) is None


@pytest.mark.parametrize(
    ("asked", "answered", "said"),
    [
        ("gpt-4o-mini", "gpt-4o-mini-2024-07-18", 0),
        ("openai/gpt-4o", "gpt-4o", 0),
        ("meta-llama/llama-3:free", "meta-llama/llama-3", 0),
        ("m", "m", 0),
        ("gpt-4o", "claude-sonnet-4-5", 1),
    ],
)
def test_another_model_than_asked_for_is_said_once(asked, answered, said):
    notices = Notices()
    found = Negotiation(asked, Dialect(), MODES, notices)
    for _ in range(3):
        found.answered_by(answered)
    assert len(notices.lines) == said


def test_calls_under_way_make_it_no_plainer():
    found, _ = negotiation()
    used = found.dialect
    for _ in range(10):
        assert found.rejected(used, BODY, BadRequestError("response_format is not supported")) is not None
    assert found.dialect.mode is OutputMode.JSON_OBJECT
