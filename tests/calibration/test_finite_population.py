"""The test about one file: chance lies only in which of its questions are labelled."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from metajudge.calibration.finite_population import file_p_values


def test_one_judgment_a_question_is_the_hypergeometric_test():
    kept, errors = np.ones((30, 1), int), np.zeros((30, 1), int)
    errors[0] = 1
    # Of 50, at least 6 wrong ones are too many for 90 %.
    assert file_p_values(errors, kept, np.array([50]), 0.9, 1)[0] == pytest.approx(hypergeom.cdf(1, 50, 6, 30))


def test_a_fully_labelled_file_is_known():
    for most in (1, 2):
        kept, errors = np.ones((20, 1), int), np.zeros((20, 1), int)
        errors[:2] = 1
        assert file_p_values(errors, kept, np.array([20]), 0.9, most)[0] == 0  # 18 of 20 reach 90 %
        errors[2] = 1
        assert file_p_values(errors, kept, np.array([20]), 0.9, most)[0] == 1


@pytest.mark.parametrize("most", [1, 3])
def test_a_file_below_the_target_is_rarely_promised(most):
    rng, broken, repetitions = np.random.default_rng(most), 0, 2000
    kept = rng.integers(1, most + 1, size=60)
    errors = np.where(np.arange(60) < 60, 0, 0)
    while errors.sum() <= 0.15 * kept.sum():  # just below the target of 85 %
        at = rng.integers(60)
        errors[at] = kept[at]
    for _ in range(repetitions):
        rows = rng.permutation(60)[:35]
        broken += file_p_values(errors[rows, None], kept[rows, None], np.array([60]), 0.85, most)[0] <= 0.1
    assert broken / repetitions <= 0.1 + 2 * np.sqrt(0.09 / repetitions)
