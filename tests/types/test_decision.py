"""What a decision rests on, and what to do with a judgment."""

import json

import pytest
from pydantic import ValidationError

from metajudge.decision import load_policy
from metajudge.types import Assessment, Failure, GuaranteedThreshold, Status, ToDo
from metajudge.types.decision import Action, DecisionInputs
from metajudge.vetting.policies import decided


def inputs(**changes):
    return DecisionInputs(**{"basis": "score", "value": 1.0, "confidence": 0.5, "confidence_rule": "x", **changes})


def test_reviews_need_a_person_and_ends_do_not():
    assert [action for action in Action if action.needs_person] == [Action.REVIEW, Action.REVIEW_PRIORITY]


@pytest.mark.parametrize("name", ["value", "confidence"])
def test_a_number_without_a_reason_or_beside_one_is_refused(name):
    for changes in ({name: None}, {"absent": {name: "none"}}):
        with pytest.raises(ValidationError, match=f"{name}: give either a number"):
            inputs(**changes)


@pytest.mark.parametrize("changes", [{"confidence": 1.01}, {"confidence": -0.1}, {"value": float("nan")}])
def test_numbers_off_their_range_are_refused(changes):
    with pytest.raises(ValidationError):
        inputs(**changes)


def test_the_value_before_corrections_is_written_only_where_there_are_some():
    assert "unadjusted" not in inputs().model_dump()
    assert inputs(unadjusted=2.0).model_dump()["unadjusted"] == 2.0


# What to do with a judgment: one field, the same wherever an assessment is read.
def assessment(**changes):
    given = {
        "judgment_id": "j1",
        "item_id": "i1",
        "judge": "judge",
        "status": Status.ASSESSED,
        "final_score": 4.6,
        "accepted": True,
        "strategy": "weighted_average",
        "threshold": 4.5,
        "panel_digest": "p",
        "judgment_digest": "d",
        "metajudge_version": "0",
    }
    return Assessment(**{**given, **changes})


GUARANTEE = GuaranteedThreshold(threshold=0.9, target=0.9, delta=0.05)
FAILED = {"status": Status.FAILED, "accepted": None, "final_score": None}


@pytest.mark.parametrize(
    ("found", "action", "source", "reason"),
    [
        (assessment(), "keep", "threshold", "the score 4.6 is above the threshold 4.5"),
        (assessment(accepted=False, final_score=4.5), "discard", "threshold", "is not above the threshold 4.5"),
        (
            assessment(final_score=None, score_bounds=(4.6, 5)),
            "keep",
            "threshold",
            "every score that the answers leave",
        ),
        (
            assessment(guarantee=GUARANTEE, probability=0.95),
            "keep",
            "guarantee",
            "reaches the guaranteed threshold 0.9",
        ),
        (assessment(**FAILED, failure=Failure(kind="timeout", message="no answer")), "ask", "nothing", "no answer"),
    ],
)
def test_without_a_policy_it_follows_what_was_accepted(found, action, source, reason):
    assert (found.do.action, found.do.source) == (action, source)
    assert reason in found.do.reason


def test_a_policy_without_probabilities_asks_and_a_reader_takes_it_from_the_other_fields():
    found = decided(load_policy("verdict"), assessment())
    assert (found.kept, found.do.action) == (None, "ask")
    assert "without a calibration" in found.do.reason
    found = assessment()
    data = json.loads(found.model_dump_json())
    assert data["do"] == found.do.model_dump()
    assert "given_to_do" not in data
    wrong = Assessment.model_validate({**data, "do": ToDo(action="ask", source="nothing", reason="x").model_dump()})
    assert wrong == found
    assert Assessment.model_validate_json(json.dumps({**data, "do": "nonsense"})) == found
