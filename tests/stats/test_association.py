import numpy as np
import pytest
from scipy.stats import linregress, ttest_1samp

from metajudge.errors import InputError
from metajudge.stats.association import associate, mean_of, score_interval, share_of
from metajudge.stats.intervals import wilson

RNG = np.random.default_rng(5)


def test_two_groups_are_a_difference_of_means():
    outcome, exposure = RNG.random(60), (np.arange(60) % 3 == 0).astype(float)
    found = associate(outcome, exposure, range(60))
    assert found.estimate == pytest.approx(outcome[exposure == 1].mean() - outcome[exposure == 0].mean())


def test_slope_is_that_of_least_squares():
    x = RNG.random(80)
    y = 2 * x + RNG.normal(0, 0.1, 80)
    assert associate(y, x, range(80)).estimate == pytest.approx(linregress(x, y).slope)


def test_strata_take_out_what_differs_between_them():
    strata = np.arange(200) % 4
    x = RNG.random(200) + strata
    y = 0.5 * x - 3 * strata
    assert associate(y, x, range(200), strata).estimate == pytest.approx(0.5)
    assert associate(y, x, range(200)).estimate < 0


def test_no_variation_within_strata_gives_none():
    assert associate([0, 1, 0, 1], [0, 0, 1, 1], range(4), [0, 0, 1, 1]) is None


def test_mean_is_the_t_test_of_cluster_means():
    values = RNG.random(40)
    found = mean_of(values, range(40))
    expected = ttest_1samp(values, 0.4)
    assert found.p_value(0.4) == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_repeated_observations_of_a_question_add_nothing():
    values, clusters = RNG.integers(0, 2, 30).astype(float), np.arange(30)
    once, five = mean_of(values, clusters), mean_of(np.repeat(values, 5), np.repeat(clusters, 5))
    assert five.error == pytest.approx(once.error)
    assert five.df == pytest.approx(once.df)


def test_an_exposure_of_few_questions_is_not_usable():
    exposure = np.zeros(300)
    exposure[:3] = 1
    found = associate(RNG.random(300), exposure, range(300))
    assert not found.usable
    assert found.df < 4
    assert associate(RNG.random(300), np.arange(300) % 2, range(300)).usable


def test_level_is_kept_with_clusters_and_rare_exposure():
    hits = []
    for _ in range(400):
        effect = np.repeat(RNG.normal(0, 1, 40), 5)
        exposure = np.repeat((RNG.random(40) < 0.25).astype(float), 5)
        found = associate(effect + RNG.normal(0, 1, 200), exposure, np.repeat(np.arange(40), 5))
        hits.append(found is not None and found.usable and found.p_value() <= 0.05)
    assert np.mean(hits) <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


def test_one_sided_p_value():
    found = mean_of([1.0, 1.2, 0.8, 1.1, 0.9], range(5))
    assert found.p_value(0.5, sides=1) < 0.01
    assert found.p_value(1.5, sides=1) > 0.99


def test_share_equals_wilson_for_many_independent_observations():
    values = (np.arange(4000) % 5 == 0).astype(float)
    found, expected = share_of(values, range(4000)), wilson(800, 4000)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=2e-4)


def test_share_at_its_ends_keeps_a_width():
    found = share_of(np.ones(20), range(20))
    assert (found.estimate, found.high) == (1.0, 1.0)
    assert 0.75 < found.low < 0.9
    clustered = share_of(np.ones(20), np.arange(20) // 10)
    assert clustered.low < found.low


def test_share_covers():
    inside = []
    for _ in range(400):
        chance = np.repeat(RNG.beta(8, 2, 40), 3)
        found = share_of((RNG.random(120) < chance).astype(float), np.repeat(np.arange(40), 3))
        inside.append(found.low <= 0.8 <= found.high)
    assert np.mean(inside) >= 0.93


def test_one_question_knows_nothing_of_its_variance():
    assert score_interval(0.5, float("inf"), 1.0, 1.0) == (0.0, 1.0)


@pytest.mark.parametrize(
    "call", [lambda: associate([], [], []), lambda: mean_of([1.0], [0, 1]), lambda: share_of([2.0, 1.0], [0, 1])]
)
def test_refuses_unfit_arguments(call):
    with pytest.raises(InputError):
        call()
