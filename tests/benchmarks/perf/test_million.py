"""The benchmark of a large file: every command runs and is counted."""

import pytest
from metajudge.benchmarks.perf.million import measure, table


@pytest.mark.slow
def test_every_command_is_measured_beside_parsing(tmp_path):
    found = measure(200, 1, tmp_path)
    assert list(found["commands"]) == ["first", "second", "again", "changed", "calibrated", "unsorted"]
    assert all(one["ratio"] > 1 and one["peak_mb"] > 1 for one in found["commands"].values())
    assert {name: one["summary"]["judgments"] for name, one in found["commands"].items()} == {
        **dict.fromkeys(("first", "second", "again", "calibrated", "unsorted"), 200),
        "changed": 202,
    }
    assert len(table(found).splitlines()) == 4 + 6
