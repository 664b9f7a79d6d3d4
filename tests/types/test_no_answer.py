"""Words and numbers that stand for no answer, each beside the other values of its column."""

import pytest

from metajudge.types import Judgment
from metajudge.types.no_answer import no_answer

SIDES = ("pass", "fail")
GRADES = ("1", "2", "3.5", "5")


NO_ANSWERS = (
    "parse_error|Parse Error|timeout|timed out|#N/A|#DIV/0!|n.a.|N/A|-|--|?|...|[ERROR] 429|[ERROR]|$ERROR$|<failed>|"
    "__invalid__|RateLimitError: slow down|error 503|Error: no JSON found|unsure|Not sure|skip|can't tell|can\u2019t tell|"
    "don't know|no answer"
)


@pytest.mark.parametrize("key", NO_ANSWERS.split("|"))
def test_no_verdict_anywhere(key):
    assert no_answer(key) is no_answer(key, SIDES) is no_answer(key, ("A", "B"), several=True) is True


@pytest.mark.parametrize(
    "key",
    ["pass", "C", "tie", "both", "0", "-1", "99", "A>B", "=", "\U0001f44d", "skipping steps", "no", "error", "unknown"],
)
def test_an_answer_where_nothing_else_is_known(key):
    assert no_answer(key) is False


@pytest.mark.parametrize(
    ("key", "beside", "expected"),
    [
        ("ERROR", SIDES, True),
        ("ERROR", GRADES, True),
        ("error", ("error", "no_error"), False),
        ("error", ("pass", "error"), None),
        ("error", ("error", "error"), None),
        ("error", ("toxic", "clean", "error"), None),
        ("failed", ("passed", "failed"), False),
        ("failed", ("passed", "failed", "fail"), False),
        ("failed", ("pass", "failed"), False),
        ("failed", ("pass", "fail", "failed"), True),
        ("failure", ("success", "failure"), False),
        ("invalid", ("valid", "invalid"), False),
        ("invalid", SIDES, True),
        ("unknown", SIDES, True),
        ("unknown", ("red", "blue", "unknown"), False),
        ("unknown", GRADES, True),
        ("-", ("+", "-"), False),
    ],
)
def test_a_word_beside_others(key, beside, expected):
    assert no_answer(key, beside) is expected


def test_a_failure_is_no_verdict_on_several_responses():
    assert no_answer("failed", ("A", "B", "failed"), several=True) is True
    assert no_answer("unknown", ("A", "B", "unknown"), several=True) is False, "it may be a tie: it is asked about"


@pytest.mark.parametrize(
    ("key", "beside", "expected"),
    [
        ("-1", GRADES, True),
        ("-1.0", GRADES, True),
        ("99", GRADES, True),
        ("999", GRADES, True),
        ("-99", ("0", "1"), True),
        ("99", ("0", "1"), True),
        ("-1", ("0", "1"), None),
        ("-1", ("0", "1", "2"), None),
        ("-1", ("-1", "1"), None),
        ("-1", ("5",), None),
        ("-1", ("-1",), None),
        ("99", ("5",), None),
        ("99", ("99",), False),
        ("-1", ("-2", "3"), False),
        ("99", ("55", "80", "100"), False),
        ("99", ("1", "11"), False),
        ("99", ("1", "10"), True),
        ("999", ("55", "100"), True),
        ("7", GRADES, False),
        ("-2", GRADES, False),
    ],
)
def test_a_number_beside_others(key, beside, expected):
    assert no_answer(key, beside) is expected


@pytest.mark.parametrize(
    ("key", "scale", "expected"),
    [("-1", (1, 5), True), ("-1", (-1, 1), False), ("-1", (0, 1), True), ("99", (0, 100), False), ("7", (1, 5), False)],
)
def test_a_number_and_the_scale_declared(key, scale, expected):
    assert no_answer(key, ("0", "1"), scale) is expected


def record(verdict, **item):
    return Judgment.model_validate(
        {
            "id": "j",
            "judge": "g",
            "verdict": verdict,
            "item": {"id": "i", "question": "?", "responses": {"A": "x"}} | item,
        }
    )


def test_a_record_with_a_word_for_no_answer_has_no_verdict_and_no_label():
    found = record(" Timeout ", label="unsure", labels=[{"value": "skip"}, {"value": "pass"}])
    assert (found.verdict, found.no_verdict) == (None, "the verdict is 'Timeout', which stands for no answer")
    assert found.item.label is None
    assert [str(one.value) for one in found.item.labels] == ["pass"]
    assert Judgment.model_validate(found.model_dump()) == found
    assert str(record({"category": "timeout"}).verdict) == "timeout"
    assert str(record("skip", scale=["skip", "read"]).verdict) == "skip"
    assert record("A>B", responses={"A": "x", "B": "y"}).verdict is not None
