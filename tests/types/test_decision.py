"""What a decision rests on: every number is there, or the reason why not."""

import pytest
from pydantic import ValidationError

from metajudge.types.decision import Action, DecisionInputs


def inputs(**changes):
    return DecisionInputs(**{"basis": "score", "value": 1.0, "confidence": 0.5, "confidence_rule": "x", **changes})


def test_reviews_need_a_person_and_ends_do_not():
    assert [action for action in Action if action.needs_person] == [Action.REVIEW, Action.REVIEW_PRIORITY]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"confidence": None}, "confidence"),
        ({"value": None}, "value"),
        ({"absent": {"value": "none"}}, "value"),
        ({"absent": {"confidence": "none"}}, "confidence"),
    ],
)
def test_a_number_without_a_reason_or_beside_one_is_refused(changes, name):
    with pytest.raises(ValidationError, match=f"{name}: give either a number"):
        inputs(**changes)


@pytest.mark.parametrize("changes", [{"confidence": 1.01}, {"confidence": -0.1}, {"value": float("nan")}])
def test_numbers_off_their_range_are_refused(changes):
    with pytest.raises(ValidationError):
        inputs(**changes)


def test_the_value_before_corrections_is_written_only_where_there_are_some():
    assert "unadjusted" not in inputs().model_dump()
    assert inputs(unadjusted=2.0).model_dump()["unadjusted"] == 2.0
