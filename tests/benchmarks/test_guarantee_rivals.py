"""Rivals on a population whose truth is known."""

import numpy as np
import pytest
from metajudge.benchmarks.guarantee_rivals import Population, interval, measured
from metajudge.benchmarks.threshold_rules import RIVALS

from metajudge.calibration.starts import Reference


def population(orders):
    rng = np.random.default_rng(4)
    place = np.repeat(np.arange(150), 2)
    ease = rng.normal(size=150)[place]
    scores = np.round(1 / (1 + np.exp(-1.5 - 2 * ease)), 9)
    correct = rng.random(300) < scores
    return Population(scores, correct, place, scores if orders else None, Reference(scores, place), 90)


@pytest.fixture(scope="module")
def rows():
    return {row["procedure"]: row for row in measured(population(True), 0.85, 8, 0)}


@pytest.mark.filterwarnings("ignore")
def test_every_rule_is_measured_and_keeps_no_more_than_the_oracle_on_average(rows):
    assert set(RIVALS) - set(rows) <= {"MAPIE"}
    assert 0 < rows["ours: ranks (default)"]["coverage"] <= rows["oracle"]["coverage"]
    assert all(0 <= row["broken"] <= 1 for row in rows.values())


@pytest.mark.filterwarnings("ignore")
def test_a_set_without_orders_has_no_row_of_the_rule_that_needs_them(rows):
    assert "SCOPE" in rows
    names = {row["procedure"] for row in measured(population(False), 0.85, 1, 0)}
    assert "SCOPE" not in names


def test_the_truth_of_a_threshold_counts_all_kept_judgments():
    one = Population(
        np.array([0.9, 0.9, 0.9, 0.2]), np.array([True, True, False, False]), np.array([0, 0, 1, 2]), None,
        Reference(np.array([0.9]), np.array([0])), 3,
    )  # fmt: skip
    assert one.truth(one.scores, 0.5) == (0.75, pytest.approx(2 / 3), 0.5)
    assert one.truth(one.scores, None) == (0.0, 1.0, 1.0)
    assert one.oracle(0.6) == 0.75
    assert one.oracle(0.9) == 0.0  # equal scores are kept together


def test_the_interval_of_a_difference_needs_more_than_one_value():
    low, high = interval([0.6, 0.7, 0.65], [0.5, 0.55, 0.6])
    assert low < 0.1 < high
    assert interval([1.0], [0.0]) == (-np.inf, np.inf)
