"""Single responses graded from 1 to 10."""

import json

import pytest

from metajudge.agents import ReplyProblemsError
from metajudge.errors import FailureKind, ModelTimeoutError
from metajudge.judging.grading import GradingJudge, parse_grading_reply
from metajudge.judging.records import judgment_of
from metajudge.types import Judgment
from tests.doubles.judging import item
from tests.doubles.ranking import fails, says


def said(grade=7):
    return json.dumps({"reasoning": "Adds up.", "grade": grade})


async def test_a_grade_becomes_a_judgment_of_one_response():
    record = judgment_of(await GradingJudge("j", says(said(7))).grade(item(label="A>B"), "B"))
    assert (record.id, record.order, record.verdict.value) == ("i1/j/B", ("B",), 7.0)
    assert isinstance(record.verdict.value, float)
    assert Judgment.model_validate_json(record.model_dump_json()) == record


@pytest.mark.parametrize("grade", [0, 11, 7.5, "7", None, True])
def test_what_is_no_grade_is_refused(grade):
    with pytest.raises(ReplyProblemsError, match="whole number from 1 to 10"):
        parse_grading_reply(said(grade))


def test_missing_and_unknown_properties_are_named():
    with pytest.raises(ReplyProblemsError, match="grade is missing"):
        parse_grading_reply('{"reasoning": "x"}')
    with pytest.raises(ReplyProblemsError, match="unknown property 'score'"):
        parse_grading_reply('{"reasoning": "x", "grade": 1, "score": 2}')


async def test_a_judge_that_gives_no_grade_is_recorded_and_one_that_is_lost_is_not():
    found = await GradingJudge("j", says("about seven")).grade(item(), "A")
    record = judgment_of(found)
    assert record.verdict is None
    assert "no usable reply" in record.no_verdict
    lost = await GradingJudge("j", fails(ModelTimeoutError("late"))).grade(item(), "A")
    assert lost.failure.kind is FailureKind.TIMEOUT
    with pytest.raises(ValueError, match="gave no judgment"):
        judgment_of(lost)
