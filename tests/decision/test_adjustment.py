"""Corrections learned from people: of a probability, of criteria's scores, of their weights."""

import math

import pytest
from pydantic import ValidationError

from metajudge.decision.adjustment import Adjustment, Recalibration
from metajudge.types.interval import UNIT, Range

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


@pytest.mark.parametrize(
    ("offsets", "value", "moved"),
    [
        ({"clarity": 1.0}, FOUND, FOUND + 1.0 / 4),
        ({"accuracy": -1.0}, FOUND, FOUND - 3.0 / 4),
        ({"accuracy": 9.0}, FOUND, FOUND + 3.0 / 4),  # each criterion stays on the scale
        ({"clarity": -9.0}, FOUND, FOUND - 1.0 / 4),
        ({"clarity": 3.0}, 4.9, 5.0),  # so does the sum, although the value is another mean
        ({"accuracy": -3.0}, 1.2, 1.0),
    ],
)
def test_an_offset_moves_the_score_by_its_criterions_share(offsets, value, moved):
    assert Adjustment(offsets=offsets).apply(value, FIVE, SCORES, WEIGHTS) == moved


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
