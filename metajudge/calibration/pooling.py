"""Partial pooling: logistic regressions whose coefficients are drawn to what other sets have shown.

A set's coefficients are taken as drawn from a normal distribution over sets, ``w ~ N(mean, variance)``, diagonal. With
no labels of one's own the mean answers, less sure of itself by the variance; with some, the most probable coefficients
given both; with many, the labels alone. Mean and variance come from labelled sets by expectation maximisation with a
Laplace approximation of each set's coefficients (empirical Bayes; Gelman and Hill, "Data Analysis Using Regression and
Multilevel/Hierarchical Models", 2007, chapter 12; MacKay, "The evidence framework applied to classification networks",
1992).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from metajudge.stats.arrays import Bools, Floats

MOST_STEPS = 60
LARGEST_STEP = 2.0
CLOSE = 1e-7

EM_STEPS = 40

START_SETS = 1.0
"""The start counts as so many sets in the mean, and as twice so many in the variance."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Labelled rows of one input.

    Attributes:
        matrix: [n, k] features.
        correct: [n].
        weights: [n] what rows count for; the rows of an item together 1.
        share: what the input counts for among all, so that the parts of one set count as one set.
    """

    matrix: Floats
    correct: Bools
    weights: Floats
    share: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """Coefficients given a prior and labels.

    Attributes:
        at: [k] the most probable ones.
        covariance: [k, k] of the Laplace approximation.
    """

    at: Floats
    covariance: Floats


def pooled(task: Task, mean: Floats, variance: Floats, start: Floats | None = None) -> Pooled:
    """The most probable coefficients: maximises ``sum w log likelihood - sum (c - mean)^2 / (2 variance)``.

    Args:
        task: labelled rows; none leaves the prior.
        mean: [k] of the prior.
        variance: [k] above 0.
        start: [k] where to start; the mean by default.
    """
    from scipy.linalg import cho_factor, cho_solve

    at, precision = (mean if start is None else start).copy(), 1.0 / variance
    factor = None
    for _ in range(MOST_STEPS):
        found = expit(task.matrix @ at)
        gradient = task.matrix.T @ (task.weights * (found - task.correct)) + precision * (at - mean)
        curvature = (task.matrix * (task.weights * found * (1 - found))[:, None]).T @ task.matrix
        factor = cho_factor(curvature + np.diag(precision))
        step = cho_solve(factor, gradient)
        size = float(np.abs(step).max(initial=0.0))
        at = at - step * min(1.0, LARGEST_STEP / max(size, CLOSE))
        if size < CLOSE:
            break
    assert factor is not None
    return Pooled(at, cho_solve(factor, np.eye(len(mean))))


def learn_prior(tasks: Sequence[Task], mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Mean [k] and variance [k] of coefficients over sets.

    Args:
        tasks: inputs with the same features.
        mean, variance: [k] where to start; they stay in the result as :data:`START_SETS` sets.
    """
    shares = np.array([task.share for task in tasks])
    first, spread, at = mean, variance, [mean] * len(tasks)
    for _ in range(EM_STEPS):
        found = [pooled(task, mean, spread, start) for task, start in zip(tasks, at, strict=True)]
        at = [one.at for one in found]
        each, own = np.array(at), np.array([np.diag(one.covariance) for one in found])
        mean = (shares @ each + START_SETS * first) / (shares.sum() + START_SETS)
        spread = (shares @ ((each - mean) ** 2 + own) + 2 * START_SETS * variance) / (shares.sum() + 2 * START_SETS)
    return mean, spread


def mean_probability(odds: Floats, variance: Floats) -> Floats:
    """[n] the mean of ``1 / (1 + exp(-x))`` for x normal with mean ``odds`` and ``variance``, approximately.

    ``x / sqrt(1 + pi variance / 8)`` in place of x (MacKay, 1992, equation 10).
    """
    return np.asarray(expit(odds / np.sqrt(1 + np.pi / 8 * variance)))


def item_weights(items: Sequence[str]) -> Floats:
    """[n] what rows count for: those of an item together 1 on average."""
    return np.full(len(items), len(set(items)) / max(1, len(items)))
