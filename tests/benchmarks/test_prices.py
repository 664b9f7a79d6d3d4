"""What a plan would cost, in lines."""

import re
from itertools import pairwise

import pytest
from metajudge.benchmarks.prices import price_lines

from tests.benchmarks.benches import bench_of
from tests.benchmarks.grids import GRID
from tests.doubles.judgebench import game, pair


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


def test_a_discussion_of_the_same_members_is_paid_once_and_its_summary_apart(small, tmp_path):
    text = GRID.replace('roles = ["expert", "critic"]\nsummariser = "mini"\n', "")
    text += (
        '[[configurations]]\nname = "summed"\njudge = "owl"\nagents = ["mini", "big"]\nstrategy = "panel_discussion"\n'
    )
    path = tmp_path / "grid.toml"
    path.write_text(text + 'summariser = "mini"\n')
    _, calls = priced(small, str(path))
    assert calls["owl: panel [mini + big; short]"] == (96, 48)  # first statements are those of "both"
    assert calls["owl: summed [mini + big; short]"] == (120, 24)


def test_without_agents_nothing_is_paid(small):
    bench = bench_of(small)
    (line,) = price_lines(bench, bench.plan(dry_run=True))
    assert "nothing would be asked" in line


def test_a_row_with_an_unknown_price_takes_nothing_off_the_sum(small, tmp_path):
    path = tmp_path / "priced.toml"
    path.write_text(GRID.replace('"openai:big"', '"openai:big"\nprice = { input = 1.0, output = 2.0 }'))
    lines, _ = priced(small, str(path))
    together, alone = (float(found) for found in re.findall(r"at least \$([\d.]+)", lines[-2]))
    (big,) = (float(found[1]) for line in lines if (found := re.search(r"24 calls, \$([\d.]+)", line)))
    # "both" asks mini, whose price is unknown, and big again, which "short, big" has paid.
    assert together == pytest.approx(alone - big, abs=0.011)
    assert together > big
    assert lines[-1] == "No price is known for mini, summariser: give a price in the grid or panel file."


def test_judgments_that_stand_in_for_two_judges_are_paid_for_each(folder):
    pairs = [pair(number, response_model="gpt-4o-2024-05-13") for number in range(4)]
    bench = bench_of(folder(pairs, [game(number, "AB", "A>B", judge="hen") for number in range(4)]), grid="published")
    lines = list(price_lines(bench, bench.plan(dry_run=True)))
    place = next(at for at, line in enumerate(lines) if line.startswith("  llama-3.1-8b (here hen): selection"))
    assert "4 calls" in lines[place + 1]
    assert "(adds 4," in lines[place + 1]
