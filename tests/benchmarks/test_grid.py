import pytest
from metajudge.benchmarks.grid import load_grid

from metajudge.errors import ConfigurationError
from tests.benchmarks.grids import GRID


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
