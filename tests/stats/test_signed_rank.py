import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, wilcoxon

from metajudge.errors import InputError
from metajudge.stats import sign_flip as module
from metajudge.stats.sign_flip import sign_flip
from metajudge.stats.signed_rank import LARGEST_EXACT, wilcoxon_signed_rank


def test_golden() -> None:
    # Hollander and Wolfe's depression scale data, as in R's ?wilcox.test: V = 40, two-sided p = 0.0390625
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    found = wilcoxon_signed_rank([one - other for one, other in zip(before, after, strict=True)])
    assert (found.statistic, found.p_value, found.n) == (40, pytest.approx(0.0390625), 9)
    assert found.estimate == pytest.approx(2 * 40 / 45 - 1)


def test_exact_with_ties_equals_all_sign_changes() -> None:
    # scipy 1.17, method=PermutationMethod over all sign changes of the ten values other than 0
    found = wilcoxon_signed_rank([1, 1, -1, 2, 3, -2, 0, 5, 4, 4, -1])
    assert found.p_value == pytest.approx(0.08984375)
    assert (found.n, found.zeros) == (11, 1)


def test_large_samples_agree_with_scipys_approximation() -> None:
    values = np.random.default_rng(3).normal(0.1, 1, LARGEST_EXACT + 400)
    found = wilcoxon_signed_rank(values.tolist())
    assert found.p_value == pytest.approx(6.028839821887859e-05)
    assert "approximation" in found.method
    exact = wilcoxon_signed_rank(values[:60].tolist())
    assert exact.p_value == pytest.approx(wilcoxon(values[:60], method="exact").pvalue)


def test_exchanging_the_two_mirrors_the_result() -> None:
    values = [0.5, -1, 2, 2, -3, 7]
    one, other = wilcoxon_signed_rank(values), wilcoxon_signed_rank([-value for value in values])
    assert one.p_value == other.p_value
    assert one.estimate == pytest.approx(-(other.estimate or 0))


def test_no_difference_at_all_is_no_evidence() -> None:
    found = wilcoxon_signed_rank([0, 0])
    assert (found.estimate, found.p_value, found.zeros) == (None, 1.0, 2)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        wilcoxon_signed_rank([])
    for bad in (math.nan, math.inf):
        with pytest.raises(InputError, match="difference 1"):
            wilcoxon_signed_rank([1, bad])


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
