"""The benchmark of a large file: every command runs, is counted, and becomes a row."""

import pytest
from metajudge.benchmarks.perf.million import measure, table


@pytest.mark.slow
def test_every_command_is_measured_beside_parsing(tmp_path):
    found = measure(200, 1, tmp_path)
    assert list(found["commands"]) == ["first", "second", "changed", "calibrated", "unsorted"]
    assert all(one["ratio"] > 1 and one["peak_mb"] > 1 for one in found["commands"].values())
    assert {name: one["summary"]["judgments"] for name, one in found["commands"].items()} == {
        **dict.fromkeys(("first", "second", "calibrated", "unsorted"), 200),
        "changed": 202,
    }
    assert len(table(found).splitlines()) == 4 + 5


def test_the_table_has_cost_ratio_and_memory_of_each():
    one = {"cpu_s": 73.0, "ratio": 20.0, "peak_mb": 900, "summary": {}}
    found = {"judgments": 1000000, "megabytes": 2300.0, "runs": 3, "floor_us": 3.65, "commands": {"first": one}}
    assert table(found).splitlines()[-1] == "| first | 73.0 | 20.0 | 900 | 73 |"
