import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from scipy.stats import fisher_exact as scipy_fisher

from metajudge.errors import InputError
from metajudge.stats.contingency import Table2x2, chi_square, fisher_exact, odds_ratio, risk_ratio

COUNT = st.integers(0, 60)


# statsmodels 0.15 (Table2x2: oddsratio, riskratio and their confint), scipy 1.17 (chi2_contingency, fisher_exact).
def test_golden() -> None:
    table = Table2x2(71, 3, 17, 8)
    odds, risk = odds_ratio(table), risk_ratio(table)
    assert odds.estimate == pytest.approx(11.137254901960784)
    assert (odds.low, odds.high) == pytest.approx((2.669124259431298, 46.471589440979365), rel=1e-9)
    assert risk.estimate == pytest.approx(1.4109697933227343)
    assert (risk.low, risk.high) == pytest.approx((1.0739295621409453, 1.8537861586567606), rel=1e-9)
    plain, yates = chi_square(table), chi_square(table, yates=True)
    assert (plain.statistic, plain.p_value) == pytest.approx((14.77641891891892, 0.000121039682431093))
    assert (yates.statistic, yates.p_value) == pytest.approx((12.082347972972974, 0.0005090145369074651))
    assert "without" in plain.method
    assert "with Yates" in yates.method
    assert fisher_exact(table).p_value == pytest.approx(0.0006019525760254129)
    small = Table2x2(12, 5, 29, 2)
    assert (odds_ratio(small).low, odds_ratio(small).high) == pytest.approx((0.028123837154608, 0.974118753540273))
    assert fisher_exact(small).p_value == pytest.approx(0.08026855207410463)


def test_the_ladies_tea_by_hand() -> None:
    # three of four cups of each kind named: P = (16 + 1 + 16 + 1) / 70 two-sided
    assert fisher_exact(Table2x2(3, 1, 1, 3)).p_value == pytest.approx(34 / 70)


# statsmodels 0.15 on the tables with one half added to each cell
def test_an_empty_cell_gives_an_interval_and_no_infinite_estimate() -> None:
    odds = odds_ratio(Table2x2(10, 0, 4, 6))
    assert odds.estimate is None
    assert "infinite" in odds.reason
    assert "one half" in odds.method
    assert (odds.low, odds.high) == pytest.approx((1.39250946051657, 660.7575296255318), rel=1e-9)
    risk = risk_ratio(Table2x2(0, 10, 4, 6))
    assert risk.estimate == 0
    assert (risk.low, risk.high) == pytest.approx((0.006758932677694246, 1.826572271253528), rel=1e-9)
    assert risk_ratio(Table2x2(4, 6, 0, 10)).estimate is None


def test_an_empty_margin_has_no_statistic_and_says_why() -> None:
    for table, word in ((Table2x2(3, 4, 0, 0), "second group"), (Table2x2(0, 4, 0, 5), "outcome")):
        for found in (fisher_exact(table), chi_square(table)):
            assert found.statistic is None
            assert found.p_value is None
            assert word in found.reason
        for ratio in (odds_ratio(table), risk_ratio(table)):
            assert (ratio.estimate, ratio.low, ratio.high) == (None, None, None)
            assert word in ratio.reason


@given(COUNT, COUNT, COUNT, COUNT)
def test_tests_equal_scipys(a: int, b: int, c: int, d: int) -> None:
    if not (a + b and c + d and a + c and b + d):
        return
    table, cells = Table2x2(a, b, c, d), [[a, b], [c, d]]
    assert fisher_exact(table).p_value == pytest.approx(float(scipy_fisher(cells).pvalue), rel=1e-7)
    for yates in (False, True):
        expected = chi2_contingency(cells, correction=yates)
        found = chi_square(table, yates=yates)
        assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-12)


@given(COUNT, COUNT, COUNT, COUNT)
def test_exchanging_groups_inverts_ratios_and_keeps_tests(a: int, b: int, c: int, d: int) -> None:
    if not a + b + c + d:
        return
    one, other = Table2x2(a, b, c, d), Table2x2(c, d, a, b)
    for test in (fisher_exact, chi_square):
        assert test(one).p_value == pytest.approx(test(other).p_value)
    first, second = odds_ratio(one), odds_ratio(other)
    if first.low is not None and second.high is not None:
        assert first.low == pytest.approx(1 / second.high)
    for found in (first, risk_ratio(one)):
        assert all(value is None or math.isfinite(value) for value in (found.estimate, found.low, found.high))
        if found.estimate is not None and found.low is not None and found.high is not None and a and b and c and d:
            assert found.low <= found.estimate <= found.high


def test_bad_counts_are_refused() -> None:
    for bad in (-1, 1.5, math.nan):
        with pytest.raises(InputError, match="second_yes must be a count"):
            Table2x2(1, 1, bad, 1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="all four"):
        Table2x2(0, 0, 0, 0)
    with pytest.raises(InputError, match="confidence"):
        odds_ratio(Table2x2(1, 1, 1, 1), 95)
