"""Grids of meta-judges: their files, plans, costs, runs and reports, and the published one."""

import asyncio
import json
import re
import tomllib
from itertools import pairwise

import pytest
from metajudge.benchmarks.bench_report import report_of, terminal_lines
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.grid import Grid, Plan, load_grid, plan_grid
from metajudge.benchmarks.grid_run import Ledger, run_plan
from metajudge.benchmarks.prices import price_lines

from metajudge.errors import ConfigurationError
from metajudge.panels.config import AgentConfig, Discussion, PanelConfig
from metajudge.report.document import Absent
from metajudge.report.html import to_html
from metajudge.types import AgentResult, Assessment, Status
from tests.benchmarks.benches import bench_of
from tests.benchmarks.grids import FIRST_GAME, GRID, Engines
from tests.doubles.judgebench import game, pair


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('agents = ["big"]', 'agents = ["huge"]'), "names the agent 'huge'"),
        (('roles = ["expert", "critic"]', 'roles = ["expert"]'), "2 agents but 1 roles"),
        (('name = "both"', 'name = "short, big"'), "more than once: short, big"),
        (('judge = "owl"', 'judge = "hen"'), "names the judge 'hen'"),
        (("title =", "titel ="), "title"),
        (("[agents.mini]", "[agents.mini"), "TOML"),
        (("baseline = true", 'tables = ["9"]'), "names the table '9'"),
        (
            (
                "baseline = true",
                "calibrated = true\n[[configurations]]\nname = 'x'\njudge = 'owl'\nagents = ['mini']\n"
                "calibrated = true",
            ),
            "several configurations with calibrated",
        ),
        (("[agents.mini]", "[settings]\ntemperature = 9\n[agents.mini]"), "temperature"),
    ],
)
def test_a_wrong_grid_file_is_refused_with_the_place(tmp_path, change, message):
    path = tmp_path / "grid.toml"
    path.write_text(GRID.replace(*change))
    with pytest.raises(ConfigurationError, match=message):
        load_grid(str(path))


def test_settings_hold_for_every_agent_that_does_not_say_otherwise(tmp_path):
    path = tmp_path / "grid.toml"
    settings = "[settings]\ntemperature = 0\nmax_tokens = 99\n[agents.mini]\ntemperature = 1.0"
    path.write_text(GRID.replace("[agents.mini]", settings))
    agents = load_grid(str(path)).agents
    assert (agents["mini"].temperature, agents["mini"].max_tokens) == (1.0, 99)
    assert (agents["big"].temperature, agents["big"].max_tokens) == (0.0, 99)


def test_our_grid_has_room_to_think_in_both_orders_and_prints_no_published_figure():
    grid = load_grid("ours")
    assert (grid.population.games, grid.population.undecided) == ("both", "left out")
    assert {judge.name for judge in grid.judges} == {judge.name for judge in load_grid("published").judges}
    for row in grid.configurations:
        assert row.published is None
        assert all(agent.analysis and agent.explanations == "before" for agent in grid.panel(row).agents)
    assert sum(row.calibrated for row in grid.configurations) == len(grid.judges)


AGENTS = (AgentConfig(model="openai:a"), AgentConfig(model="openai:b"))
VOTE = PanelConfig(agents=AGENTS)
PANEL = PanelConfig(agents=AGENTS, strategy="panel_discussion", discussion=Discussion(summariser=AGENTS[0]))


def result(key, cost, *, stored=0, calls=1, **changes):
    return AgentResult(
        agent="a", model="a", weight=1.0, prompt_digest=key, calls=calls, cached_calls=stored, cost_usd=cost, **changes
    )


def assessment(*agents, summariser=None):
    return Assessment(
        judgment_id="j", item_id="i", judge="owl", status=Status.ASSESSED, strategy="single", threshold=4.5, panel_digest="p", judgment_digest="d", metajudge_version="0",
        agents=agents, summariser=summariser,
    )  # fmt: skip


def stored(key):
    return result(key, 0.0, stored=1, calls=0)


def test_a_reply_that_an_earlier_row_paid_costs_what_it_cost_there():
    ledger = Ledger()
    ledger.row(VOTE, [assessment(result("x", 0.5))], {})
    cost = ledger.row(VOTE, [assessment(stored("x"), result("y", 0.25))], {})
    assert (cost.cost_usd, cost.calls) == (0.75, 2)
    assert (cost.paid_usd, cost.paid_calls) == (0.25, 1)
    assert (cost.formula, cost.once_usd) == ("sum", 0.75)


def test_a_discussion_costs_its_openings_once_its_revisions_and_its_summary():
    opening = result("x", 1.0)
    revised = result("x2", 1.0 + 1.25, calls=2, opening=opening)
    cost = Ledger().row(PANEL, [assessment(revised, summariser=result("s", 0.5))], {})
    assert (cost.formula, cost.calls) == ("2 sum + summariser", 3)
    assert (cost.once_usd, cost.cost_usd, cost.paid_usd) == (1.0, 2.75, 2.75)


def test_replies_of_an_earlier_run_are_priced_from_the_store_else_the_cost_is_absent_and_not_too_low():
    row = [assessment(stored("x"), result("y", 0.25))]
    assert Ledger().row(VOTE, row, {"x": 0.5}).cost_usd == 0.75
    unknown = Ledger().row(VOTE, row, {})
    assert isinstance(unknown.cost_usd, Absent)
    assert unknown.paid_usd == 0.25


@pytest.mark.parametrize("row", [[assessment(result("x", None))], [assessment(result("x", 0.5), result("y", None))]])
def test_an_unknown_price_makes_the_sum_absent(row):
    cost = Ledger().row(VOTE, row, {})
    assert isinstance(cost.cost_usd, Absent)
    assert isinstance(cost.paid_usd, Absent)


SMALL = Grid.model_validate(tomllib.loads(GRID))


def test_a_judge_not_of_the_grid_gets_no_baseline_and_is_not_taken_for_the_grids():
    plan = plan_grid(SMALL, ["owl", "hawk"], ["hawk"])
    assert {row.judge for row in plan.rows} == {"hawk"}
    assert not any(row.baseline or row.own for row in plan.rows)
    assert plan.vetted == {}
    assert any("none of the grid's judges" in note for note in plan.notes)


def test_without_the_grids_judges_a_run_is_refused_and_a_dry_run_says_who_stands_in():
    with pytest.raises(ConfigurationError, match=r"no judgments by the grid's judges \(owl\); judges here: hawk"):
        plan_grid(SMALL, ["hawk"], None)
    plan = plan_grid(SMALL, ["hawk"], None, stand_in="hawk")
    assert {row.judge for row in plan.rows} == {"hawk"}
    assert "in their place" in plan.notes[0]
    assert plan.vetted == {}
    assert plan.rows[0].title == "owl (here hawk): baseline [mini; baseline]"


def test_a_judge_in_the_data_but_not_in_the_sample_is_not_said_to_be_missing_from_the_data():
    grid = load_grid("published")
    present = {"gpt-4o-mini": 350, "llama-3.1-8b": 12}
    plan = plan_grid(grid, ["gpt-4o-mini"], None, present=present)
    (note,) = plan.notes
    assert "llama-3.1-8b is in the data (llama-3.1-8b with 12 judgments)" in note
    assert "sample" in note
    assert "no judgments by" not in note
    (note,) = plan_grid(grid, ["gpt-4o-mini"], None, present={"gpt-4o-mini": 350}).notes
    assert note == "no judgments by llama-3.1-8b in the data: its rows are left out"


async def test_the_grid_runs_end_to_end_and_its_figures_are_those_of_the_script(small, grid_file):
    bench = bench_of(small, grid=grid_file, judges=("owl",))
    plan = bench.plan()
    results = await run_plan(plan, bench.vetted(), Engines())
    findings = bench.findings(plan, results)
    (owl,) = findings.judges
    rows = {row.name: row for row in owl.rows}
    # Questions 0 to 5 are kept; the judge is right there in both orders.
    for name in ("baseline", "short, big", "both", "panel"):
        cell = rows[name].cells[OVERALL]
        assert (cell.n, cell.selected, cell.selected_right) == (24, 12, 12), name
    assert rows["baseline"].kind == "baseline"
    assert rows["both"].cells[OVERALL].against_baseline.value == 0
    assert rows["both"].cells[OVERALL].against_raw.value == pytest.approx(1 - 20 / 24)
    assert rows["panel"].calls == 24 * 5
    assert {order: cell.selected for order, cell in rows["both"].orders.items()} == {"AB": 6, "BA": 6}
    assert "Small" in to_html(report_of(findings))


async def test_an_agent_that_fails_leaves_judgments_unscored_not_rejected(small, grid_file):
    bench = bench_of(small, grid=grid_file, judges=("owl",))
    (row,) = [row for row in bench.plan().rows if row.name == "short, big"]
    engines = Engines()
    engines.answer = lambda request: "no JSON at all"
    findings = bench.findings(bench.plan(), await run_plan(Plan((row,)), bench.vetted(), engines))
    found = {one.name: one for one in findings.judges[0].rows}["short, big"]
    assert (found.unscored, found.cells[OVERALL].selected) == (24, 0)
    assert found.cells[OVERALL].precision.absent == "nothing selected"


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
