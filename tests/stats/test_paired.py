import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metajudge.errors import InputError
from metajudge.stats.paired import bootstrap_paired_difference, mcnemar_exact, sign_test


def outcomes(both: int, first: int, second: int, neither: int) -> tuple[list[bool], list[bool]]:
    one = [True] * both + [True] * first + [False] * second + [False] * neither
    other = [True] * both + [False] * first + [True] * second + [False] * neither
    return one, other


def test_mcnemar_golden() -> None:
    # p values from statsmodels 0.15: mcnemar(table, exact=True) of [[101, 59], [121, 33]] and [[10, 2], [9, 5]]
    found = mcnemar_exact(*outcomes(101, 59, 121, 33))
    assert found.p_value == pytest.approx(4.4344492637551645e-06, rel=1e-9)
    assert (found.favour_first, found.favour_second, found.tied, found.n) == (59, 121, 134, 314)
    assert found.share.estimate == pytest.approx(59 / 180)
    assert found.share.low < 59 / 180 < found.share.high < 0.5
    assert mcnemar_exact(*outcomes(10, 2, 9, 5)).p_value == pytest.approx(0.0654296875)


def test_sign_test_by_hand() -> None:
    # five up, none down, one tie: 2 / 2^5
    found = sign_test([1, 2, 0.5, 3, 1, 0])
    assert (found.p_value, found.n, found.tied, found.share.estimate) == (0.0625, 6, 1, 1.0)


def test_all_ties_are_no_evidence_and_have_no_share() -> None:
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


def test_bad_input_is_refused_with_specifics() -> None:
    with pytest.raises(InputError, match="first has 2 outcomes, second 1"):
        mcnemar_exact([True, False], [True])
    with pytest.raises(InputError, match="no pairs"):
        mcnemar_exact([], [])
    with pytest.raises(InputError, match="pair 1"):
        mcnemar_exact([True, None], [True, True])  # type: ignore[list-item]
    with pytest.raises(InputError, match="difference 1 is NaN"):
        sign_test([1.0, math.nan])
    with pytest.raises(InputError, match="no differences"):
        sign_test([])
    with pytest.raises(InputError, match=r"shape \(2,\), second \(1,\)"):
        bootstrap_paired_difference([1, 0], [1], rng=np.random.default_rng(1))


def test_paired_bootstrap_agrees_with_the_standard_error() -> None:
    rng = np.random.default_rng(7)
    first, second = rng.random(400) < 0.8, rng.random(400) < 0.7
    found = bootstrap_paired_difference(first, second, rng=rng)
    difference = first.astype(float) - second
    half = 1.96 * difference.std() / 20
    assert found.estimate == pytest.approx(difference.mean())
    assert (found.low, found.high) == pytest.approx((difference.mean() - half, difference.mean() + half), abs=0.01)
