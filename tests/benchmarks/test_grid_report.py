"""The paper's rule, on twelve pairs answered by a script."""

import asyncio
import json

import pytest
from metajudge.benchmarks.bench_report import report_of, terminal_lines
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.grid_run import run_plan

from tests.benchmarks.benches import bench_of
from tests.benchmarks.grids import FIRST_GAME, Engines
from tests.doubles.judgebench import game, pair

ABSENT_JUDGE = """
[[judges]]
name = "wren"
match = ["wren"]
[[configurations]]
name = "x"
judge = "wren"
agents = ["mini"]
"""
LONG_NAME = 'name = "panel discussion of many agents with a summariser"'
SILENT = FIRST_GAME.replace('model = "openai:big"', 'model = "anthropic:big"') + ABSENT_JUDGE


def written(place, decisions):
    """A folder of twelve pairs; the second games are right everywhere."""
    place.mkdir(parents=True)
    games = []
    for number, decision in enumerate(decisions):
        text = {"judgment_text": "I cannot say which of them is better."} if decision is None else {}
        games.append(game(number, "AB", decision, **text))
        games.append(game(number, "BA", "B>A", label="B>A"))
    for name, rows in {"pairs": [pair(number) for number in range(len(decisions))], "judgments": games}.items():
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return place


async def findings_of(place, text, **changes):
    path = place.parent / "grid.toml"
    path.write_text(text)
    bench = bench_of(place, grid=str(path), **changes)
    plan = bench.plan()
    return bench.findings(plan, await run_plan(plan, bench.vetted(), Engines(place.parent / "s.duckdb")))


DECISIONS = ["A>B"] * 8 + ["B>A", "B>A", "A=B", None]


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """First games: right on eight pairs, wrong on two, a tie, and one without a verdict."""
    place = written(tmp_path_factory.mktemp("grid") / "data", DECISIONS)
    return asyncio.run(findings_of(place, SILENT.replace('name = "panel"', LONG_NAME)))


def rows_of(findings):
    """By configuration, of the first judge that has it."""
    return {row.configuration: row for table in findings.grid.tables for row in reversed(table.rows)}


def on_one_line(findings):
    return " ".join("\n".join(terminal_lines(findings)).split())


def test_ties_and_missing_verdicts_are_wrong_and_only_the_first_game_counts(findings):
    rows = rows_of(findings)
    raw = rows["Raw judgments"].cells[OVERALL]
    assert (raw.n, raw.selected, raw.selected_right) == (12, 12, 8)
    assert "1 judgments without a verdict count as wrong" in rows["Raw judgments"].caveats
    kept = rows["short, big"].cells[OVERALL]
    # The script keeps questions 0 to 5, all right; a judgment without a verdict is in n and never kept.
    assert (kept.n, kept.selected, kept.selected_right) == (12, 6, 6)
    assert any("without a verdict cannot be vetted" in caveat for caveat in rows["short, big"].caveats)
    assert not any("no decision from the agents" in caveat for caveat in rows["short, big"].caveats)


def test_the_difference_is_to_the_overall_that_the_row_says_the_paper_prints(findings):
    (table,) = [one for one in report_of(findings).sections[0].blocks if "Small" in getattr(one, "caption", "")]
    titles = [column.title for column in table.columns]
    start = [str(row[0]) for row in table.rows].index("short, big")
    here, _, published, difference = table.rows[start : start + 4]
    by_size, pooled = titles.index("Overall by size"), titles.index("Overall pooled")
    assert (here[by_size], published[by_size], difference[by_size]) == ("100.00", "70.00", "+30.0")
    assert "other definition" in published[pooled].absent
    assert difference[pooled] == ""


@pytest.mark.slow
async def test_published_cells_stand_beside_the_same_population_and_rule_alone(tmp_path, findings):
    assert rows_of(findings)["short, big"].not_compared == ""
    assert "published " in on_one_line(findings)
    place = written(tmp_path / "data", DECISIONS)
    fewer = await findings_of(place, FIRST_GAME, limit=8)
    assert rows_of(fewer)["short, big"].not_compared.startswith("8 pairs (")
    lines = "\n".join(terminal_lines(fewer)).splitlines()
    assert not any(line.strip().startswith(("published ", "difference ")) and "cells" not in line for line in lines)
    assert "published cells left out: 8 pairs" in on_one_line(fewer)
    both = await findings_of(place, FIRST_GAME.replace('games = "first"', 'games = "both"'))
    assert "here every judgment" in rows_of(both)["short, big"].not_compared
    chosen = FIRST_GAME.replace('match = ["owl*"]', 'match = ["wren"]')
    other = rows_of(await findings_of(place, chosen, judges=("owl",)))
    assert other["short, big"].own is False
    assert "judgments are owl's" in other["short, big"].not_compared
