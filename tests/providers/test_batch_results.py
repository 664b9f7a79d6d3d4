"""Files of results of both protocols, read by custom id, and what batches cost."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metajudge.providers.batch_services import SERVICES, BatchAnswer, Ending
from metajudge.providers.prices import FlatPrice, find_batch_price, find_price
from metajudge.providers.spec import AgentSpec
from metajudge.types import Usage

OPENAI, ANTHROPIC = (SERVICES[name](None) for name in ("openai", "anthropic"))


def openai_line(name, body="fine", status=200):
    response = {"status_code": status, "request_id": "r", "body": body}
    return json.dumps({"id": "x", "custom_id": name, "response": response, "error": None}).encode() + b"\n"


def test_answers_are_matched_by_id_and_different_ones_to_one_request_count_not_at_all():
    lines = [openai_line(name, name) for name in "abc"]
    for files in ([b"".join(lines)], [b"".join(lines[::-1])], [lines[2], lines[0] + lines[1]]):
        found = OPENAI.results(files, "abc")
        assert {name: json.loads(one.content) for name, one in found.answers.items()} == {n: n for n in "abc"}
        assert found.oddities() == ""
    equal = OPENAI.results([openai_line("a") * 3], "a")
    assert (equal.answers["a"].status, equal.repeated) == (200, 1)
    for first, second in (("x", "y"), ("y", "x")):
        found = OPENAI.results([openai_line("a", first) + openai_line("a", second)], "a")
        assert (found.answers["a"].ending, found.repeated) == (Ending.CONTRADICTORY, 1)


def test_a_file_cut_in_the_middle_of_a_line_and_what_no_line_mentions():
    whole = openai_line("a") + openai_line("b")
    assert not OPENAI.results([whole.rstrip(b"\n")], "ab").cut
    found = OPENAI.results([whole[:-30]], "ab")
    assert (found.cut, found.unreadable, found.missing) == (True, 1, 1)
    assert found.answers["b"].ending is Ending.MISSING
    assert OPENAI.results([], "a", Ending.EXPIRED).answers["a"].ending is Ending.EXPIRED


@given(st.binary(max_size=300), st.sampled_from([OPENAI, ANTHROPIC]))
def test_no_bytes_make_an_answer_out_of_thin_air_or_crash(content, service):
    found = service.results([content], ["a"])
    assert found.answers["a"].ending is Ending.MISSING


WORDS = ["a", "b", "succeeded", "errored", "expired", "canceled", "batch_expired", ""]


KEYS = ["custom_id", "response", "error", "result", "type", "status_code", "body", "message", "code"]


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=12,
)


@given(ANY_JSON | st.fixed_dictionaries({"custom_id": st.just("a")}, optional=dict.fromkeys(KEYS[1:4], ANY_JSON)))
def test_whatever_json_a_line_holds_it_counts_once_and_answers_only_the_request_it_names(value):
    line = json.dumps(value).encode()
    names_it = isinstance(value, dict) and value.get("custom_id") == "a"
    for service in (OPENAI, ANTHROPIC):
        found = service.results([line + b"\n"], ["a"])
        answered = found.answers["a"].ending is not Ending.MISSING
        assert (list(found.answers), found.repeated, found.cut) == (["a"], 0, False)
        assert found.unreadable + found.unknown + answered == 1
        assert names_it or not answered


def anthropic_line(name, **result):
    return json.dumps({"custom_id": name, "result": result}).encode() + b"\n"


def test_errors_get_the_status_and_reason_they_have_live():
    for kind, status in (("invalid_request_error", 400), ("overloaded_error", 529), ("new_error", 500)):
        error = {"type": "error", "error": {"type": kind, "message": "m"}}
        line = json.loads(anthropic_line("a", type="errored", error=error))
        assert ANTHROPIC.read(line)[1].status == status
    assert ANTHROPIC.read(json.loads(anthropic_line("a", type="canceled")))[1].ending is Ending.CANCELED
    assert ANTHROPIC.read(json.loads(anthropic_line("a", type="unheard_of"))) is None
    expired = {"custom_id": "a", "response": None, "error": {"code": "batch_expired", "message": "late"}}
    broken = {"custom_id": "a", "response": None, "error": {"code": "other", "message": "oh"}}
    assert OPENAI.read(expired) == ("a", BatchAnswer(None, ending=Ending.EXPIRED))
    assert OPENAI.read(broken)[1].status == 500
    assert OPENAI.read({"custom_id": "a"}) is None
    assert OPENAI.read({"response": {"status_code": 200}}) is None


USAGE = Usage(10_000, 2_000, 0, 1_000)


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "gpt-4o-mini"), ("openai", "gpt-4.1"), ("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-4")],
)
def test_the_big_two_take_half(provider, model):
    spec = AgentSpec(model, provider, model)
    live, batch = find_price(spec), find_batch_price(spec)
    assert batch.cost(Usage(10_000, 0, 0, 1_000)) == pytest.approx(live.cost(Usage(10_000, 0, 0, 1_000)) / 2)


def test_a_users_own_price_is_halved_too_and_an_unknown_one_stays_unknown():
    own = FlatPrice.of(1.0, 10.0)
    assert find_batch_price(AgentSpec("m", "openai", "m"), own).cost(USAGE) == pytest.approx(own.cost(USAGE) / 2)
    assert find_batch_price(AgentSpec("m", "together", "m"), own).cost(USAGE) == pytest.approx(own.cost(USAGE))
    assert find_batch_price(AgentSpec("m", "openai", "nobody-knows")) is None
    assert find_batch_price(AgentSpec("m", "ollama", "m")) is None
