import json
import re

import pytest

from metajudge.agents import Agent
from metajudge.errors import ConfigurationError, ServerError
from metajudge.prompts.reply_form import ReplyForm
from metajudge.providers.model import Parameters
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName, Vetter
from tests.doubles.judgments import judgment, reply
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

    def test_what_makes_a_panel_another_one_and_votes_enter_an_average_only_when_asked_to(self):
        roles = ("expert", "critic")
        assert len(Panel(twins(roles, roles), VOTE, 4.5).agents) == 2
        binary = load_rubric("binary")
        agents = (member("vote", 5, rubric=binary), member("score", 4))
        with pytest.raises(ConfigurationError, match="average_votes = true"):
            Panel(agents, StrategyName.WEIGHTED_AVERAGE, 4.5)
        assert Panel(agents, StrategyName.WEIGHTED_AVERAGE, 4.5, average_votes=True)
        assert Panel(agents, VOTE, 4.5)
        base = panel([5, 5], "majority_vote")
        assert panel([5, 5], "majority_vote").digest == base.digest
        changes = [
            panel([5, 5], "majority_vote", threshold=4.0),
            panel([5, 5], "weighted_average"),
            panel([5, 5], "majority_vote", [1, 2]),
            panel([5, 5], "majority_vote", early_exit=True),
            panel([5, 5, 5], "majority_vote"),
            Panel((member("a0", 5), member("a1", 5, parameters=Parameters(temperature=1))), VOTE, 4.5),
        ]
        assert len({base.digest, *(one.digest for one in changes)}) == len(changes) + 1


# panel_discussion: who hears what, what a missing answer does, and how it ends.
def heard(agent, turn):
    return agent.model.requests[turn].messages[0].text


async def discuss(*agents, **options):
    panel = Panel(agents, StrategyName.PANEL_DISCUSSION, 4.5, **options)
    return await Vetter(panel).vet(judgment())


class TestSecondSet:
    """Members of a panel by number, without names, analyses and criteria that do not apply."""

    def member(self, name, *scores):
        """An agent that writes its name into its analysis; None for a failed call."""
        script = []
        for score in scores:
            answer = {"analysis": f"{name} thinks {score}", **json.loads(reply(score or 1, BASELINE))}
            script.append(ServerError("down", status=500) if score is None else json.dumps(answer))
        model, form = ScriptedModel(script, name=name), ReplyForm(analysis=True)
        return Agent(name=name, model=model, rubric=BASELINE, form=form, prompt_version=2)

    async def test_numbers_follow_the_panel_whoever_fails_or_has_not_spoken(self):
        ann, bob, cleo = self.member("ann", None, 5), self.member("bob", 2, 3), self.member("cleo", 4, 4)
        await discuss(ann, bob, cleo)
        for number, agent, others in ((1, ann, (2, 3)), (2, bob, (1, 3)), (3, cleo, (1, 2))):
            text = heard(agent, 1)
            assert not {"ann", "bob", "cleo"} & set(re.findall(r"[a-z]+", text))
            own = f"## Member {number} (you)"
            assert (own in text) is (agent is not ann), "ann said nothing before that could be shown"
            assert all(f"## Member {other}\n" in text for other in others)
        assert heard(bob, 1).index("## Member 1") < heard(bob, 1).index("## Member 2 (you)")
        ann, bob, cleo = self.member("ann", None), self.member("bob", 4), self.member("cleo", 4)
        await discuss(ann, bob, cleo, rounds="sequential")
        assert "## Member 2\n" in heard(cleo, 0)
        assert "## Member 1" not in heard(cleo, 0)

    @pytest.mark.parametrize("rounds", ["independent_first", "sequential"])
    async def test_analyses_are_shown_to_nobody(self, rounds):
        turns = 2 if rounds == "independent_first" else 1
        ann, bob = self.member("ann", *[5] * turns), self.member("bob", *[5] * turns)
        summariser = self.member("sum", 5)
        result = await discuss(ann, bob, summariser=summariser, rounds=rounds)
        requests = [request for one in (ann, bob, summariser) for request in one.model.requests]
        assert not any("thinks" in message.text for request in requests for message in request.messages)
        analyses = [one.analysis for one in (*result.agents, result.summariser)]
        assert analyses == [f"{name} thinks 5" for name in ("ann", "bob", "sum")]

    async def test_unless_the_panel_shows_them(self):
        ann, bob, summariser = self.member("ann", 5, 4), self.member("bob", 5, 4), self.member("sum", 5)
        await discuss(ann, bob, summariser=summariser, show_analysis=True)
        assert "ann thinks 4" in heard(bob, 1)
        assert "ann thinks 5" not in heard(bob, 1)
        assert "bob thinks 4" in heard(summariser, 0)
