import numpy as np
import pytest

from metajudge.stats.jackknife import jackknife


def ratio(sums):
    return sums[:, 0] / sums[:, 1]


def test_a_mean_has_its_usual_standard_error():
    values = np.random.default_rng(0).random(25)
    found = jackknife(np.column_stack((values, np.ones(25))), ratio)
    assert found.estimate == pytest.approx(values.mean())
    assert found.error == pytest.approx(values.std(ddof=1) / 5)


def test_interval_is_cut_to_its_range():
    found = jackknife(np.array([[1.0, 1.0], [0.9, 1.0], [0.2, 1.0]]), ratio)
    assert found.interval(0.0, 1.0)[1] == 1.0


def test_undefined_is_none_and_one_cluster_has_no_error():
    assert jackknife(np.array([[1.0, 0.0]]), ratio) is None
    alone = jackknife(np.array([[1.0, 2.0]]), ratio)
    assert (alone.estimate, alone.error, alone.interval()) == (0.5, None, None)
