"""Coefficients between a prior and labels."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from metajudge.calibration.pooling import Task, item_weights, learn_prior, mean_probability, pooled


def made_task(rng, slope: float, n: int = 400) -> Task:
    value = rng.normal(size=n)
    correct = rng.random(n) < expit(slope * value)
    return Task(np.column_stack([np.ones(n), value]), correct, np.ones(n))


def test_without_labels_the_prior_answers_and_many_labels_decide_alone() -> None:
    mean, variance = np.array([0.5, 1.0]), np.array([0.2, 0.3])
    nothing = Task(np.zeros((0, 2)), np.zeros(0, dtype=bool), np.zeros(0))
    alone = pooled(nothing, mean, variance)
    assert alone.at == pytest.approx(mean)
    assert np.diag(alone.covariance) == pytest.approx(variance)
    many = pooled(made_task(np.random.default_rng(0), -2.0, 20_000), mean, variance)
    assert many.at[1] == pytest.approx(-2.0, abs=0.1)
    assert many.covariance[1, 1] < 0.01


def test_mean_and_variance_over_sets_are_found() -> None:
    rng = np.random.default_rng(1)
    slopes = rng.normal(1.2, 0.6, size=40)
    tasks = [made_task(rng, slope) for slope in slopes]
    mean, variance = learn_prior(tasks, np.array([0.0, 0.7]), np.array([0.15, 0.15]))
    assert mean[1] == pytest.approx(slopes.mean(), abs=0.1)
    assert variance[1] ** 0.5 == pytest.approx(slopes.std(), abs=0.15)
    assert variance[0] < 0.05  # no set has a level of its own


def test_mean_probability_is_near_the_integral() -> None:
    for odds, variance in ((0.3, 0.2), (2.0, 1.0), (-1.0, 3.0)):
        exact = quad(lambda x, o=odds, v=variance: expit(x) * norm.pdf(x, o, v**0.5), -30, 30)[0]
        assert mean_probability(np.array([odds]), np.array([variance]))[0] == pytest.approx(exact, abs=0.012)


def test_an_item_counts_once_however_many_judgments_it_has() -> None:
    assert item_weights(["a", "a", "a", "b"]).sum() == pytest.approx(2.0)
