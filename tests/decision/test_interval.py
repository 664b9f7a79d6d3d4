"""Numbers are compared after rounding to 1e-9."""

import numpy as np

from metajudge.decision.interval import all_exact
from metajudge.types.interval import exact


def test_many_numbers_are_rounded_as_each_alone():
    random = np.random.default_rng(1)
    halves = (random.integers(0, 10**9, 500) + 0.5) / 1e9
    far = [1e4, 123456.7890123455, -9.87654321e15, 1e300, np.inf, -np.inf, np.nan, 0.0, -0.0, -4e-10]
    values = np.concatenate(
        [random.random(500), halves, -halves, np.nextafter(halves, 1), 1e4 * random.random(500), far]
    )
    assert all_exact(values).tobytes() == np.array([exact(value) for value in values.tolist()]).tobytes()
