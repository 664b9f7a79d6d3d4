"""panel_discussion: who hears what, what a missing answer does, and how it ends."""

import json
import re

import pytest

from metajudge.agents import Agent
from metajudge.errors import ServerError
from metajudge.prompts.reply_form import ReplyForm
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName, Vetter
from tests.doubles.judgments import judgment, reply

BASELINE = load_rubric("baseline")


def heard(agent, turn):
    return agent.model.requests[turn].messages[0].text


async def discuss(*agents, **options):
    panel = Panel(agents, StrategyName.PANEL_DISCUSSION, 4.5, **options)
    return await Vetter(panel).vet(judgment())


class TestSecondSet:
    """Members of a panel by number, without names, analyses and criteria that do not apply."""

    SHORT = load_rubric("short")

    def member(self, name, *scores, rubric=BASELINE, **options):
        """An agent that writes its name into its analysis; None for a failed call."""
        script = []
        for score in scores:
            answer = {"analysis": f"{name} thinks {score}", **json.loads(reply(score or 1, rubric))}
            script.append(ServerError("down", status=500) if score is None else json.dumps(answer))
        given = {"rubric": BASELINE if rubric is BASELINE else self.SHORT, "form": ReplyForm(analysis=True), **options}
        return Agent(name=name, model=ScriptedModel(script, name=name), prompt_version=2, **given)

    async def test_numbers_follow_the_panel_and_stay_whoever_fails(self):
        ann, bob, cleo = self.member("ann", None, 5), self.member("bob", 2, 3), self.member("cleo", 4, 4)
        await discuss(ann, bob, cleo)
        for number, agent, others in ((1, ann, (2, 3)), (2, bob, (1, 3)), (3, cleo, (1, 2))):
            text = heard(agent, 1)
            assert not {"ann", "bob", "cleo"} & set(re.findall(r"[a-z]+", text))
            own = f"## Member {number} (you)"
            assert (own in text) is (agent is not ann), "ann said nothing before that could be shown"
            assert all(f"## Member {other}\n" in text for other in others)
        assert heard(bob, 1).index("## Member 1") < heard(bob, 1).index("## Member 2 (you)")

    async def test_a_member_keeps_its_number_where_only_some_have_spoken(self):
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
        texts = [
            message.text
            for one in (ann, bob, summariser)
            for request in one.model.requests
            for message in request.messages
        ]
        assert not any("thinks" in text for text in texts)
        assert [one.analysis for one in (*result.agents, result.summariser)] == [
            "ann thinks 5",
            "bob thinks 5",
            "sum thinks 5",
        ]

    async def test_unless_the_panel_shows_them(self):
        ann, bob, summariser = self.member("ann", 5, 4), self.member("bob", 5, 4), self.member("sum", 5)
        await discuss(ann, bob, summariser=summariser, show_analysis=True)
        assert "ann thinks 4" in heard(bob, 1)
        assert "ann thinks 5" not in heard(bob, 1)
        assert "bob thinks 4" in heard(summariser, 0)
