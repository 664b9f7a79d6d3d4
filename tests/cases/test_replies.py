"""Case judges' replies: what is read, and what is refused."""

import json

import jsonschema
import pytest

from metajudge.agents import ReplyProblemsError
from metajudge.cases.replies import case_schema, fields_of, parse_case_reply
from metajudge.decision import case_rubric, load_policy
from tests.doubles.cases import RELEVANCE, reply

RUBRIC = case_rubric(load_policy("risk_analysis")).only(RELEVANCE)


def problems(text, rubric=RUBRIC):
    with pytest.raises(ReplyProblemsError) as found:
        parse_case_reply(text, rubric)
    return found.value.problems


def entry(**changes):
    return {"comment": "c", "evidence": [], "weaknesses": [], "score": 9, "confidence": 0.9, **changes}


def test_a_reply_is_read_and_fits_the_schema():
    text = reply(RELEVANCE, evidence=["words"], weaknesses=["late"])
    found = parse_case_reply(text, RUBRIC)
    assert list(found) == list(RELEVANCE)
    assert found["traceability"].score == 10.0
    assert found["traceability"].confidence == 0.98
    assert found["traceability"].evidence == ("words",)
    jsonschema.Draft202012Validator(case_schema(RUBRIC).schema).validate(json.loads(text))


def test_reasons_come_before_the_score():
    assert fields_of(RUBRIC) == ("comment", "evidence", "weaknesses", "score", "confidence")
    plain = RUBRIC.model_copy(update={"asks": ()})
    assert fields_of(plain) == ("comment", "score")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score": 11}, "must be one of the numbers 0, 1, 2"),
        ({"score": 8.5}, "must be one of the numbers"),
        ({"score": "9"}, 'not "9"'),
        ({"score": True}, "not true"),
        ({"score": None}, "not null"),
        ({"confidence": 1.01}, "confidence must be a number from 0 to 1, not 1.01"),
        ({"confidence": -0.1}, "confidence must be a number from 0 to 1"),
        ({"confidence": None}, "confidence must be a number from 0 to 1, not null"),
        ({"confidence": "high"}, "confidence must be a number from 0 to 1"),
        ({"evidence": "words"}, "evidence must be a list of strings"),
        ({"weaknesses": [1]}, "weaknesses must be a list of strings"),
        ({"evidence": ["x"] * 51}, "evidence has 51 entries; at most 50"),
        ({"comment": 3}, "comment must be a string"),
        ({"remark": "x"}, "unknown property 'remark'"),
    ],
)
def test_what_is_refused_in_an_entry(change, said):
    found = problems(reply(RELEVANCE, traceability=entry(**change)))
    assert len(found) == 1
    assert "traceability" in found[0]
    assert said in found[0]


def test_every_problem_is_named_at_once():
    text = reply(RELEVANCE, traceability={"score": 12}, extra=entry())
    found = problems(text)
    assert "unknown property 'extra'" in found
    assert "traceability.comment is missing" in found
    assert any("traceability.score must be" in one for one in found)


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"a": NaN}', reply(RELEVANCE) + " and more"])
def test_a_reply_that_is_no_object(text):
    assert problems(text)
