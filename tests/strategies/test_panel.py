import pytest

from metajudge.agents import Agent
from metajudge.errors import ConfigurationError
from metajudge.providers.model import Parameters
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName
from tests.strategies.answers import BASELINE, member, panel

VOTE = StrategyName.MAJORITY_VOTE


def twins(names, roles=(None, None)):
    """One model under two names."""
    model = ScriptedModel([], name="m")
    return tuple(Agent(name=n, model=model, rubric=BASELINE, role=r) for n, r in zip(names, roles, strict=True))


class TestPanelChecks:
    @pytest.mark.parametrize(
        ("made", "said"),
        [
            (lambda: panel([], "majority_vote"), "needs at least one agent"),
            (lambda: panel([5, 5], "single"), "single takes one agent, got 2"),
            (lambda: panel([5], "single", threshold=0.5), "outside the scale"),
            (lambda: panel([5], "single", threshold=5.5), "outside the scale"),
            (lambda: Panel((member("a", 5), member("a", 5)), VOTE, 4.5), "a is given more than once"),
            (lambda: Panel(twins(("one", "two")), VOTE, 4.5), "one answer would count twice"),
            (lambda: Panel((member("a", 5),), StrategyName.SINGLE, 4.5, summariser=member("s", 5)), "has a summariser"),
        ],
    )
    def test_what_is_no_panel(self, made, said):
        with pytest.raises(ConfigurationError, match=said):
            made()

    def test_the_same_model_in_two_roles_is_two_agents(self):
        roles = ("expert", "critic")
        assert len(Panel(twins(roles, roles), VOTE, 4.5).agents) == 2

    def test_binary_votes_enter_an_average_only_when_asked_to(self):
        binary = load_rubric("binary")
        agents = (member("vote", 5, rubric=binary), member("score", 4))
        with pytest.raises(ConfigurationError, match="average_votes = true"):
            Panel(agents, StrategyName.WEIGHTED_AVERAGE, 4.5)
        assert Panel(agents, StrategyName.WEIGHTED_AVERAGE, 4.5, average_votes=True)
        assert Panel(agents, VOTE, 4.5)

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
                VOTE,
                4.5,
            ),
        ]
        assert len({base.digest, *(one.digest for one in changes)}) == len(changes) + 1
