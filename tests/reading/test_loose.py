"""A judgment from loose data: what is read, what is filled in, and what is refused."""

import pytest

from metajudge.errors import InputError
from metajudge.reading.reasons import as_judgment

PAIR = {"question": "2 + 2?", "responses": ["4", "5"]}
ONE = {"question": "2 + 2?", "responses": ["4"]}


def full(loose, verdict, **item):
    return as_judgment({"id": "j", "item": {"id": "i", **loose, **item}, "judge": "owl", "verdict": verdict})


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({**PAIR, "verdict": "A"}, "A>B"),
        ({**PAIR, "verdict": "[[B>>A]]"}, "B>>A"),
        ({**PAIR, "verdict": "tie"}, "A=B"),
        ({**PAIR, "responses": {"x": "4", "y": "5"}, "verdict": "y"}, "y>x"),
        ({**PAIR, "responses": {"0": "4", "1": "5"}, "verdict": 1}, "1>0"),
        ({**PAIR, "responses": ["4", "5", "6"], "verdict": "B>A=C"}, [["B"], ["A", "C"]]),
        ({**ONE, "verdict": "4"}, 4.0),
        ({**ONE, "verdict": True}, True),
        ({**ONE, "verdict": "pass"}, "pass"),
        ({**PAIR, "verdict": None, "no_verdict": "cut off"}, None),
        ({**PAIR, "verdict": ""}, None),
        ({**PAIR, "verdict": 1, "values": {"1": "A", "2": "B"}}, "A>B"),
        ({**PAIR, "verdict": "empate"}, "A=B"),
        ({**ONE, "verdict": "4/5", "label": "**4**"}, 4.0),
        # Without texts an item has an id, and as many responses as the verdict compares.
        ({"item_id": 7, "verdict": "B>A", "label": "B"}, "B>A"),
        ({"item_id": 7, "verdict": "gpt ", "models": {"A": "gpt", "B": "llama"}}, "A>B"),
        ({"item_id": "q", "verdict": 4}, 4.0),
        ({"item_id": "q", "verdict": "pass", "label": "fail"}, "pass"),
    ],
)
def test_a_verdict_is_read_as_files_are(given, verdict):
    found = as_judgment(given)
    assert found.model_dump(mode="json")["verdict"] == verdict
    assert (verdict is None) == (found.no_verdict is not None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": 1}, "verdict: '1' is no verdict here: known are A, B, A>B or tie"),
        ({"verdict": "C"}, "verdict: 'C' is no verdict here"),
        ({"verdict": None}, "say why in no_verdict"),
        ({"label": 2}, "label: '2' is no verdict here"),
        ({"responses": "4 or 5"}, "'responses': found a str: give a list of texts"),
        ({"responses": ["4", None]}, "'responses.B' must be a string, not null"),
        ({"responses": []}, "no responses"),
        ({"rational": ""}, "unknown field 'rational'"),
        ({"labels": []}, "unknown field 'labels'"),
        ({"verdict": 1}, "`values` says what it means: {'1': MEANING}"),
        ({"responses": None}, "responses are missing"),
        ({"question": None}, "the question is missing"),
        *(({name: one}, f"'{name}' must be a string") for name in ("id", "item_id") for one in (7.0, True)),
        ({"question": None, "responses": None, "item_id": "q"}, "it may be a response or a grade: write A>B"),
    ],
)
def test_what_is_not_understood_is_refused_by_its_field(change, message):
    with pytest.raises(InputError) as error:
        as_judgment({**PAIR, "verdict": "A", **change})
    assert message in str(error.value)


def test_what_was_not_said_is_marked_and_ids_follow_the_content():
    loose = as_judgment({**PAIR, "verdict": "A"})
    assert (loose.judge, loose.defaulted) == ("unknown", ("judge", "id", "item_id"))
    same = as_judgment({**PAIR, "responses": {"A": "4", "B": "5"}, "verdict": "A>B", "meta": {"run": 7}})
    other = as_judgment({**PAIR, "verdict": "B", "judge": "owl"})
    assert (same.id, same.item.id) == (loose.id, loose.item.id)
    assert other.id != loose.id
    assert (other.item.id, other.defaulted) == (loose.item.id, ("id", "item_id"))
    named = as_judgment({**PAIR, "verdict": "A", "judge": "owl", "id": "j", "item_id": "i", "label": "B"})
    assert named == full({**PAIR, "responses": {"A": "4", "B": "5"}}, "A>B", label="B>A")
    assert "defaulted" not in named.model_dump()
    trimmed = as_judgment({**PAIR, "verdict": "A", "judge": " owl\n", "id": 7, "item_id": 0, "models": {"A": "m "}})
    assert (trimmed.judge, trimmed.id, trimmed.item.id, trimmed.item.models) == ("owl", "7", "0", {"A": "m"})
