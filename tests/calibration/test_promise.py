"""One wording of a guarantee, never without its scope."""

import pytest

from metajudge.calibration.promise import Promise
from metajudge.types import GuaranteedThreshold


def promise(**changes):
    data = {"threshold": 0.72779, "target": 0.85, "delta": 0.1, "judges": ("jay", "owl"), "questions": 85}
    return Promise(**{**data, "unit": "one_per_question", **changes})


def test_a_promise_for_several_judges_is_not_read_as_one_for_each():
    assert promise().sentence() == (
        "Judgments by jay and owl, taken together and not each judge alone, with a probability of 0.7278 or more: with "
        "90 % confidence at least 85 % of them are right, one judgment drawn per question, on new questions like the 85 "
        "the threshold was set on."
    )
    assert "together" not in promise(judges=("owl",)).sentence()
    assert (promise().label, promise(judges=("owl",)).label) == ("guaranteed 85 %, judges together", "guaranteed 85 %")


def test_where_some_judges_alone_are_kept_nothing_is_promised_about_these():
    said = promise().sentence(present=["owl"])
    assert said.endswith("Here it decides only on judgments by owl: about these alone nothing is promised.")
    assert promise(decides=("owl",)).sentence() == said
    assert promise().sentence(present=["owl", "jay"]) == promise().sentence()
    assert "alone nothing" not in promise(judges=("owl",)).sentence(present=["owl"])


def test_the_sentence_is_of_the_quantity_tested():
    assert "one judgment drawn per question" in promise().sentence()
    assert "at least 85 % of the questions with any of them have no wrong one" in promise(unit="any_wrong").sentence()


def test_what_an_old_record_does_not_say_is_said_to_be_missing():
    old = Promise.of_stamp(GuaranteedThreshold(threshold=0.7, target=0.85, delta=0.1)).sentence()
    assert "the record does not say how judgments of one question were counted" in old
    assert "does not name the judges it covers together: it may be invalid for one of them alone" in old
    assert "new questions like those the threshold was set on" in old


def test_an_approximate_promise_proves_nothing():
    assert (
        "approximate, since the scores were fitted on the same questions: nothing is proven."
        in promise(approximate=True).sentence()
    )


@pytest.mark.parametrize("one", [promise(), promise(approximate=True, unit="any_wrong", judges=("owl",))])
def test_an_assessment_carries_the_whole_promise(one):
    assert Promise.of_stamp(GuaranteedThreshold.model_validate_json(one.stamp().model_dump_json())) == one


def test_a_stamp_without_scope_is_stored_as_before():
    assert GuaranteedThreshold(threshold=0.7, target=0.85, delta=0.1).model_dump(mode="json") == {
        "threshold": 0.7,
        "target": 0.85,
        "delta": 0.1,
        "approximate": False,
    }
