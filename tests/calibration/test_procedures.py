"""Sequential tests over a grid of thresholds."""

import numpy as np
import pytest
from scipy.stats import binom

from metajudge.calibration.procedures import Procedure, fewest_kept, last_rejected
from metajudge.errors import InputError
from tests.calibration.populations import DELTA, SHAPES, violations

GRID = tuple(float(value) for value in (np.arange(59, -1, -1) + 0.5) / 60)


def uncorrected(kept, errors, target, delta, procedure, questions):
    """What must not be done: every threshold tested at the whole of delta."""
    passed = (binom.cdf(errors, np.maximum(kept, 1), 1 - target) <= delta) & (kept > 0)
    return np.where(passed.any(axis=1), passed.shape[1] - 1 - passed[:, ::-1].argmax(axis=1), -1)


def test_the_simulation_would_notice_a_procedure_without_control_of_the_family():
    shape = SHAPES["flat at the target less a hair"]
    procedure = Procedure(grid=GRID)
    assert violations(shape, procedure, np.random.default_rng(17), 2000, uncorrected) > 2 * DELTA


def test_batches_agree_with_one_by_one():
    p_values = np.random.default_rng(3).random((50, len(GRID))) * 0.2
    together = last_rejected(p_values, DELTA)
    assert together.tolist() == [int(last_rejected(one, DELTA)) for one in p_values]
    assert len(set(together.tolist())) > 1


def test_the_search_ends_at_the_first_threshold_that_does_not_pass():
    assert int(last_rejected(np.array([0.01, 0.1, 0.2, 0.01]), 0.1)) == 1
    assert int(last_rejected(np.array([0.11, 0.01]), 0.1)) == -1


@pytest.mark.parametrize("share", [0.1, 0.025])
def test_the_fewest_kept_is_the_first_number_that_passes_without_errors(share):
    n = fewest_kept(0.9, share)
    assert binom.cdf(0, n, 0.1) <= share < binom.cdf(0, n - 1, 0.1)


@pytest.mark.parametrize(
    "grid",
    [(0.5, 0.9), (0.9, 0.9), ()],
)
def test_a_procedure_that_would_not_be_valid_is_refused(grid):
    with pytest.raises(InputError):
        Procedure(grid=grid)
