"""What an experiment may be, and how other models take the places of its own."""

import pytest
from metajudge.benchmarks.live.setup import FREE_EVIDENCE, PANEL, checked_setup, load_setup, with_agents, with_models

from metajudge.errors import ConfigurationError
from tests.doubles.live_runs import SETUP, setup


def test_the_built_in_setup_asks_the_four_questions():
    found = load_setup()
    assert [one.topic for one in found.comparisons] == ["evidence", "evidence", "panel", "think", "think", "cost"]
    assert found.confidence == pytest.approx(1 - 0.05 / 6)
    assert found.members(PANEL) == found.panel
    assert found.members(FREE_EVIDENCE) == ()
    assert all(found.panel_of(name).chosen_strategy == "single" for name in found.agents)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"one": "agent-9"}, "'agent-9' is no agent"),
        ({"think": []}, "in no comparison"),
        ({"panel": ["agent-1", "agent-1"]}, "names an agent twice"),
        ({"panel": ["agent-1"]}, "at least 2 items"),
        ({"level": 1.5}, "less than 0.5"),
        (
            {"agents": {**SETUP["agents"], "agent-2": SETUP["agents"]["agent-1"]}},
            "ask the same model alike",
        ),
        ({"agents": {**SETUP["agents"], "panel": {"model": "openai:x"}}, "one": "panel"}, "name of something else"),
    ],
)
def test_a_setup_that_makes_no_sense_is_refused(changes, words):
    with pytest.raises(ConfigurationError, match=words):
        setup(**changes)


def test_other_models_take_the_parts_of_the_experiment():
    found = with_agents(load_setup(), ["openai:a", "anthropic:b"], "openai:c")
    assert found.panel == ("agent-1", "agent-2")
    assert [(one.less, one.more) for one in found.think] == [
        ("agent-1-no-analysis", "agent-1"),
        ("effort-low", "effort-high"),
    ]
    assert found.agents["effort-high"].effort == "high"
    without = with_agents(load_setup(), ["openai:a", "anthropic:b"], None)
    assert [one.more for one in without.think] == ["agent-1"]
    with pytest.raises(ConfigurationError, match="at least twice"):
        with_agents(load_setup(), ["openai:a"], None)


def test_models_are_no_part_of_the_analyses_but_their_room_to_think_is():
    one = with_agents(load_setup(), ["openai:a", "openai:b"], "openai:c")
    other = with_agents(load_setup(), ["openai:d", "openai:e"], "openai:f")
    assert one.analyses == other.analyses
    assert one.analyses != with_agents(load_setup(), ["openai:a", "openai:b"], None).analyses


def test_a_plan_of_others_keeps_everything_but_the_models():
    found = with_models(load_setup(), ["openai:a", "openai:b", "openai:c"], "openai:d")
    assert [found.agents[name].model for name in found.panel] == ["openai:a", "openai:b", "openai:c"]
    assert found.agents["agent-1-no-analysis"].model == "openai:a"
    assert found.agents["effort-high"].model == "openai:d"
    assert found.analyses == load_setup().analyses
    assert with_models(load_setup(), (), None) == load_setup()
    with pytest.raises(ConfigurationError, match="has 3 agents"):
        with_models(load_setup(), ["openai:a"], None)


@pytest.mark.parametrize(
    "changes",
    [{"model": "openai:x@https://elsewhere.example/v1"}, {"headers": {"x-route": "y"}}, {"api_key_env": "HOME"}],
)
def test_a_plan_of_others_sends_no_key_to_an_address_of_theirs(changes):
    plain = load_setup().model_dump(mode="json")
    plain["agents"]["agent-2"] |= changes
    plan = checked_setup(plain, "the plan")
    with pytest.raises(ConfigurationError, match="your key and the judgments would go there"):
        with_models(plan, (), None)
    found = with_models(plan, ["openai:a", "openai:b", "openai:c"], None)
    assert (found.agents["agent-2"].model, found.agents["agent-2"].headers) == ("openai:b", {})
    assert found.agents["agent-2"].api_key_env is None


def test_a_setup_file_that_is_missing_or_no_toml_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="no such file"):
        load_setup(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_text("title = ")
    with pytest.raises(ConfigurationError, match="cannot be read as TOML"):
        load_setup(str(tmp_path / "bad.toml"))
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(ConfigurationError, match="title: Field required"):
        load_setup(str(tmp_path / "empty.toml"))
