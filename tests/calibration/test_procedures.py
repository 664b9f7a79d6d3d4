"""Sequential tests over a grid of thresholds."""

import numpy as np
import pytest
from scipy.stats import binom

from metajudge.calibration.procedures import (
    Procedure,
    fewest_kept,
    last_rejected,
    log_odds_procedure,
)
from metajudge.errors import InputError
from tests.calibration.populations import DELTA, SHAPES, TARGET, violations


def uncorrected(kept, errors, target, delta, procedure, questions):
    """What must not be done: every threshold tested at the whole of delta."""
    passed = (binom.cdf(errors, np.maximum(kept, 1), 1 - target) <= delta) & (kept > 0)
    return np.where(passed.any(axis=1), passed.shape[1] - 1 - passed[:, ::-1].argmax(axis=1), -1)


def test_the_simulation_would_notice_a_procedure_without_control_of_the_family():
    shape = SHAPES["flat at the target less a hair"]
    procedure = log_odds_procedure(TARGET)
    assert violations(shape, procedure, np.random.default_rng(17), 2000, uncorrected) > 2 * DELTA


def test_batches_agree_with_one_by_one():
    procedure, rng = log_odds_procedure(TARGET), np.random.default_rng(3)
    p_values = rng.random((50, len(procedure.grid))) * 0.2
    together = last_rejected(p_values, DELTA, procedure)
    assert together.tolist() == [int(last_rejected(one, DELTA, procedure)) for one in p_values]
    assert len(set(together.tolist())) > 1


def test_one_early_error_does_not_lose_everything_with_a_later_start():
    p_values = binom.cdf(4, [10, 30, 60, 120], 0.15)
    one = Procedure(grid=(0.9, 0.8, 0.7, 0.6), starts=(0,), shares=(1.0,))
    two = Procedure(grid=(0.9, 0.8, 0.7, 0.6), starts=(0, 2), shares=(0.5, 0.5))
    assert int(last_rejected(p_values, 0.1, one)) == -1
    assert int(last_rejected(p_values, 0.1, two)) == 3


def test_a_passing_start_hands_its_share_on():
    # The last passes only at the sum of both shares.
    p_value = float(binom.cdf(4, 60, 0.15))
    p_values = np.array([float(binom.cdf(0, 60, 0.15)), p_value])
    shares = (0.9 * p_value / 0.1, 0.3 * p_value / 0.1)
    passing = Procedure(grid=(0.9, 0.8), starts=(0, 1), shares=shares)
    assert int(last_rejected(p_values, 0.1, passing)) == 1
    alone = Procedure(grid=(0.9, 0.8), starts=(1,), shares=shares[1:])
    assert int(last_rejected(p_values, 0.1, alone)) == -1


@pytest.mark.parametrize("share", [0.1, 0.025])
def test_the_fewest_kept_is_the_first_number_that_passes_without_errors(share):
    n = fewest_kept(0.9, share)
    assert binom.cdf(0, n, 0.1) <= share < binom.cdf(0, n - 1, 0.1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"grid": (0.5, 0.9)},
        {"starts": (2,)},
        {"starts": ()},
        {"shares": (1.2,)},
        {"shares": (0.0,)},
    ],
)
def test_a_procedure_that_would_not_be_valid_is_refused(wrong):
    with pytest.raises(InputError):
        Procedure(**{"grid": (0.9, 0.5), "starts": (0,), "shares": (1.0,), **wrong})
