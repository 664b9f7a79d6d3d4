"""Bootstrap over questions, vectorised, equals drawing and computing one by one."""

import numpy as np
import pytest
from pydantic import ValidationError

from metajudge.peers.figures import Figure, Resamples, distribution


def test_resampled_medians_and_means_equal_those_computed_one_by_one():
    rng = np.random.default_rng(0)
    values, defined = rng.normal(size=17), rng.random(17) < 0.7
    resamples = Resamples(17, 300, np.random.default_rng(1))
    medians, some = resamples.medians(values, defined)
    means, _ = resamples.means(values, defined)
    for drawn, median, mean, there in zip(resamples.drawn, medians, means, some, strict=True):
        kept = values[drawn][defined[drawn]]
        assert there == bool(len(kept))
        assert median == pytest.approx(np.median(kept))
        assert mean == pytest.approx(kept.mean())


def test_means_of_several_models_are_resampled_together():
    rng = np.random.default_rng(0)
    values, defined = rng.normal(size=(9, 3)), rng.random((9, 3)) < 0.8
    resamples = Resamples(9, 100, np.random.default_rng(1))
    means, some = resamples.means(values, defined)
    for k in range(3):
        alone, there = resamples.means(values[:, k], defined[:, k])
        assert np.allclose(means[:, k], alone)
        assert np.array_equal(some[:, k], there)


def test_no_defined_value_is_absent_with_the_most_frequent_reason():
    found = distribution(np.zeros(3), np.zeros(3, bool), {"constant": 2, "few": 1}, None)
    assert found.median.absent == "constant"
    assert found.undefined == {"constant": 2, "few": 1}
    assert found.n == 0


@pytest.mark.parametrize("wrong", [{}, {"value": 1.0, "absent": "why"}, {"value": float("nan")}])
def test_a_figure_is_a_number_or_a_reason(wrong):
    with pytest.raises(ValidationError):
        Figure(**wrong)


def test_the_interval_of_a_median_covers_it_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        values = rng.normal(size=40)
        low, high = Resamples(40, 200, rng).median_interval(values, np.ones(40, bool))
        covered += low <= 0 <= high
    assert 0.90 <= covered / 300 <= 0.99
