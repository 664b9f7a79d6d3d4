import numpy as np
import pytest
from scipy.stats import norm, poisson, ttest_1samp

from metajudge.errors import InputError
from metajudge.stats.power import events_for_power, observations_needed, smallest_effect


def test_smallest_effect_of_a_normal_test_is_2_8_standard_errors():
    expected = norm.ppf(0.975) + norm.ppf(0.8)
    assert smallest_effect(0.1, 1e9, 0.05) == pytest.approx(0.1 * expected, rel=1e-6)
    assert smallest_effect(0.1, 1e9, 0.05, sides=1) == pytest.approx(0.1 * (norm.ppf(0.95) + norm.ppf(0.8)), rel=1e-6)


def test_a_t_test_finds_the_smallest_effect_in_80_percent_of_draws():
    effect = smallest_effect(1 / 40**0.5, 39, 0.05)
    found = ttest_1samp(np.random.default_rng(1).normal(effect, 1, (4000, 40)), 0, axis=1).pvalue <= 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)


def test_observations_needed_grow_with_the_square():
    assert observations_needed(100, 0.2, 0.1) == 400
    assert observations_needed(100, 0.05, 0.1) == 25


def test_events_for_power():
    mean = events_for_power(8)
    assert poisson.sf(7, mean) == pytest.approx(0.8)


@pytest.mark.parametrize("arguments", [(-0.1, 10, 0.05), (0.1, 0.5, 0.05), (0.1, 10, 0.0), (0.1, 10, 1.0)])
def test_refuses_what_is_out_of_range(arguments):
    with pytest.raises(InputError):
        smallest_effect(*arguments)


def test_refuses_effects_that_are_not_above_zero():
    with pytest.raises(InputError, match="above 0"):
        observations_needed(10, 0.0, 0.1)
