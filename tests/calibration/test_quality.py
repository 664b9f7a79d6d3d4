"""Quality of probabilities, on hand-computed examples and against scikit-learn."""

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from metajudge.calibration.quality import auc, log_losses, precision_at, quality, reliability_bins


def test_precision_at_a_coverage_counts_a_tie_at_the_edge_with_its_mean():
    scores, correct = np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False])
    assert precision_at(scores, correct, 0.25) == 1.0
    assert precision_at(scores, correct, 0.5) == pytest.approx((1 + 0.5) / 2)
    assert precision_at(scores, correct, 1.0) == 0.5


def test_auc_equals_scikit_learn_with_ties_and_is_absent_for_one_class():
    rng = np.random.default_rng(0)
    scores, correct = np.round(rng.random(300), 1), rng.random(300) < 0.4
    assert auc(scores, correct) == pytest.approx(roc_auc_score(correct, scores))
    assert auc(scores, np.ones(300, dtype=bool)) is None


def test_log_loss_is_clipped_so_that_one_bold_error_does_not_decide_everything():
    assert log_losses(np.array([0.5, 0.0]), np.array([True, True])) == pytest.approx([math.log(2), -math.log(1e-3)])


def test_reliability_bins_hold_every_row_once():
    found = reliability_bins(np.array([0.0, 0.05, 0.95, 1.0]), np.array([False, True, True, True]), list("abcd"))
    assert [(one.low, one.high, one.n, one.right) for one in found] == [(0.0, 0.1, 2, 0.5), (0.9, 1.0, 2, 1.0)]
    (apart,) = reliability_bins(np.full(40, 0.85), np.arange(40) % 10 < 8, [str(at) for at in range(40)])
    (alike,) = reliability_bins(np.full(40, 0.85), np.arange(40) % 10 < 8, [str(at % 10) for at in range(40)])
    assert alike.right_high - alike.right_low > 1.5 * (apart.right_high - apart.right_low)


def test_intervals_resample_questions_and_not_judgments():
    rng = np.random.default_rng(1)
    truth = rng.random(40)
    correct = np.repeat(rng.random(40) < truth, 10)
    values = np.repeat(np.clip(truth, 0.05, 0.95), 10)
    clustered = quality(values, correct, [f"q{n // 10}" for n in range(400)], 0)
    single = quality(values, correct, [f"q{n}" for n in range(400)], 0)
    assert clustered.brier.value == pytest.approx(single.brier.value)
    width = clustered.auc.high - clustered.auc.low
    assert width > 2 * (single.auc.high - single.auc.low)
    assert (clustered.n, clustered.questions) == (400, 40)


def test_an_interval_needs_two_questions_and_ends_at_either():
    """Of two questions one resample in four holds the first alone, and one in four the second."""
    probabilities, correct = np.array([0.9, 0.8, 0.6, 0.5]), np.ones(4, dtype=bool)
    two = quality(probabilities, correct, list("aabb"), 0).brier
    assert [two.low, two.value, two.high] == pytest.approx([0.025, 0.115, 0.205])
    one = quality(probabilities, correct, list("aaaa"), 0).brier
    assert (one.value, one.low, one.high) == (pytest.approx(0.115), None, None)
