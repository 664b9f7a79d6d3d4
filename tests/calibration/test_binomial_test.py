"""The unconditional test of one judgment a question: exact for every share kept, and never far from the other."""

import numpy as np
import pytest
from scipy.stats import binom

from metajudge.calibration.binomial_test import MOST_QUESTIONS, STEPS, binomial_p_values, fewest_passing


def every_outcome(questions, rate):
    """P-values [kept, wrong] of every outcome, and the chance of each number wrong given the number kept."""
    kept, wrong = np.meshgrid(np.arange(questions + 1), np.arange(questions + 1), indexing="ij")
    possible = wrong <= kept
    p_values = np.where(possible, binomial_p_values(np.minimum(wrong, kept), kept, questions, rate), 1.0)
    return p_values, np.where(possible, binom.pmf(wrong, kept, rate), 0.0)


@pytest.mark.parametrize(("questions", "target"), [(1, 0.5), (17, 0.8), (60, 0.85), (95, 0.9)])
def test_no_share_kept_makes_a_false_pass_likelier_than_the_level(questions, target):
    p_values, given = every_outcome(questions, 1 - target)
    shares = np.concatenate([np.linspace(0, 1, 601), [1e-4, 1 - 1e-4, 0.3333]])
    kept = binom.pmf(np.arange(questions + 1), questions, shares[:, None])
    for level in (2e-4, 1e-3, 1.01e-3, 0.0042, 0.0125, 0.05, 0.075, 0.1, 0.2, 0.39, 0.41):
        passed = (np.where(p_values <= level, given, 0.0)).sum(axis=1)
        assert (kept @ passed).max() <= level


def test_it_spends_more_of_the_level_than_the_conditional_test():
    p_values, given = every_outcome(95, 0.1)
    kept = binom.pmf(np.arange(96), 95, np.array([[0.35], [0.6]]))
    number, wrong = np.meshgrid(np.arange(96), np.arange(96), indexing="ij")
    conditional = np.where(wrong <= number, binom.cdf(wrong, np.maximum(number, 1), 0.1), 1.0)
    spent = [kept @ np.where(one <= 0.1, given, 0.0).sum(axis=1) for one in (p_values, conditional)]
    assert (spent[0] > 0.083).all()
    assert (spent[1] < 0.072).all()


def test_an_error_more_is_never_better():
    p_values, _ = every_outcome(60, 0.15)
    assert all((np.diff(p_values[kept, : kept + 1]) >= 0).all() for kept in range(61))


def test_where_all_are_kept_it_is_the_binomial_test():
    wrong = np.arange(20)
    found = binomial_p_values(wrong, np.full(20, 60), 60, 0.15)
    assert found == pytest.approx(binom.cdf(wrong, 60, 0.15), rel=0.01)


@pytest.mark.parametrize("right", [0.1, 0.3])
def test_of_one_question_kept_without_an_error_it_is_the_chance_to_be_right(right):
    """Kept with a chance q, it is so q times as often: most where q is 1. Rounded up by a thousandth, never down."""
    (found,) = binomial_p_values(np.array([0]), np.array([1]), 1, 1 - right)
    assert right <= found <= 1.0011 * right + 1e-5


def test_many_questions_and_very_small_values_are_the_conditional_ones():
    wrong, kept = np.array([30, 0, 0]), np.array([400, 400, 0])
    expected = [binom.cdf(30, 400, 0.1), binom.cdf(0, 400, 0.1), 1.0]
    assert binomial_p_values(wrong, kept, MOST_QUESTIONS + 1, 0.1) == pytest.approx(expected)
    assert binomial_p_values(wrong, kept, 500, 0.1)[1:] == pytest.approx(expected[1:])
    assert expected[1] < STEPS[0] < expected[0]


def test_the_fewest_that_pass_without_an_error():
    assert fewest_passing(100, 0.1, 0.1) == 17
    assert fewest_passing(20, 0.1, 0.1) is None
    kept = np.array([16, 17])
    assert (binomial_p_values(np.zeros(2, dtype=int), kept, 100, 0.1) <= 0.1).tolist() == [False, True]
