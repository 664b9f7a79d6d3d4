"""A threshold that no answers can meet is said beforehand."""

import pytest

from metajudge.agents import Agent
from metajudge.panels.building import foregone, highest_score
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import Rubric, Scale, load_rubric
from metajudge.strategies import Panel, StrategyName

ASKING = (
    StrategyName.WEIGHTED_AVERAGE,
    StrategyName.MAJORITY_VOTE,
    StrategyName.PANEL_DISCUSSION,
    StrategyName.REJUDGE,
)


def panel(strategy, threshold, *, rubric="short", agents=2, **options):
    rubric = rubric if isinstance(rubric, Rubric) else load_rubric(rubric)
    scale = (rubric.scale.low, rubric.scale.high)
    members = tuple(Agent(f"a{n}", ScriptedModel([], name=f"m{n}"), rubric) for n in range(agents))
    return Panel(members, strategy, threshold, scale=scale, **options)


@pytest.mark.parametrize("strategy", ASKING)
def test_nothing_exceeds_the_end_of_the_scale(strategy):
    assert "nothing can be kept" in foregone(panel(strategy, 5.0))
    assert foregone(panel(strategy, 4.5)) is None
    assert foregone(panel(strategy, 1.0)) is None


def test_without_agents_or_with_one_it_is_the_same():
    signals = Panel((), StrategyName.SIGNALS, 5.0)
    single = panel(StrategyName.SINGLE, 5.0, agents=1, rubric="binary")
    assert None not in (foregone(signals), foregone(single))
    assert foregone(panel(StrategyName.SINGLE, 4.999, agents=1, rubric="binary")) is None


def test_the_highest_score_is_the_one_that_the_strategy_gives():
    assert highest_score(panel(StrategyName.MAJORITY_VOTE, 5.0)) == 1.0  # nobody votes
    assert highest_score(panel(StrategyName.MAJORITY_VOTE, 3.0)) == 5.0
    assert highest_score(panel(StrategyName.REJUDGE, 3.0)) == 5.0
    tenth = load_rubric("baseline").model_copy(update={"scale": Scale(low=0, high=10)})
    assert highest_score(panel(StrategyName.WEIGHTED_AVERAGE, 4.5, rubric=tenth)) == 10.0
    assert "above the threshold of 10 " in foregone(panel(StrategyName.WEIGHTED_AVERAGE, 10.0, rubric=tenth))


def test_a_summariser_decides_and_a_route_is_named():
    summariser = Agent("s", ScriptedModel([], name="s"), load_rubric("short"))
    found = foregone(panel(StrategyName.PANEL_DISCUSSION, 5.0, summariser=summariser, route="Math"))
    assert found.startswith(
        "route Math: nothing can be kept: the highest score that panel_discussion can give here is 5"
    )
