"""Paired comparisons, their power, and the jackknife."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, poisson, t, ttest_1samp, wilcoxon

from metajudge.audit.figures import jackknifed
from metajudge.errors import InputError
from metajudge.stats import paired
from metajudge.stats.association import events_for_power, observations_needed, smallest_effect
from metajudge.stats.paired import MOST_RANKED, mcnemar_exact, sign_flip, sign_test, wilcoxon_signed_rank


def outcomes(both: int, first: int, second: int, neither: int) -> tuple[list[bool], list[bool]]:
    one = [True] * both + [True] * first + [False] * second + [False] * neither
    other = [True] * both + [False] * first + [True] * second + [False] * neither
    return one, other


def test_mcnemar_golden_and_the_sign_test_by_hand() -> None:
    # p values from statsmodels 0.15: mcnemar(table, exact=True) of [[101, 59], [121, 33]] and [[10, 2], [9, 5]]
    found = mcnemar_exact(*outcomes(101, 59, 121, 33))
    assert found.p_value == pytest.approx(4.4344492637551645e-06, rel=1e-9)
    assert (found.favour_first, found.favour_second, found.tied, found.n) == (59, 121, 134, 314)
    assert found.share.estimate == pytest.approx(59 / 180)
    assert found.share.low < 59 / 180 < found.share.high < 0.5
    assert mcnemar_exact(*outcomes(10, 2, 9, 5)).p_value == pytest.approx(0.0654296875)
    # five up, none down, one tie: 2 / 2^5
    found = sign_test([1, 2, 0.5, 3, 1, 0])
    assert (found.p_value, found.n, found.tied, found.share.estimate) == (0.0625, 6, 1, 1.0)
    for found in (sign_test([0, 0]), mcnemar_exact([True, False], [True, False])):
        assert (found.share, found.p_value, found.tied) == (None, 1.0, 2)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=80))
def test_swapping_the_two_mirrors_the_result(pairs: list[tuple[bool, bool]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    one, other = mcnemar_exact(first, second), mcnemar_exact(second, first)
    assert one.p_value == other.p_value
    assert 0 < one.p_value <= 1
    if one.share is None or other.share is None:
        assert one.share is other.share is None
        return
    assert one.share.low == pytest.approx(1 - other.share.high, abs=1e-9)
    # the interval and the test invert each other
    if one.p_value < 0.0499:
        assert one.share.low > 0.5 or one.share.high < 0.5


def test_the_smallest_effect_is_2_8_standard_errors_or_found_in_80_percent_of_draws():
    expected = norm.ppf(0.975) + norm.ppf(0.8)
    assert smallest_effect(0.1, 1e9, 0.05) == pytest.approx(0.1 * expected, rel=1e-6)
    assert smallest_effect(0.1, 1e9, 0.05, sides=1) == pytest.approx(0.1 * (norm.ppf(0.95) + norm.ppf(0.8)), rel=1e-6)
    effect = smallest_effect(1 / 40**0.5, 39, 0.05)
    found = ttest_1samp(np.random.default_rng(1).normal(effect, 1, (4000, 40)), 0, axis=1).pvalue <= 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)


def test_observations_needed_grow_with_the_square_and_events_by_the_rule_of_power():
    assert observations_needed(100, 0.2, 0.1) == 400
    assert observations_needed(100, 0.05, 0.1) == 25
    mean = events_for_power(8)
    assert poisson.sf(7, mean) == pytest.approx(0.8)


def ratio(sums):
    return sums[:, 0] / sums[:, 1]


def test_jackknife_of_a_mean_cut_to_its_range_and_undefined_is_none():
    values = np.random.default_rng(0).random(25)
    whole = (-math.inf, math.inf)
    found = jackknifed(np.column_stack((values, np.ones(25))), np.arange(25), ratio, "mean", whole)
    assert found.estimate == pytest.approx(values.mean())
    assert found.interval == pytest.approx(t.interval(0.95, 24, values.mean(), values.std(ddof=1) / 5))
    assert (found.n, found.questions, found.method) == (25, 25, "mean; jackknife by question")
    three = np.array([[1.0, 1.0], [0.9, 1.0], [0.2, 1.0]])
    assert jackknifed(three, np.arange(3), ratio, "mean", (0.0, 1.0)).interval[1] == 1.0
    assert jackknifed(np.array([[1.0, 0.0]]), np.arange(1), ratio, "mean", whole) is None
    alone = jackknifed(np.array([[1.0, 2.0]]), np.arange(1), ratio, "mean", whole)
    assert (alone.estimate, alone.interval) == (0.5, None)


def test_golden_and_exact_with_ties_equals_all_sign_changes() -> None:
    # Hollander and Wolfe's depression scale data, as in R's ?wilcox.test: V = 40, two-sided p = 0.0390625
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    found = wilcoxon_signed_rank([one - other for one, other in zip(before, after, strict=True)])
    assert (found.p_value, found.n, found.favour_first) == (pytest.approx(0.0390625), 9, 7)
    # scipy 1.17, method=PermutationMethod over all sign changes of the ten values other than 0
    found = wilcoxon_signed_rank([1, 1, -1, 2, 3, -2, 0, 5, 4, 4, -1])
    assert found.p_value == pytest.approx(0.08984375)
    assert (found.n, found.tied) == (11, 1)


def test_large_samples_agree_with_scipys_approximation() -> None:
    values = np.random.default_rng(3).normal(0.1, 1, MOST_RANKED + 400)
    found = wilcoxon_signed_rank(values.tolist())
    assert found.p_value == pytest.approx(6.028839821887859e-05)
    assert "approximation" in found.method
    exact = wilcoxon_signed_rank(values[:60].tolist())
    assert exact.p_value == pytest.approx(wilcoxon(values[:60], method="exact").pvalue)


def test_exchanging_the_two_mirrors_the_result_no_difference_is_none() -> None:
    values = [0.5, -1, 2, 2, -3, 7]
    one, other = wilcoxon_signed_rank(values), wilcoxon_signed_rank([-value for value in values])
    assert one.p_value == other.p_value
    assert (one.favour_first, one.favour_second) == (other.favour_second, other.favour_first)
    found = wilcoxon_signed_rank([0, 0])
    assert (found.share, found.p_value, found.tied) == (None, 1.0, 2)


def test_clustered_looks_are_the_sign_test_or_all_flips_counted_out_and_one_sided_up_only():
    values = [1] * 12 + [-1] * 3 + [0] * 5
    found = sign_flip(values, range(20))
    assert found.p_value == pytest.approx(binomtest(12, 15).pvalue)
    assert found.estimate == pytest.approx(9 / 20)
    values, clusters = [1, 1, -1, 1, 2, 0, 1, 1], [0, 0, 1, 2, 2, 3, 4, 4]
    sums = np.bincount(clusters, weights=values)
    totals = [abs(sum(s * v for s, v in zip(signs, sums, strict=True))) for signs in product((-1, 1), repeat=len(sums))]
    expected = np.mean([total >= abs(sums.sum()) for total in totals])
    assert sign_flip(values, clusters).p_value == pytest.approx(expected)
    assert sign_flip([-1] * 10, range(10)).p_value == pytest.approx(2 * 0.5**10)


def test_observations_of_one_question_count_once_and_where_nothing_moves_there_is_no_evidence():
    apart, together = sign_flip([1] * 20, range(20)), sign_flip([1] * 20, [at // 10 for at in range(20)])
    assert apart.p_value < 1e-4
    assert together.p_value == 0.5
    found = sign_flip([0] * 30, range(30))
    assert (found.estimate, found.p_value, found.error) == (0.0, 1.0, 0.0)
    assert 0.2 < found.smallest_effect(0.05) < 0.4  # about 8 of 30 clusters would have to point one way


def test_normal_approximation_is_close(monkeypatch):
    rng = np.random.default_rng(2)
    values = rng.choice([-1, 0, 1], size=900, p=[0.2, 0.55, 0.25])
    exact = sign_flip(values, np.arange(900) // 2)
    monkeypatch.setattr(paired, "LARGEST_EXACT", 10)
    rough = sign_flip(values, np.arange(900) // 2)
    assert rough.p_value == pytest.approx(exact.p_value, rel=0.15)
    assert "normal" in rough.method
    assert "exact" in exact.method


def test_level_is_kept():
    rng = np.random.default_rng(3)
    found = [sign_flip(rng.choice([-1, 0, 1], size=60), np.arange(60) // 3).p_value <= 0.05 for _ in range(400)]
    assert np.mean(found) <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


@pytest.mark.parametrize(
    ("test", "arguments", "message"),
    [
        (mcnemar_exact, ([True, False], [True]), "first has 2 outcomes, second 1"),
        (mcnemar_exact, ([], []), "no pairs"),
        (mcnemar_exact, ([True, None], [True, True]), "pair 1"),
        (sign_test, ([1.0, math.nan],), "difference 1 is NaN"),
        (sign_test, ([],), "no differences"),
        (wilcoxon_signed_rank, ([],), "no differences"),
        *((wilcoxon_signed_rank, ([1, bad],), "difference 1") for bad in (math.nan, math.inf)),
        *((sign_flip, unfit, "give whole numbers") for unfit in (([], []), ([1], [0, 1]), ([0.5], [0]))),
        *((smallest_effect, (*unfit, 0.05), "need at least 0 and 1") for unfit in ((-0.1, 10), (0.1, 0.5))),
        *((smallest_effect, (0.1, 10, level), "in .0, 1.") for level in (0.0, 1.0)),
        (observations_needed, (10, 0.0, 0.1), "above 0"),
    ],
)
def test_bad_input_is_refused_with_specifics(test, arguments, message):
    with pytest.raises(InputError, match=message):
        test(*arguments)
