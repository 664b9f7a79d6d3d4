"""Decisions on many values: each as it is made alone."""

import numpy as np
import pytest

from metajudge.decision import Absent, decide_adjusted, parse_policy
from metajudge.decision.columns import decide_column
from metajudge.errors import InputError
from tests.decision.policy_texts import band, small

NONE = Absent("agreement needs two agents with a score, and there are 0")
THREE = [
    band("REJECT", {"below": 0.4}),
    band("REVIEW", {"at_least": 0.4, "below": 0.8}, {"below": 0.7}),
    band("APPROVE", {"at_least": 0.4, "below": 0.8}, {"at_least": 0.7}),
    band("APPROVE", {"at_least": 0.8}),
]
ALONE = [band("REJECT", {"below": 0.4}), band("REVIEW", {"at_least": 0.4})]
LEARNED = {"recalibration": {"intercept": 0.2, "slope": 0.7}, "confidence": {"intercept": 0.1, "slope": 1.2}}
POLICIES = {
    "two bands": small(),
    "three bands": small(bands=THREE),
    "bands without confidence": small(bands=THREE, without_confidence=ALONE),
    "learned": small(bands=THREE, adjustment=LEARNED),
    "one band": small(bands=[band("REVIEW")]),
}
VALUES = np.array([0.0, 0.1, 0.4 - 1e-12, 0.4, 0.4 + 2e-9, 0.5, 0.5, 0.6, 0.8 - 1e-10, 0.8, 0.93, 1.0])


@pytest.mark.parametrize("confidence", [NONE, 0.0, 0.65, 0.7, 1.0])
@pytest.mark.parametrize("text", POLICIES.values(), ids=POLICIES)
def test_every_decision_is_the_one_made_alone(text, confidence):
    policy = parse_policy(text, "mine.yaml")
    values = np.concatenate([VALUES, np.random.default_rng(3).random(40)])
    found = decide_column(policy, values, confidence)
    alone = [decide_adjusted(policy, value, confidence, {}, {}) for value in values.tolist()]
    assert [found.at(row) for row in range(len(values))] == alone


def test_a_kind_is_a_stretch_between_two_bounds():
    found = decide_column(parse_policy(POLICIES["three bands"], "mine.yaml"), VALUES, NONE)
    assert [kind.action for kind in found.kinds] == ["REJECT", "REVIEW_PRIORITY", "APPROVE"]
    assert found.codes.tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2]


def test_a_value_off_the_scale_is_refused_as_it_is_alone():
    with pytest.raises(InputError, match="lies outside 0"):
        decide_column(parse_policy(small(), "mine.yaml"), np.array([0.5, 1.5]), NONE)


def test_of_no_values_there_is_no_kind():
    assert decide_column(parse_policy(small(), "mine.yaml"), np.zeros(0), NONE).kinds == []
