import tomllib

import pytest
from metajudge.benchmarks.grid import Grid, load_grid, plan_grid

from metajudge.errors import ConfigurationError
from tests.benchmarks.grids import GRID


def test_a_judge_not_of_the_grid_gets_neither_published_cells_nor_a_baseline(small, grid_file):
    plan = plan_grid(load_grid(grid_file), ["owl", "hawk"], ["hawk"])
    assert {row.judge for row in plan.rows} == {"hawk"}
    assert not any(row.baseline or row.published for row in plan.rows)
    assert plan.published == {}


def test_without_the_grids_judges_a_run_is_refused_and_a_dry_run_says_who_stands_in():
    grid = Grid.model_validate(tomllib.loads(GRID))
    with pytest.raises(ConfigurationError, match=r"no judgments by the grid's judges \(owl\); judges here: hawk"):
        plan_grid(grid, ["hawk"], None)
    plan = plan_grid(grid, ["hawk"], None, stand_in="hawk")
    assert {row.judge for row in plan.rows} == {"hawk"}
    assert "in their place" in plan.notes[0]
    assert plan.published == {}


def test_two_judges_that_could_be_meant_are_not_chosen_between():
    with pytest.raises(ConfigurationError, match="owl-1, owl-2 could each be"):
        plan_grid(Grid.model_validate(tomllib.loads(GRID)), ["owl-1", "owl-2"], None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('agents = ["big"]', 'agents = ["huge"]'), "names the agent 'huge'"),
        (('roles = ["expert", "critic"]', 'roles = ["expert"]'), "2 agents but 1 roles"),
        (('name = "both"', 'name = "short, big"'), "more than once: short, big"),
        (('judge = "owl"', 'judge = "hen"'), "names the judge 'hen'"),
        (("title =", "titel ="), "title"),
        (("[agents.mini]", "[agents.mini"), "TOML"),
    ],
)
def test_a_wrong_grid_file_is_refused_with_the_place(tmp_path, change, message):
    path = tmp_path / "grid.toml"
    path.write_text(GRID.replace(*change))
    with pytest.raises(ConfigurationError, match=message):
        load_grid(str(path))


def test_the_published_grid_has_every_printed_cell_and_every_configuration():
    grid = load_grid("published")
    rows = {(row.judge, row.name): row for row in grid.configurations}
    assert len(rows) == 21
    tables = {
        table: sum(row.published is not None and table in row.published.table for row in rows.values())
        for table in "3456"
    }
    assert tables == {"3": 13, "4": 2, "5": 3, "6": 2}
    assert rows["gpt-4o-mini", "majority vote, two agents"].published.cells["Overall"] == 77.26
    assert rows["gpt-4o-mini", "long, claude"].published.cells["Overall"] == 70.15
    assert rows["llama-3.1-8b", "selection, gpt-4o"].published.cells["Reasoning"] == 73.33
    assert rows["gpt-4o-mini", "panel discussion, two agents, summariser"].published.cells == {"Overall": 65.38}
    for row in rows.values():
        panel = grid.panel(row)
        assert panel.early_exit is False
        assert panel.threshold == 4.5
