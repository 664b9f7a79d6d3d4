import pytest

from metajudge.agents import Agent
from metajudge.errors import ConfigurationError
from metajudge.providers.model import Parameters
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName
from tests.strategies.answers import BASELINE, member, panel


class TestPanelChecks:
    def test_no_agents(self):
        with pytest.raises(ConfigurationError, match="needs at least one agent"):
            panel([], "majority_vote")

    def test_single_takes_one(self):
        with pytest.raises(ConfigurationError, match="single takes one agent, got 2"):
            panel([5, 5], "single")

    @pytest.mark.parametrize("threshold", [0.5, 5.5])
    def test_threshold_outside_the_scale(self, threshold):
        with pytest.raises(ConfigurationError, match="outside the scale"):
            panel([5], "single", threshold=threshold)

    def test_an_agent_given_twice_by_name(self):
        with pytest.raises(ConfigurationError, match="a is given more than once"):
            Panel((member("a", 5), member("a", 5)), StrategyName.MAJORITY_VOTE, 4.5)

    def test_the_same_agent_under_two_names_would_vote_twice(self):
        twins = [Agent(name=name, model=ScriptedModel([], name="m"), rubric=BASELINE) for name in ("one", "two")]
        with pytest.raises(ConfigurationError, match="one answer would count twice"):
            Panel(tuple(twins), StrategyName.MAJORITY_VOTE, 4.5)

    def test_the_same_model_in_two_roles_is_two_agents(self):
        roles = [
            Agent(name=role, model=ScriptedModel([], name="m"), rubric=BASELINE, role=role)
            for role in ("expert", "critic")
        ]
        assert len(Panel(tuple(roles), StrategyName.MAJORITY_VOTE, 4.5).agents) == 2

    def test_binary_votes_enter_an_average_only_when_asked_to(self):
        binary = load_rubric("binary")
        agents = (member("vote", 5, rubric=binary), member("score", 4))
        with pytest.raises(ConfigurationError, match="average_votes = true"):
            Panel(agents, StrategyName.WEIGHTED_AVERAGE, 4.5)
        assert Panel(agents, StrategyName.WEIGHTED_AVERAGE, 4.5, average_votes=True)
        assert Panel(agents, StrategyName.MAJORITY_VOTE, 4.5)

    def test_a_summariser_needs_a_discussion(self):
        with pytest.raises(ConfigurationError, match="only panel_discussion has a summariser"):
            Panel((member("a", 5),), StrategyName.SINGLE, 4.5, summariser=member("s", 5))

    def test_the_digest_knows_what_changes_an_assessment(self):
        base = panel([5, 5], "majority_vote")
        assert panel([5, 5], "majority_vote").digest == base.digest
        changes = [
            panel([5, 5], "majority_vote", threshold=4.0),
            panel([5, 5], "weighted_average"),
            panel([5, 5], "majority_vote", [1, 2]),
            panel([5, 5], "majority_vote", early_exit=True),
            panel([5, 5, 5], "majority_vote"),
            Panel(
                (member("a0", 5), member("a1", 5, parameters=Parameters(temperature=1))),
                StrategyName.MAJORITY_VOTE,
                4.5,
            ),
        ]
        assert len({base.digest, *(one.digest for one in changes)}) == len(changes) + 1
