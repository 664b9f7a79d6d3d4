"""Reading replies: nothing but the JSON asked for becomes a score."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metajudge.agents.parse import ReplyProblemsError, parse_reply
from metajudge.rubric import load_rubric
from tests.doubles.judgments import CRITERIA, reply

SHORT = load_rubric("short")


def entries(**changes):
    data = {name: {"explanation": "why", "score": 4} for name in CRITERIA}
    return {**data, **changes}


@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        " {}\n",
        "```json\n{}\n```",
        "```\n{}\n```",
        "<think>so {{ }}</think>\n{}",
        "<think>x</think> ```json\n{}\n```",
    ],
)
def test_wrappings_that_change_nothing(wrap):
    text = wrap.replace("{{ }}", "{ }").replace("{}", reply(3))
    assert parse_reply(text, SHORT).criteria["clarity"].score == 3


def test_a_score_of_5_point_0_is_five():
    text = json.dumps(entries(accuracy={"explanation": "", "score": 5.0}))
    assert parse_reply(text, SHORT).criteria["accuracy"].score == 5


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"explanation": "x", "score": 6}, "accuracy.score must be one of the numbers 1, 2, 3, 4, 5, not 6"),
        ({"explanation": "x", "score": 0}, "not 0"),
        ({"explanation": "x", "score": -1}, "not -1"),
        ({"explanation": "x", "score": "5"}, 'not "5"'),
        ({"explanation": "x", "score": 4.5}, "not 4.5"),
        ({"explanation": "x", "score": True}, "not true"),
        ({"explanation": "x", "score": None}, "not null"),
        ({"explanation": "x", "score": [5]}, "not \\[5\\]"),
        ({"explanation": "x", "score": 10**400}, "must be one of the numbers"),
        ({"explanation": "x"}, "accuracy.score is missing"),
        ({"score": 5}, "accuracy.explanation must be a string"),
        ({"explanation": 3, "score": 5}, "accuracy.explanation must be a string"),
        ({"explanation": "x", "score": 5, "weight": 1}, "accuracy has an unknown property 'weight'"),
        (5, "accuracy must be an object, not 5"),
        (None, "accuracy must be an object, not null"),
    ],
)
def test_a_score_that_is_not_one_is_a_problem_never_a_number(entry, problem):
    with pytest.raises(ReplyProblemsError, match=problem):
        parse_reply(json.dumps(entries(accuracy=entry)), SHORT)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (reply(5)[:-1] + ', "accuracy": {"explanation": "x", "score": 1}}', "accuracy is given more than once"),
        (reply(5).replace('"score": 5', '"score": 5, "score": 1', 1), "score is given more than once"),
        ("", "the reply is empty"),
        ("   \n", "the reply is empty"),
        ("The judgment is good. Score: 5", "not one JSON object"),
        (reply(5)[:80], "not one JSON object"),
        (reply(5) + reply(5), "not one JSON object"),
        ("Here you go: " + reply(5), "not one JSON object"),
        ("[" + reply(5) + "]", "a JSON list, not an object"),
        ("5", "a JSON int, not an object"),
        ('{"accuracy": NaN}', "NaN is not a JSON value"),
        ('{"a":' * 100_000, "nested too deeply|not one JSON object"),
        ("<html><body>502 Bad Gateway</body></html>", "not one JSON object"),
        ('{"accuracy": ' + "9" * 5000 + "}", "not one JSON object|must be an object"),
    ],
)
def test_a_reply_that_is_not_the_object_asked_for(text, problem):
    with pytest.raises(ReplyProblemsError, match=problem):
        parse_reply(text, SHORT)


class TestBinary:
    RUBRIC = load_rubric("binary")

    @pytest.mark.parametrize("word", ["Correct", "incorrect", "CORRECT", "c", True, 5, None, ["correct"]])
    def test_nothing_else_is_read_as_correct(self, word):
        with pytest.raises(ReplyProblemsError, match="must be 'correct' or 'wrong'"):
            parse_reply(json.dumps({"correct": {"explanation": "x", "verdict": word}}), self.RUBRIC)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_mutated_replies_never_crash_and_never_yield_a_score_off_the_scale(seed, edits):
    generator = random.Random(seed)
    text = list(reply(generator.randint(1, 5)))
    pool = '{}[]",:0123456789-+.eE\\\n\x00tfn\ud800 \u202e' + "NaN"
    for _ in range(edits):
        at = generator.randrange(len(text) + 1)
        text[at : at + generator.randint(0, 3)] = generator.choices(pool, k=generator.randint(0, 3))
    try:
        scores = parse_reply("".join(text), SHORT).criteria
    except ReplyProblemsError as error:
        assert error.problems
    else:
        assert list(scores) == list(CRITERIA)
        assert all(score.score in (1, 2, 3, 4, 5) for score in scores.values())
