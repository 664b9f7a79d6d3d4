"""A pairwise judge's reply: read strictly, or refused with what is wrong."""

import json

import pytest
from jsonschema import Draft202012Validator

from metajudge.agents import ReplyProblemsError
from metajudge.judging.replies import MARKS, SCHEMA, parse_pairwise_reply, stated_marks
from tests.doubles.judging import verdict


@pytest.mark.parametrize("mark", MARKS)
def test_each_of_the_five_verdicts_is_read_and_follows_the_schema(mark):
    reply = parse_pairwise_reply(verdict(mark, "because"))
    assert (reply.mark, reply.reasoning) == (mark, "because")
    Draft202012Validator(dict(SCHEMA.schema)).validate(json.loads(verdict(mark)))


def test_the_reasoning_is_asked_for_before_the_verdict():
    assert list(SCHEMA.schema["properties"]) == SCHEMA.schema["required"] == ["reasoning", "verdict"]


def test_a_code_fence_and_a_thought_are_tolerated():
    assert parse_pairwise_reply(f"<think>A>>B?</think>```json\n{verdict('B>A')}\n```").mark == "B>A"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the reply is empty"),
        ("I prefer A. [[A>B]]", "not one JSON object"),
        (verdict()[:30], "not one JSON object"),
        (f"{verdict('A>B')}\n{verdict('B>A')}", "not one JSON object"),
        ('["A>B"]', "a JSON list, not an object"),
        ('{"reasoning": "x"}', "verdict is missing"),
        ('{"verdict": "A>B"}', "reasoning is missing"),
        (verdict("A"), 'verdict must be one of A>>B, A>B, A=B, B>A, B>>A, not "A"'),
        (verdict("[[A>B]]"), "verdict must be one of"),
        (verdict("A>>>B"), "verdict must be one of"),
        (verdict("A > B"), "verdict must be one of"),
        (verdict("tie"), "verdict must be one of"),
        ('{"reasoning": "x", "verdict": null}', "not null"),
        ('{"reasoning": "x", "verdict": 1}', "not 1"),
        ('{"reasoning": "x", "verdict": ["A>B"]}', "verdict must be one of"),
        ('{"reasoning": 5, "verdict": "A>B"}', "reasoning must be a string"),
        ('{"reasoning": "x", "verdict": "A>B", "score": 5}', "unknown property 'score'"),
        ('{"reasoning": "x", "verdict": "A>B", "verdict": "B>A"}', "verdict is given more than once"),
    ],
)
def test_no_verdict_is_guessed(text, problem):
    with pytest.raises(ReplyProblemsError) as caught:
        parse_pairwise_reply(text)
    assert problem in str(caught.value)


def test_the_different_marks_of_a_text_are_found_for_the_reason_alone():
    assert stated_marks('[[A>B]] ... [[ B >> A ]] {"verdict": "A>B"}') == ["A>B", "B>>A"]
    assert stated_marks("A>B, clearly") == []
