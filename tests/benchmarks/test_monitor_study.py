"""The study of the monitor: its made audits lie where they say, and its tables have every figure."""

import numpy as np
import pytest

from benchmarks.monitor_study import (
    DELTA,
    alone,
    clustered,
    cusum_paths,
    cusum_threshold,
    delays,
    false_alarms,
    markdown,
    study,
    weighted,
)


@pytest.mark.parametrize(
    ("draw", "mean"), [(alone(0.9, 0.9), 0.0), (alone(0.9, 0.8), 0.1), (clustered(0.9), 0.0), (weighted(0.9), 0.0)]
)
def test_made_audits_have_the_mean_they_should(draw, mean):
    assert draw(np.random.default_rng(0), 400, 500).mean() == pytest.approx(mean, abs=0.004)


def test_cusum_is_the_sum_since_its_last_zero():
    wrong = np.array([[True], [False], [True], [True]])
    up, down = np.log(0.2 / 0.1), np.log(0.8 / 0.9)
    found = [float(one[0]) for one in cusum_paths(0.9, 0.8, wrong, np.zeros(1))]
    assert found == pytest.approx([up, up + down, 2 * up + down, 3 * up + down])


def test_more_steps_need_a_higher_threshold():
    low, high = (cusum_threshold(0.9, 0.8, 200, steps, 1) for steps in (250, 1_500))
    assert 1 < low < high


@pytest.mark.slow
class TestStudy:
    def test_alarms_are_rare_at_the_target_and_certain_below_it(self):
        assert false_alarms(0.9, alone(0.9, 0.9), 1, 200, 1_000, 0) <= 200 * DELTA
        assert false_alarms(0.9, alone(0.9, 0.75), 1, 100, 1_000, 0) == 100

    @pytest.mark.parametrize("good", [0, 500])
    def test_the_delay_is_at_most_one_and_a_half_times_that_of_cusum(self, good):
        found = delays(0.9, 0.8, good, 300, 10_000, 5)
        assert found.ratio + 2 * found.ratio_se < 1.5
        assert found.missed == 0

    def test_all_tables_are_printed(self):
        text = markdown(study(20, 500))
        assert text.count("| 0.90 to 0.80 |") == 2
        assert "two inclusion probabilities" in text
        assert "Drift: false discoveries" in text
