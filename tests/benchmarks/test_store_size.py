"""The benchmark of large stores, on a small one."""

import pytest
from metajudge.benchmarks.store_size import measure


@pytest.mark.slow
async def test_every_read_is_timed_over_what_was_made(tmp_path, capsys) -> None:
    found = await measure(str(tmp_path / "made.duckdb"), 200, None)
    assert {"open", "fill", "list: newest", "one assessment", "`runs`", "dashboard: panels"} < set(found)
    assert all(seconds >= 0 for seconds in found.values())
    again = await measure(str(tmp_path / "made.duckdb"), 200, "list: item")
    assert set(again) == {"open", "facts", "list: item"}
    assert "filled" in capsys.readouterr().out
