from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from metajudge.errors import InputError
from metajudge.stats import sign_flip as module
from metajudge.stats.sign_flip import sign_flip


def test_alone_in_their_clusters_it_is_the_sign_test():
    values = [1] * 12 + [-1] * 3 + [0] * 5
    found = sign_flip(values, range(20))
    assert found.p_value == pytest.approx(binomtest(12, 15).pvalue)
    assert found.estimate == pytest.approx(9 / 20)
    assert found.moved == 15


def test_equals_all_flips_counted_out():
    values, clusters = [1, 1, -1, 1, 2, 0, 1, 1], [0, 0, 1, 2, 2, 3, 4, 4]
    sums = np.bincount(clusters, weights=values)
    totals = [abs(sum(s * v for s, v in zip(signs, sums, strict=True))) for signs in product((-1, 1), repeat=len(sums))]
    expected = np.mean([total >= abs(sums.sum()) for total in totals])
    assert sign_flip(values, clusters).p_value == pytest.approx(expected)


def test_one_sided_looks_up_only():
    assert sign_flip([1] * 10, range(10), sides=1).p_value == pytest.approx(0.5**10)
    assert sign_flip([-1] * 10, range(10), sides=1).p_value == 1.0


def test_observations_of_one_question_count_once():
    apart, together = sign_flip([1] * 20, range(20)), sign_flip([1] * 20, [at // 10 for at in range(20)])
    assert apart.p_value < 1e-4
    assert together.p_value == 0.5


def test_nothing_moves():
    found = sign_flip([0] * 30, range(30))
    assert (found.estimate, found.p_value, found.error) == (0.0, 1.0, 0.0)
    assert 0.2 < found.smallest_effect(0.05) < 0.4  # about 8 of 30 clusters would have to point one way


def test_normal_approximation_is_close(monkeypatch):
    rng = np.random.default_rng(2)
    values = rng.choice([-1, 0, 1], size=900, p=[0.2, 0.55, 0.25])
    exact = sign_flip(values, np.arange(900) // 2)
    monkeypatch.setattr(module, "LARGEST_EXACT", 10)
    rough = sign_flip(values, np.arange(900) // 2)
    assert rough.p_value == pytest.approx(exact.p_value, rel=0.15)
    assert "normal" in rough.method
    assert "exact" in exact.method


def test_level_is_kept():
    rng = np.random.default_rng(3)
    found = [sign_flip(rng.choice([-1, 0, 1], size=60), np.arange(60) // 3).p_value <= 0.05 for _ in range(400)]
    assert np.mean(found) <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


@pytest.mark.parametrize(("values", "clusters"), [([], []), ([1], [0, 1]), ([0.5], [0])])
def test_refuses_unfit_values(values, clusters):
    with pytest.raises(InputError):
        sign_flip(values, clusters)
