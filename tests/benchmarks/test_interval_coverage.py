from typing import Any

import numpy as np
import pytest
from metajudge.benchmarks import interval_coverage as study


def test_an_interval_that_always_and_one_that_never_covers() -> None:
    assert study.covered(lambda rng, n: (0.0, 1.0), 0.5, 10, 20) == (1.0, 20)
    assert study.covered(lambda rng, n: (0.6, 1.0), 0.5, 10, 20) == (0.0, 20)


def test_undefined_intervals_are_left_out_and_counted() -> None:
    share, defined = study.covered(lambda rng, n: (0.0, 1.0) if rng.random() < 0.5 else None, 0.5, 10, 200)
    assert share == 1.0
    assert 60 < defined < 140


def test_ratings_have_the_kappa_and_the_margins_asked_for() -> None:
    ratings = np.array(study._ratings(np.random.default_rng(1), 40_000, 2, (0.7, 0.3), 0.64))
    assert ratings.mean(axis=0) == pytest.approx([0.3, 0.3], abs=0.01)
    assert (ratings[:, 0] == ratings[:, 1]).mean() == pytest.approx(0.64 + 0.36 * 0.58, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kind", study.KINDS)
def test_no_interval_covers_far_less_than_it_says(kind: str) -> None:
    rows: Any = study.table(kind, 150)
    assert study.widest(rows).shape == (len(rows), len(study.SIZES))
    late = study.widest(rows)[:, study.SIZES.index(50) :]  # 50 and more
    assert late.min() > 0.88
    assert late.mean() > 0.935
