import numpy as np

from metajudge.calibration.cascade_fit import (
    StagedScores,
)

STAGES = [("cheap",), ("strong",)]


def made(n=600, seed=0, cheap=1.0, strong=2.5):
    """Judgments of which both stages know something, the second one more."""
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.6
    sign = np.where(right, 1.0, -1.0)
    scores = np.column_stack([3 + 0.6 * (know * sign + rng.normal(size=n)) for know in (cheap, strong)])
    costs = np.tile([1.0, 20.0], (n, 1))
    return StagedScores(scores, right, tuple(f"q{number // 2}" for number in range(n)), costs)
