"""What a plan would cost, in lines."""

import re
from itertools import pairwise

import pytest
from metajudge.benchmarks.prices import price_lines

from tests.benchmarks.benches import bench_of
from tests.benchmarks.grids import GRID


def priced(place, grid_file, **changes):
    bench = bench_of(place, grid=grid_file, judges=("owl",), **changes)
    lines = list(price_lines(bench, bench.plan(dry_run=True)))
    calls = {}
    for title, figures in pairwise(lines):
        found = re.search(r"([\d,]+) calls, \S+  \(adds ([\d,]+)", figures)
        if found is not None:
            calls[title.strip()] = tuple(int(number.replace(",", "")) for number in found.groups())
    return lines, calls


@pytest.fixture
def with_prices(small, tmp_path):
    path = tmp_path / "priced.toml"
    price = "\nprice = { input = 1.0, output = 2.0 }"
    path.write_text(GRID.replace('"openai:mini"', '"openai:mini"' + price))
    return str(path)


def test_each_row_is_priced_by_itself_and_calls_that_rows_share_are_paid_once(small, with_prices):
    lines, calls = priced(small, with_prices)
    # 24 judgments; the vote's second agent is the row "short, big", the panel has roles, so it shares nothing.
    assert calls == {
        "owl: baseline [mini; baseline]": (24, 24),
        "owl: short, big [big; short]": (24, 24),
        "owl: both [mini + big; short]": (48, 24),
        "owl: panel [mini + big; short]": (120, 120),
    }
    total = next(line for line in lines if line.startswith("Dry run"))
    assert "4 configurations, together at most 192 calls" in total
    assert "at least $" in total
    assert lines[-1] == "No price is known for big: give a price in the grid or panel file."
