"""Corrections learned from people: of a probability, of criteria's scores, of their weights."""

import math

import pytest
from pydantic import ValidationError

from metajudge.decision.adjustment import Adjustment, Recalibration
from metajudge.decision.interval import UNIT, Range

FIVE = Range(low=1, high=5)
SCORES = {"accuracy": 4.0, "clarity": 2.0}
WEIGHTS = {"accuracy": 3.0, "clarity": 1.0}
FOUND = 3.5
"""Their weighted mean."""


def logit(p):
    return math.log(p / (1 - p))


@pytest.mark.parametrize("p", [0.02, 0.5, 0.93])
def test_a_probability_is_moved_on_its_log_odds(p):
    moved = Recalibration(intercept=-0.4, slope=0.8).apply(p)
    assert logit(moved) == pytest.approx(-0.4 + 0.8 * logit(p), abs=1e-7)


def test_no_correction_leaves_a_probability_as_it_is():
    assert Recalibration(intercept=0, slope=1).apply(0.37) == 0.37


def test_certainty_is_one_in_a_billion_and_its_correction_finite():
    one = Recalibration(intercept=0, slope=0.5)
    assert one.apply(1.0) == pytest.approx(1 / (1 + math.exp(-0.5 * math.log(1e9))))
    assert one.apply(0.0) == pytest.approx(1 - one.apply(1.0))
    assert one.apply(1 - 1e-12) == one.apply(1.0)
    assert one.apply(1e-12) == one.apply(0.0)
    assert Recalibration(intercept=0, slope=1e6).apply(1.0) == 1.0
    assert Recalibration(intercept=0, slope=1e6).apply(0.0) == 0.0


def test_a_slope_that_would_turn_the_order_around_is_refused():
    with pytest.raises(ValidationError):
        Recalibration(intercept=0, slope=0)


def test_an_offset_moves_the_score_by_its_criterions_share():
    moved = Adjustment(offsets={"clarity": 1.0}).apply(FOUND, FIVE, SCORES, WEIGHTS)
    assert moved == FOUND + 1.0 / 4
    assert Adjustment(offsets={"accuracy": -1.0}).apply(FOUND, FIVE, SCORES, WEIGHTS) == FOUND - 3.0 / 4


def test_a_criterion_stays_on_the_scale():
    assert Adjustment(offsets={"accuracy": 9.0}).apply(FOUND, FIVE, SCORES, WEIGHTS) == FOUND + 3.0 / 4
    assert Adjustment(offsets={"clarity": -9.0}).apply(FOUND, FIVE, SCORES, WEIGHTS) == FOUND - 1.0 / 4


def test_the_sum_stays_on_the_scale_although_the_found_value_is_another_mean():
    assert Adjustment(offsets={"clarity": 3.0}).apply(4.9, FIVE, SCORES, WEIGHTS) == 5.0
    assert Adjustment(offsets={"accuracy": -3.0}).apply(1.2, FIVE, SCORES, WEIGHTS) == 1.0


def test_learned_weights_take_the_place_of_the_rubrics():
    weights = {"accuracy": 1.0, "clarity": 3.0}
    assert Adjustment(weights=weights).apply(FOUND, FIVE, SCORES, WEIGHTS) == 2.5
    both = Adjustment(weights=weights, offsets={"clarity": 2.0})
    assert both.apply(FOUND, FIVE, SCORES, WEIGHTS) == 4.0
    assert both.apply(FOUND, FIVE, {"accuracy": 4.0}, {}) == 4.0, "normalised over the criteria scored"


@pytest.mark.parametrize("criteria", [{}, {"other": 3.0}])
def test_without_scores_of_known_criteria_offsets_change_nothing(criteria):
    moved = Adjustment(offsets={"clarity": 1.0, "other": 1.0}).apply(FOUND, FIVE, criteria, WEIGHTS)
    assert moved == FOUND
    assert Adjustment().apply(FOUND, FIVE, SCORES, WEIGHTS) == FOUND


def test_the_recalibration_comes_first():
    halved = Recalibration(intercept=0, slope=0.5)
    assert Adjustment(recalibration=halved).apply(0.9, UNIT, {}, {}) == halved.apply(0.9) != 0.9
