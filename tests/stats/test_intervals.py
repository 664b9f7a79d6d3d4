import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, false_discovery_control

from metajudge.errors import InputError
from metajudge.stats.interval_estimate import Estimate, check_counts, normal_quantile
from metajudge.stats.intervals import clopper_pearson, clopper_pearson_lower, two_proportion_z, wilson
from metajudge.stats.multiple import benjamini_yekutieli, holm

INTERVALS: list[Callable[[int, int, float], Estimate]] = [wilson, clopper_pearson, clopper_pearson_lower]
COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS, st.floats(0.01, 0.999))
@example((81, 263), 0.95)
@example((0, 20), 0.95)
@example((29, 29), 0.95)
@example((22, 22), 0.9)
def test_intervals_are_scipys_and_their_ends_at_none_and_all_exact(counts: tuple[int, int], level: float) -> None:
    successes, n = counts
    for interval, method, alternative in (
        (wilson, "wilson", "two-sided"),
        (clopper_pearson, "exact", "two-sided"),
        (clopper_pearson_lower, "exact", "greater"),
    ):
        expected = binomtest(successes, n, alternative=alternative).proportion_ci(level, method)
        found = interval(successes, n, level)
        assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-7, abs=1e-12)
        assert (found.n, found.confidence, found.estimate) == (n, level, successes / n)
        assert successes or found.low == 0.0
        assert successes < n or found.high == 1.0


def test_exact_lower_bound_never_covers_less_than_promised() -> None:
    # 22 are the fewest that can show .90 with confidence .90: ceil(ln .1 / ln .9)
    assert clopper_pearson_lower(22, 22, 0.9).low >= 0.9 > clopper_pearson_lower(21, 21, 0.9).low
    for p, n in product((0.5, 0.8, 0.9, 0.97), (5, 23, 60)):
        bounds = [clopper_pearson_lower(k, n, 0.9).low for k in range(n + 1)]
        assert binom.pmf(np.flatnonzero(np.array(bounds) <= p), n, p).sum() >= 0.9 - 1e-12


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize(
    ("successes", "n", "confidence", "message"),
    [
        (0, 0, 0.95, "n is 0"),
        (3, 2, 0.95, "between 0 and n = 2, not 3"),
        (-1, 2, 0.95, "not -1"),
        (1.5, 2, 0.95, "whole number"),
        (math.nan, 2, 0.95, "NaN"),
        (1, math.nan, 0.95, "NaN"),
        (1, 2, 0.0, "strictly between"),
        (1, 2, 1.0, "strictly between"),
        (1, 2, math.nan, "strictly between"),
        (1, 2, 95, "did you mean 0.95"),
    ],
)
def test_bad_input_is_refused_with_specifics(
    interval: Callable[..., Estimate], successes: float, n: float, confidence: float, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        interval(successes, n, confidence)


def test_two_proportions_golden() -> None:
    # 56/70 against 48/80: Newcombe, Statistics in Medicine 17 (1998), example (a), interval .0524 to .3339; further
    # digits, z and p from statsmodels 0.15 (confint_proportions_2indep "newcomb", proportions_ztest).
    found = two_proportion_z(56, 70, 48, 80)
    assert found.estimate == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.05243147240236498, 0.33387265403690614), rel=1e-9)
    assert found.statistic == pytest.approx(2.6501719512585336, rel=1e-10)
    assert found.p_value == pytest.approx(0.00804508136819656, rel=1e-9)
    assert (found.n, found.n_first, found.n_second) == (150, 70, 80)


@given(COUNTS, COUNTS)
def test_two_proportions_swapped_change_the_sign_alone(first: tuple[int, int], second: tuple[int, int]) -> None:
    one, other = two_proportion_z(*first, *second), two_proportion_z(*second, *first)
    assert one.estimate == pytest.approx(-other.estimate)
    assert one.low == pytest.approx(-other.high)
    assert one.p_value == pytest.approx(other.p_value)


def test_two_proportions_without_any_variation() -> None:
    found = two_proportion_z(5, 5, 7, 7)
    assert (found.statistic, found.p_value, found.estimate) == (0.0, 1.0, 0.0)


P = [0.01, 0.04, 0.03, 0.005]


def test_holm_by_hand():
    # sorted .005 .01 .03 .04 times 4, 3, 2, 1, each at least the one before
    assert holm(P) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_benjamini_yekutieli_equals_scipy():
    rng = np.random.default_rng(0)
    p = rng.random(40) ** 2
    assert benjamini_yekutieli(p) == pytest.approx(false_discovery_control(p, method="by"))


def test_order_is_kept_none_exceeds_one_and_no_tests_give_no_values():
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert benjamini_yekutieli(P) == pytest.approx(np.array([0.02, 0.04, 0.04, 0.02]) * 25 / 12)
    assert len(holm([])) == len(benjamini_yekutieli([])) == 0


@pytest.mark.parametrize(("confidence", "quantile"), [(0.95, 1.959964), (0.9, 1.644854), (0.99, 2.575829)])
def test_normal_quantiles_are_two_sided(confidence, quantile):
    assert normal_quantile(confidence) == pytest.approx(quantile, abs=1e-6)


@pytest.mark.parametrize(
    ("test", "arguments", "message"),
    [
        (two_proportion_z, (5, 5, 8, 7), "successes_second must lie between"),
        (check_counts, (5, 3, "errors"), "errors must lie"),
        *((holm, ([wrong],), "p values") for wrong in (1.2, -0.1, math.nan)),
    ],
)
def test_what_is_no_test_is_refused(test, arguments, message):
    with pytest.raises(InputError, match=message):
        test(*arguments)
