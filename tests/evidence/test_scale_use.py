"""Severity and spread of a judge, and a grade among others."""

import numpy as np
import pytest

from metajudge.evidence.scale_use import ScaleUse, scale_columns, scale_uses
from tests.evidence.answers import answers, seen


def test_a_judges_use_of_its_scale_is_its_mean_spread_and_distribution():
    made, *_ = answers({f"i{n}": [seen("a", n % 5 + 1), seen("b", 4)] for n in range(50)}, "grade", "equal")
    found = scale_uses(made)
    assert (found["a"].mean, found["b"].mean, found["b"].sd) == (3, 4, 0)
    assert found["a"].sd == pytest.approx(np.sqrt(2))
    low, middle, high = found["a"].rank(np.array([1.0, 3.0, 5.0]))
    assert 0 < low < 0.2 < 0.4 < middle < 0.6 < 0.8 < high < 1


def test_a_grade_is_compared_with_its_judges_and_its_peers():
    items = {"i": [seen("mild", 5), seen("harsh", 2), seen("third", 4)]}
    made, rows, who = answers(items, "grade", "equal")
    uses = {
        "mild": ScaleUse(mean=4.0, sd=1.0, quantiles=(3.0, 4.0, 5.0)),
        "harsh": ScaleUse(mean=1.0, sd=1.0, quantiles=(0.0, 1.0, 2.0)),
        "third": ScaleUse(mean=4.0, sd=0.0, quantiles=(4.0,)),
    }
    found = {name: column.values for name, column in scale_columns(made, rows, uses).items()}
    at = [judge for _, judge, _ in who].index("mild")
    assert (found["scale.value"][at], found["scale.level"][at], found["scale.mean"][at]) == (5, 1, 4)
    assert (found["scale.gap"][at], found["scale.distance"][at], found["scale.median"][at]) == (-2, 2, 2)
    assert found["scale.level_gap"][at] == pytest.approx((1 + 0) / 2 - 1)
    assert found["scale.spread"][at] == 1


def test_pass_and_fail_are_numbers_and_other_words_are_not():
    made, rows, _ = answers(
        {"i": [seen("a", "pass"), seen("b", "fail")], "j": [seen("a", "blue")]}, "category", "equal"
    )
    found = scale_columns(made, rows, scale_uses(made))
    assert found["scale.value"].present.tolist() == [True, True, False]
    assert found["scale.gap"].values.tolist()[:2] == [-1, 1]


def test_a_judge_alone_and_one_that_is_not_known_have_less():
    made, rows, _ = answers({"i": [seen("a", 3)]}, "grade", "equal")
    found = scale_columns(made, rows, {})
    assert found["scale.value"].present.all()
    assert not found["scale.level"].present.any()
    assert not found["scale.gap"].present.any()
