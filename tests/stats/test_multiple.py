import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.stats.interval_estimate import check_counts, normal_quantile
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


def test_the_ends_are_counts_and_the_name_is_the_callers():
    check_counts(0, 1)
    check_counts(1, 1)
    check_counts(2.0, 3)
    with pytest.raises(InputError, match="errors must lie"):
        check_counts(5, 3, "errors")
