import tomllib

import pytest
from metajudge.benchmarks.grid import Grid, load_grid, plan_grid

from metajudge.errors import ConfigurationError
from tests.benchmarks.grids import GRID

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
