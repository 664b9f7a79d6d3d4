"""Correlations of places equal scipy's, and what is undefined has a reason and no number."""

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, rankdata

from metajudge.peers.correlation import CONSTANT, CONSTANT_REFERENCE, REASONS, TOO_FEW, correlate


def random_places(rng, count, size):
    return np.array([rankdata(rng.integers(0, size, size)) for _ in range(count)], dtype=float)


@pytest.mark.parametrize("size", [2, 3, 6, 11])
def test_equal_to_scipy_with_ties_and_missing_models(size):
    rng = np.random.default_rng(size)
    places, references = random_places(rng, 200, size), random_places(rng, 200, size)
    there, known = rng.random((200, size)) < 0.8, rng.random((200, size)) < 0.8
    checked = 0
    for measure, expected in (("pearson", pearsonr), ("kendall", kendalltau)):
        found = correlate(places, there, references, known, measure)
        for n in range(200):
            both = there[n] & known[n]
            x, y = places[n][both], references[n][both]
            undefined = len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0
            assert found.defined[n] == (not undefined)
            if not undefined:
                assert found.values[n] == pytest.approx(expected(x, y).statistic, abs=1e-12)
                checked += 1
    assert checked > 30


def test_a_constant_ranking_has_a_reason_and_no_correlation():
    places = np.array([[2.0, 2.0, 2.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    there = np.array([[True] * 3, [True] * 3, [True, False, False]])
    for measure in ("pearson", "kendall"):
        found = correlate(places, there, np.array([1.0, 2.0, 3.0]), np.ones(3, bool), measure)
        assert found.states.tolist() == [CONSTANT, 0, TOO_FEW]
        assert found.why() == {REASONS[CONSTANT]: 1, REASONS[TOO_FEW]: 1}
        flat = correlate(places[1:2], there[1:2], np.array([2.0, 2.0, 2.0]), np.ones(3, bool), measure)
        assert flat.states.tolist() == [CONSTANT_REFERENCE]


def test_float_noise_makes_no_order_out_of_a_tie():
    noisy = np.array([[1.5, 1.5 + 1e-13, 3.0]])
    found = correlate(noisy, np.ones((1, 3), bool), np.array([1.0, 2.0, 3.0]), np.ones(3, bool), "kendall")
    assert found.values[0] == pytest.approx(kendalltau([1.5, 1.5, 3], [1, 2, 3]).statistic)
