import math

import numpy as np
import pytest
from scipy.stats import wilcoxon

from metajudge.errors import InputError
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
