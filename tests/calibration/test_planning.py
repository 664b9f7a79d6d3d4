"""How many labels a promise takes."""

import numpy as np
import pytest

from metajudge.calibration.planning import plan
from metajudge.calibration.procedures import (
    Procedure,
    least_selective,
)
from metajudge.errors import InputError


def test_a_plan_has_the_power_it_claims():
    n = plan(0.85, 0.1, 0.95, share=0.25)
    rng = np.random.default_rng(2)
    procedure = Procedure(grid=(0.5,), starts=(0,), shares=(0.25,))
    for number, enough in ((n, True), (n // 2, False)):
        errors = rng.binomial(number, 0.05, size=(4000, 1))
        passed = least_selective(np.full((4000, 1), number), errors, 0.85, 0.1, procedure) == 0
        assert (passed.mean() >= 0.78) == enough


@pytest.mark.parametrize("rate", [0.9, 0.5, 1.1])
def test_a_plan_for_a_precision_not_above_the_target_is_refused(rate):
    with pytest.raises(InputError, match="above the target"):
        plan(0.9, 0.1, rate)
