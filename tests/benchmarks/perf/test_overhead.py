"""The benchmark of what metajudge itself costs: several runs make one figure."""

from metajudge.benchmarks.perf.overhead import Setting, medians


def test_one_slow_start_does_not_make_the_figure() -> None:
    runs = [{"calls": 700, "cpu_ms_per_call": value} for value in (1.1, 9.0, 1.3)]
    assert medians(runs) == {"calls": 700, "cpu_ms_per_call": 1.3}
    assert medians(runs[:1]) == runs[0]


def test_the_ideal_is_whole_rounds_of_the_latency() -> None:
    setting = Setting(latency_s=0.5, concurrency=64)
    assert setting.ideal_s(640) == 5.0
    assert setting.ideal_s(641) == 5.5
