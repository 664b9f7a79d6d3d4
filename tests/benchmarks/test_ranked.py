"""Precision of a share and coverage at a precision, against direct counting."""

import numpy as np
import pytest
from metajudge.benchmarks.ranked import Ranked

from metajudge.calibration.quality import precision_at


def made(n=120, seed=0):
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.6
    return np.round(rng.normal(size=n) + right, 1), right, [f"q{number % 40}" for number in range(n)]


@pytest.mark.parametrize("share", [0.1, 0.4, 0.6, 1.0])
def test_precision_of_the_best_counts_a_tie_with_its_mean(share):
    scores, right, questions = made()
    found = Ranked(scores, right, questions).precision(share)
    assert found.estimate == pytest.approx(precision_at(scores, right, share))
    measured = found.measured()
    assert measured.low < found.estimate < measured.high or share == 1.0


def test_equal_scores_have_the_precision_of_everything():
    _, right, questions = made()
    assert Ranked(np.zeros(120), right, questions).precision(0.4).estimate == pytest.approx(right.mean())


def test_coverage_takes_whole_ties():
    ranked = Ranked([5, 5, 4, 4, 3], [1, 1, 1, 0, 0], list("abcde"))
    assert ranked.coverage(0.9).estimate == pytest.approx(0.4)
    assert ranked.coverage(0.7).estimate == pytest.approx(0.8)
    assert ranked.coverage(0.6).estimate == pytest.approx(1.0)


def test_coverage_is_none_where_no_score_reaches_the_precision():
    assert Ranked([2, 1], [0, 1], ["a", "b"]).coverage(0.9).estimate == 0


def test_an_order_of_rows_changes_nothing():
    scores, right, questions = made()
    at = np.random.default_rng(1).permutation(120)
    one = Ranked(scores, right, questions).precision(0.6)
    other = Ranked(scores[at], right[at], [questions[place] for place in at]).precision(0.6)
    assert np.allclose(one.drawn, other.drawn)
