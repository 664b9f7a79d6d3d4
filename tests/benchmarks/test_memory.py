"""The benchmark of memory: what is kept is told from what passes."""

import pytest
from metajudge.benchmarks.memory import growth


def test_a_passing_peak_is_no_growth_of_what_is_kept():
    found = growth([[100, 101, 102], [100, 102, 180], [101, 101, 103]])
    assert found["growth_of_the_median"] == pytest.approx(0.0099, abs=1e-4)
    assert found["growth_of_the_peak"] == pytest.approx(180 / 102 - 1, abs=1e-4)


def test_memory_that_is_kept_is_growth():
    found = growth([[100], [110], [130], [125]])
    assert found["growth_of_the_median"] == found["growth_of_the_peak"] == 0.3
    assert found["median_mb"] == [100, 110, 130, 125]


def test_the_end_is_the_last_tenth_of_the_readings():
    found = growth([[90.0] * 18 + [100, 110], [200, 126]])
    assert found["end_mb"] == [105, 126]
    assert found["growth_at_the_end"] == pytest.approx(0.2)
