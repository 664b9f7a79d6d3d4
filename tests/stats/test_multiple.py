import math

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.stats.interval_estimate import check_confidence, check_counts, normal_quantile
from metajudge.stats.multiple import benjamini_hochberg, benjamini_yekutieli, holm

P = [0.01, 0.04, 0.03, 0.005]


def test_holm_by_hand():
    # sorted .005 .01 .03 .04 times 4, 3, 2, 1, each at least the one before
    assert holm(P) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_benjamini_hochberg_equals_scipy():
    from scipy.stats import false_discovery_control

    rng = np.random.default_rng(0)
    p = rng.random(40) ** 2
    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p))
    assert benjamini_yekutieli(p) == pytest.approx(false_discovery_control(p, method="by"))


def test_order_is_kept_and_none_exceeds_one():
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert benjamini_hochberg(P) == pytest.approx([0.02, 0.04, 0.04, 0.02])


def test_no_tests_give_no_values():
    assert len(holm([])) == len(benjamini_hochberg([])) == len(benjamini_yekutieli([])) == 0


@pytest.mark.parametrize("wrong", [[1.2], [-0.1], [float("nan")]])
def test_refuses_what_is_no_p_value(wrong):
    with pytest.raises(InputError, match="p values"):
        holm(wrong)


@pytest.mark.parametrize(("confidence", "quantile"), [(0.95, 1.959964), (0.9, 1.644854), (0.99, 2.575829)])
def test_normal_quantiles_are_two_sided(confidence, quantile):
    assert normal_quantile(confidence) == pytest.approx(quantile, abs=1e-6)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 100, math.nan])
def test_a_confidence_lies_strictly_between_0_and_1(confidence):
    with pytest.raises(InputError, match="strictly between 0 and 1") as found:
        check_confidence(confidence)
    assert "did you mean" not in str(found.value)
    check_confidence(0.5)


def test_a_percentage_is_recognised():
    with pytest.raises(InputError, match=r"did you mean 0\.95\?"):
        check_confidence(95)


@pytest.mark.parametrize(
    ("successes", "n", "message"),
    [
        (math.nan, 3, "successes is NaN"),
        (1, math.nan, "n is NaN"),
        (1.5, 3, "successes must be a whole number"),
        (0, 0, "a proportion of nothing"),
        (4, 3, "between 0 and n = 3"),
        (-1, 3, "between 0 and n = 3"),
    ],
)
def test_counts_that_are_none_are_refused(successes, n, message):
    with pytest.raises(InputError, match=message):
        check_counts(successes, n)


def test_the_ends_are_counts_and_the_name_is_the_callers():
    check_counts(0, 1)
    check_counts(1, 1)
    check_counts(2.0, 3)
    with pytest.raises(InputError, match="errors must lie"):
        check_counts(5, 3, "errors")
