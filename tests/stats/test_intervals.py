import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from scipy.stats import binomtest

from metajudge.errors import InputError
from metajudge.stats.interval_estimate import Estimate, check_counts, normal_quantile
from metajudge.stats.intervals import binomial_test, clopper_pearson, clopper_pearson_lower, two_proportion_z, wilson
from metajudge.stats.multiple import benjamini_yekutieli, holm

INTERVALS: list[Callable[[int, int, float], Estimate]] = [wilson, clopper_pearson, clopper_pearson_lower]
COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


# 81/263 and 15/148 are the examples of Newcombe, Statistics in Medicine 17 (1998), table I; digits beyond the table and
# the other rows from statsmodels 0.15 (proportion_confint, methods "wilson" and "beta").
@pytest.mark.parametrize(
    ("successes", "n", "score", "exact"),
    [
        (81, 263, (0.2552885198782742, 0.36620957698280004), (0.25273674558527126, 0.3676219226013514)),
        (15, 148, (0.06238639953073628, 0.16048724172330803), (0.05784401008344857, 0.161650490349479)),
        (0, 20, (0.0, 0.1611251580528194), (0.0, 0.16843347098308534)),
        (29, 29, (0.8830302015002592, 1.0), (0.8805551309304973, 1.0)),
        (435, 656, (0.6260843860069436, 0.6982359444895256), (0.6255067052803495, 0.6992370008135252)),
    ],
)
def test_golden_intervals(successes: int, n: int, score: tuple[float, float], exact: tuple[float, float]) -> None:
    found = wilson(successes, n)
    assert (found.low, found.high) == pytest.approx(score, rel=1e-10)
    found = clopper_pearson(successes, n)
    assert (found.low, found.high) == pytest.approx(exact, rel=1e-9)
    assert (found.n, found.confidence, found.estimate) == (n, 0.95, successes / n)


def test_one_sided_bounds_are_ends_of_the_two_sided_interval_with_a_closed_form_without_errors() -> None:
    # statsmodels 0.15: proportion_confint(435, 656, 0.10, "beta")
    assert clopper_pearson_lower(435, 656, 0.95).low == pytest.approx(0.6314890865502985, rel=1e-9)
    assert clopper_pearson_lower(435, 656).high == 1.0
    assert clopper_pearson_lower(22, 22, 0.9).low == pytest.approx(0.1 ** (1 / 22), rel=1e-12)
    # 22 are the fewest that can show .90 with confidence .90: ceil(ln .1 / ln .9)
    assert clopper_pearson_lower(22, 22, 0.9).low >= 0.9 > clopper_pearson_lower(21, 21, 0.9).low


def test_exact_lower_bound_never_covers_less_than_promised() -> None:
    for p in (0.5, 0.8, 0.9, 0.97):
        for n in (5, 23, 60):
            covered = sum(
                math.comb(n, k) * p**k * (1 - p) ** (n - k)
                for k in range(n + 1)
                if clopper_pearson_lower(k, n, 0.9).low <= p
            )
            assert covered >= 0.9 - 1e-12


@given(COUNTS, st.floats(0.01, 0.999))
def test_intervals_hold_their_estimate_and_stay_in_the_unit_interval(counts: tuple[int, int], level: float) -> None:
    for interval in INTERVALS:
        found = interval(*counts, level)
        if interval is clopper_pearson_lower and level < 0.5:
            continue  # a bound below one half need not lie on the far side of the estimate
        assert 0 <= found.low <= found.estimate + 1e-12
        assert found.estimate - 1e-12 <= found.high <= 1


@given(COUNTS)
def test_swapping_success_and_failure_mirrors_the_interval(counts: tuple[int, int]) -> None:
    successes, n = counts
    for interval in (wilson, clopper_pearson):
        one, other = interval(successes, n), interval(n - successes, n)
        assert one.low == pytest.approx(1 - other.high, abs=1e-9)


@given(COUNTS)
def test_exact_interval_contains_more_with_more_confidence(counts: tuple[int, int]) -> None:
    narrow, wide = clopper_pearson(*counts, 0.8), clopper_pearson(*counts, 0.99)
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


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


# statsmodels 0.15: binom_test(19, 20, .5, "larger") and binom_test(3, 17, .3)
def test_binomial_golden() -> None:
    found = binomial_test(19, 20, 0.5, "greater")
    assert found.p_value == pytest.approx(21 / 2**20, rel=1e-9)
    assert (found.low, found.high) == (clopper_pearson(19, 20).low, clopper_pearson(19, 20).high)
    assert binomial_test(3, 17, 0.3).p_value == pytest.approx(0.42669166952862747)
    assert binomial_test(1, 20, 0.5, "less").p_value == pytest.approx(21 / 2**20, rel=1e-9)


@given(COUNTS, st.floats(0, 1), st.sampled_from(["greater", "less", "two-sided"]))
def test_binomial_equals_scipys(counts: tuple[int, int], null: float, alternative: str) -> None:
    try:
        expected = binomtest(*counts, null, alternative=alternative).pvalue
    except OverflowError:  # SciPy's own, of densities near the smallest number
        reject()
    found = binomial_test(*counts, null, alternative).p_value  # type: ignore[arg-type]
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-200)


P = [0.01, 0.04, 0.03, 0.005]


def test_holm_by_hand():
    # sorted .005 .01 .03 .04 times 4, 3, 2, 1, each at least the one before
    assert holm(P) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_benjamini_yekutieli_equals_scipy():
    from scipy.stats import false_discovery_control

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


def test_the_ends_are_counts_and_the_name_is_the_callers():
    check_counts(0, 1)
    check_counts(1, 1)
    check_counts(2.0, 3)


@pytest.mark.parametrize(
    ("test", "arguments", "message"),
    [
        (binomial_test, (1, 2, 50), "null"),
        (binomial_test, (1, 2, 0.5, "larger"), "alternative"),
        (binomial_test, (0, 0), "n is 0"),
        (two_proportion_z, (5, 5, 8, 7), "successes_second must lie between"),
        (check_counts, (5, 3, "errors"), "errors must lie"),
        *((holm, ([wrong],), "p values") for wrong in (1.2, -0.1, math.nan)),
    ],
)
def test_what_is_no_test_is_refused(test, arguments, message):
    with pytest.raises(InputError, match=message):
        test(*arguments)
