"""Votes on pairs drawn from known strengths."""

import numpy as np

from metajudge.voting import count_votes


def made_votes(seed=0, size=5, count=3000, ties=0.0):
    source = np.random.default_rng(seed)
    strengths = np.linspace(-1, 1, size)
    first = source.integers(0, size, count)
    second = (first + source.integers(1, size, count)) % size
    outcome = np.where(source.random(count) < 1 / (1 + np.exp(strengths[second] - strengths[first])), 1, -1)
    outcome[source.random(count) < ties] = 0
    return count_votes(first, second, outcome, candidates=[f"m{i}" for i in range(size)]), strengths
