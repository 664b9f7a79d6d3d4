"""The exact tests by question: for every share kept, and never below the truth for several judgments a question."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from metajudge.calibration.question_test import (
    HIGHEST,
    MOST_QUESTIONS,
    STAKE,
    STEPS,
    _excess,
    binomial_p_values,
    fewest_passing,
    question_p_values,
    step_table,
    steps_limit,
)
from metajudge.errors import InputError


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


def test_an_error_more_is_never_better_and_where_all_are_kept_it_is_the_binomial_test():
    p_values, _ = every_outcome(60, 0.15)
    assert all((np.diff(p_values[kept, : kept + 1]) >= 0).all() for kept in range(61))
    wrong = np.arange(20)
    found = binomial_p_values(wrong, np.full(20, 60), 60, 0.15)
    assert found == pytest.approx(binom.cdf(wrong, 60, 0.15), rel=0.01)


@pytest.mark.parametrize("right", [0.1, 0.3])
def test_of_one_question_kept_without_an_error_it_is_the_chance_to_be_right(right):
    """Kept with a chance q, it is so q times as often: most where q is 1. Rounded up by a thousandth, never down."""
    (found,) = binomial_p_values(np.array([0]), np.array([1]), 1, 1 - right)
    assert right <= found <= 1.0011 * right + 1e-5


def test_many_questions_and_very_small_values_are_the_conditional_ones_and_the_fewest_that_pass():
    wrong, kept = np.array([30, 0, 0]), np.array([400, 400, 0])
    expected = [binom.cdf(30, 400, 0.1), binom.cdf(0, 400, 0.1), 1.0]
    assert binomial_p_values(wrong, kept, MOST_QUESTIONS + 1, 0.1) == pytest.approx(expected)
    assert binomial_p_values(wrong, kept, 500, 0.1)[1:] == pytest.approx(expected[1:])
    assert expected[1] < STEPS[0] < expected[0]
    assert fewest_passing(100, 0.1, 0.1) == 17
    assert fewest_passing(20, 0.1, 0.1) is None
    kept = np.array([16, 17])
    assert (binomial_p_values(np.zeros(2, dtype=int), kept, 100, 0.1) <= 0.1).tolist() == [False, True]


# The test by question: exact for one judgment a question, and never below the truth for more.
def cells(most):
    return [(errors, kept) for kept in range(1, most + 1) for errors in range(kept + 1)]


def null_law(rng, excess, points=None):
    """A random law with mean excess 0; None where the drawn points allow none."""
    weights = np.zeros(len(excess))
    at = np.arange(len(excess)) if points is None else rng.choice(len(excess), points, replace=False)
    weights[at] = rng.dirichlet(np.full(len(at), rng.choice([0.1, 1.0])))
    low = excess < 0
    down, up = -(weights[low] @ excess[low]), weights[~low] @ excess[~low]
    if down <= 0 or up <= 0:
        return None
    weights[~low] *= down / up
    return weights / weights.sum()


def tail(credit, law, number):
    """P(T >= t) for every t from the lowest total on, exactly."""
    lowest, width = credit.min(), credit.max() - credit.min() + 1
    one = np.bincount(credit - lowest, weights=law, minlength=width)
    size = (width - 1) * number + 1
    total = np.fft.irfft(np.fft.rfft(one, size) ** number, size)
    return lowest * number, np.cumsum(total[::-1])[::-1]


@pytest.mark.parametrize(
    ("most", "target", "number", "credited"),
    [(2, 0.8, 20, 2), (2, 0.9, 60, 1), (3, 0.85, 40, 3), (6, 0.9, 30, 6), (14, 0.9, 30, 2)],
)
def test_no_law_with_too_many_errors_has_a_tail_above_the_bound(most, target, number, credited):
    rng = np.random.default_rng(most)
    pairs = cells(most)
    excess = np.array([errors - (1 - target) * kept for errors, kept in pairs])
    for stake in (STAKE,) if most > 4 else (STAKE, 0.1):
        table = step_table(most, target, steps_limit(number), stake, credited)
        credit = np.array([table.credit[pair] for pair in pairs])
        for draw in range(40):
            law = null_law(rng, excess, 3 if draw % 2 else None)
            if law is None:
                continue
            start, truth = tail(credit, law, number)
            totals = start + np.arange(len(truth))
            bound = table.p_values(np.full(len(totals), number), totals)
            assert (truth <= bound + 1e-9).all()


def test_the_bound_is_nearly_reached_where_all_or_none_of_two_judgments_are_wrong():
    table = step_table(2, 0.8, 64, 0.1, 2)
    right, wrong = int(table.credit[0, 2]), int(table.credit[2, 2])
    for errors in (4, 5):
        truth, total = binom.cdf(errors, 50, 0.2), (50 - errors) * right + errors * wrong
        bound = table.p_values(np.array([50]), np.array([total]))[0]
        assert truth <= bound < 1.06 * truth
        assert np.exp(-table.step * total) > 10 * bound  # Markov's


def test_one_judgment_a_question_is_the_unconditional_binomial_test_also_by_the_dynamic_program():
    rng = np.random.default_rng(0)
    kept = (rng.random((30, 40)) < 0.7).astype(int)
    errors = kept * (rng.random((30, 40)) < 0.1)
    found = question_p_values(errors, kept, 0.85, 1)
    assert (found == binomial_p_values(errors.sum(axis=0), kept.sum(axis=0), 30, 0.15)).all()
    assert question_p_values(np.zeros((3, 1), int), np.zeros((3, 1), int), 0.85, 1).tolist() == [1.0]
    table = step_table(1, 0.85, 64, 0.3, 1)
    errors = np.arange(5)
    totals = (40 - errors) * table.credit[0, 1] + errors * table.credit[1, 1]
    assert table.p_values(np.full(5, 40), totals) == pytest.approx(binom.cdf(errors, 40, 0.15), abs=1e-6)


def test_above_the_table_markovs_bound_takes_over():
    """One law, so V_r(d) = w V_{r-1}(d - low) + (1 - w) V_{r-1}(d - high); exp(-wealth) from HIGHEST on."""
    table = step_table(1, 0.85, 64, 0.3, 1)
    low, high, step = int(table.credit[0, 1]), int(table.credit[1, 1]), table.step
    top = table.lowest + table.bounds.shape[1] - 1
    assert top * step == pytest.approx(HIGHEST, abs=2 * step)

    @cache
    def bound(number, total):
        if number == 0 or total <= 0:
            return float(total <= 0)
        if total > top:
            return np.exp(-step * total)
        found = 0.85 * bound(number - 1, total - low) + 0.15 * bound(number - 1, total - high)
        return min(found, np.exp(-step * total))

    totals = np.arange(top - 3 * low, top + 1)
    assert table.bounds[64, totals - table.lowest] == pytest.approx([bound(64, one) for one in totals.tolist()])


def test_of_too_many_points_excesses_are_rounded_up_to_fewer():
    """Even steps of one credited judgment below 0, and of 40 laws an eighth share above, growing from .45 to 12.6."""
    points = [-0.5, -0.4, -0.3, -0.2, -0.1, 0.0, *(0.45 * 28 ** (at / 7) for at in range(8))]
    found = _excess(14, 0.1, 5, 40)
    for errors, kept in cells(14):
        whole = max(errors - 0.1 * kept, -0.5)
        assert found[errors, kept] == pytest.approx(min(one for one in points if one >= whole - 1e-6)), (errors, kept)
    assert np.isnan(found[2, 1])


def test_more_errors_never_lower_the_p_value():
    kept = np.full((40, 1), 3)
    found = []
    for wrong in range(20):
        errors = np.zeros((40, 1), dtype=int)
        errors[:wrong] = 1
        found.append(float(question_p_values(errors, kept, 0.85, 3)[0]))
    assert found == sorted(found)
    assert found[0] < 0.01 < 0.5 < found[-1]


@pytest.mark.slow
def test_many_judgments_and_questions_stay_within_the_work_and_valid():
    number = 3000
    table = step_table(12, 0.9, steps_limit(number), 0.3, 12)
    p_value = table.p_values(np.array([number]), np.array([number * int(table.credit[0, 12])]))
    assert 0 < p_value[0] < 1e-3
    assert table.p_values(np.array([number]), np.array([0]))[0] == 1.0


def test_credit_is_capped_and_errors_are_not():
    table = step_table(14, 0.9, 64, STAKE, 2)
    assert table.credit[0, 1] < table.credit[0, 2] == table.credit[0, 14]
    assert table.credit[1, 2] > table.credit[4, 4] > table.credit[14, 14]


def test_few_large_questions_do_not_take_the_power_of_many_small_ones():
    """With credit for two judgments a question, 300 pairs prove .85 though a question may have ten judgments."""
    kept, errors = np.full((300, 1), 2), np.zeros((300, 1), dtype=int)
    errors[:12] = 2
    found = [question_p_values(errors, kept, 0.85, most, credited=2)[0] for most in (2, 10)]
    assert found[0] < found[1] < 0.1


def test_a_question_with_more_judgments_than_declared_is_refused():
    with pytest.raises(InputError, match="more than the 2 declared"):
        question_p_values(np.zeros((1, 1), int), np.full((1, 1), 3), 0.9, 2)
