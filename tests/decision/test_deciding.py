"""Bands to decisions: boundaries, missing numbers, margins."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metajudge.decision import Absent, Action, Policy, decide, decide_adjusted, load_policy, parse_policy
from metajudge.decision.deciding import decide_column
from metajudge.errors import InputError
from tests.decision.policy_texts import band, small

RISK = load_policy("risk_analysis")
VERDICT = load_policy("verdict")


@pytest.mark.parametrize(
    ("score", "confidence", "action"),
    [
        (8.5, 0.85, Action.APPROVE),
        (10, 1.0, Action.APPROVE),
        (8.5, 0.8499, Action.REVIEW),
        (8.5, 0.0, Action.REVIEW),
        (8.4999, 0.85, Action.REVIEW),
        (8.4999, 0.80, Action.REVIEW),
        (8.4999, 0.7999, Action.REVIEW_PRIORITY),
        (7.0, 0.80, Action.REVIEW),
        (7.0, 0.7999, Action.REVIEW_PRIORITY),
        (6.9999, 1.0, Action.REJECT),
        (6.9999, 0.0, Action.REJECT),
        (0, 0.5, Action.REJECT),
    ],
)
def test_every_boundary_of_the_risk_policy(score, confidence, action):
    decision = decide(RISK, score, confidence)
    assert decision.action is action
    assert decision.policy_digest == RISK.digest
    assert decision.inputs.value == score
    assert decision.inputs.confidence == confidence
    assert decision.justification == RISK.bands[decision.band].justification


def test_float_noise_moves_no_boundary_and_a_missing_score_goes_to_a_person_first():
    noisy = 8.5 - 1e-12
    assert noisy < 8.5
    assert decide(RISK, noisy, 0.85 - 1e-12).action is Action.APPROVE
    assert decide(RISK, 8.5 - 2e-9, 0.9).action is Action.REVIEW
    decision = decide(RISK, Absent("two judges timed out"), 0.99)
    assert decision.action is Action.REVIEW_PRIORITY
    assert decision.inputs.value is None
    assert decision.inputs.absent == {"value": "two judges timed out"}
    assert "two judges timed out" in decision.justification
    assert decision.margin is None
    assert decision.band is None


def test_what_is_missing_goes_to_a_person_where_it_matters_and_one_agent_has_its_own_bands():
    decision = decide(RISK, 9.0, Absent("not asked for"))
    assert decision.action is Action.REVIEW_PRIORITY
    assert "not asked for" in decision.justification
    decision = decide(RISK, 6.0, Absent("not asked for"))
    assert decision.action is Action.REJECT
    assert decision.band == 4
    assert decide(VERDICT, 0.95, Absent("one agent")).action is Action.APPROVE
    assert decide(VERDICT, 0.9499, Absent("one agent")).action is Action.REVIEW
    assert decide(VERDICT, 0.9499, 1.0).action is Action.APPROVE
    decision = decide(VERDICT, Absent("no calibration"), Absent("one agent"))
    assert decision.action is Action.REVIEW_PRIORITY
    assert set(decision.inputs.absent) == {"value", "confidence"}


@pytest.mark.parametrize(
    ("name", "axis", "numbers"),
    [
        ("confidence", r"0\.\.1:", [(9.0, one) for one in (-0.01, 1.01, math.nan, math.inf, True)]),
        ("score", r"0\.\.10", [(one, 0.9) for one in (-0.1, 10.1, math.nan, -math.inf)]),
    ],
)
def test_a_number_off_its_scale_is_refused_and_not_clipped(name, axis, numbers):
    for score, confidence in numbers:
        with pytest.raises(InputError, match=f"{name} .* lies outside {axis}"):
            decide(RISK, score, confidence)


def test_margin_is_the_smallest_change_of_one_number_alone():
    assert decide(RISK, 8.74, 0.90).margin == pytest.approx(0.024)  # score: .24 of 10; confidence: .05 of 1
    assert decide(RISK, 9.9, 0.86).margin == pytest.approx(0.01)
    assert decide(RISK, 3.0, 0.5).margin == pytest.approx(0.4)
    assert decide(RISK, 8.5, 0.85).margin == 0


@given(st.floats(0, 10), st.floats(0, 1))
def test_exactly_one_band_decides_and_a_move_within_the_margin_changes_nothing(score, confidence):
    decision = decide(RISK, score, confidence)
    inside = [band for band in RISK.bands if band.contains(score, confidence)]
    assert [band.action for band in inside] == [decision.action]
    margin = decision.margin
    for step in (-0.999, 0.999):
        moved = min(max(score + step * margin * 10, 0), 10)
        if margin > 1e-6:
            assert decide(RISK, moved, confidence).action is decision.action


VERIFIED = load_policy("risk_analysis_verified")


@pytest.mark.parametrize(
    ("score", "confidence", "quotes", "action"),
    [
        (9, 0.9, 0.9, Action.APPROVE),
        (9, 0.9, 0.8999, Action.REVIEW),
        (9, 0.9, 0.75, Action.REVIEW),
        (9, 0.9, 0.5, Action.REVIEW_PRIORITY),
        (9, 0.5, 0.95, Action.REVIEW),
        (8, 0.9, 0.0, Action.REVIEW_PRIORITY),
        (6, 0.9, 0.0, Action.REJECT),
        (6, 0.9, Absent("no quote"), Action.REJECT),  # every share would lead to it
        (9, 0.9, Absent("no quote"), Action.REVIEW),
        (9, 0.9, None, Action.REVIEW),
    ],
)
def test_invented_quotes_count_where_the_policy_says_so(score, confidence, quotes, action):
    decision = decide(VERIFIED, score, confidence, quotes)
    assert decision.action is action
    known = isinstance(quotes, float)
    assert (decision.inputs.quotes, "quotes" in decision.inputs.absent) == (quotes if known else None, not known)


def test_quotes_decide_only_where_the_policy_looks_at_them():
    assert decide(RISK, 9, 0.9, 0.0) == decide(RISK, 9, 0.9)
    assert "quotes" not in decide(RISK, 9, 0.9, 0.0).model_dump()["inputs"]
    assert RISK.digest == "88bc21282d14991163ebf9b095f0ed19"
    assert VERIFIED.cases == RISK.cases
    for score in (0, 6.9, 7, 8.4, 8.5, 10):
        for confidence in (0, 0.79, 0.8, 0.85, 1):
            assert decide(VERIFIED, score, confidence, 1.0).action is decide(RISK, score, confidence).action


def test_confidence_is_calibrated_only_where_the_policy_says_so_and_the_stated_one_is_recorded():
    curve = {"intercept": -1.0, "slope": 0.5}
    policy = Policy.model_validate({**RISK.model_dump(mode="json"), "adjustment": {"confidence": curve}})
    decision = decide_adjusted(policy, 9, 0.9, {}, {})
    assert decision.inputs.stated_confidence == 0.9
    assert decision.inputs.confidence == pytest.approx(1 / (1 + math.exp(1 - 0.5 * math.log(9))))
    assert (decision.action, decide(RISK, 9, 0.9).action) == (Action.REVIEW, Action.APPROVE)


# Decisions on many values: each as it is made alone.
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


def test_a_kind_is_a_stretch_between_two_bounds_of_values_on_the_scale():
    found = decide_column(parse_policy(POLICIES["three bands"], "mine.yaml"), VALUES, NONE)
    assert [kind.action for kind in found.kinds] == ["REJECT", "REVIEW_PRIORITY", "APPROVE"]
    assert found.codes.tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2]
    with pytest.raises(InputError, match="lies outside 0"):
        decide_column(parse_policy(small(), "mine.yaml"), np.array([0.5, 1.5]), NONE)
    assert decide_column(parse_policy(small(), "mine.yaml"), np.zeros(0), NONE).kinds == []
