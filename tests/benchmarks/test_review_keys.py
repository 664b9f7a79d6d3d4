"""Keys and page loads of a decision."""

import importlib

import pytest

from tests.api.pages.browser import needs_browser
from tests.api.pages.conftest import running

keys = importlib.import_module("metajudge.benchmarks.review_keys")


def test_motor_time_is_the_models():
    by_name = {one.tool.partition(",")[0]: one for one in keys.DOCUMENTED}
    assert by_name["Langfuse"].seconds == pytest.approx(3 * 0.28)
    assert by_name["promptfoo"].seconds == pytest.approx(1.1 + 0.2)
    assert by_name["Inspect"].seconds is None


def test_the_table_says_what_was_measured_and_what_was_counted():
    lines = keys.table(keys.Measured(decisions=10, slips=1, keys=13, loads=13, wrong=0, seconds=9.0))
    assert "| 1.30 | 0 | 1.30 | 0.36 s |" in lines[2]
    assert "measured, 10 decisions with 1 slips, 0 left wrong" in lines[2]
    assert all("not measured" in line for line in lines[3:])


class TestSession:
    pytestmark = needs_browser

    @pytest.mark.parametrize(("noticed", "wrong", "pressed"), [(1.0, 0, 12), (0.0, 3, 3)])
    def test_every_slip_that_is_noticed_is_undone(self, tmp_path, noticed, wrong, pressed):
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as thread:
            thread.submit(keys.asyncio.run, keys.fill(tmp_path / "s.duckdb", 4)).result()
        with running(store=tmp_path / "s.duckdb") as address:
            found = keys.session(address, 3, slip=1.0, noticed=noticed, seed=0)
        assert (found.slips, found.wrong, found.keys, found.loads) == (3, wrong, pressed, pressed)
