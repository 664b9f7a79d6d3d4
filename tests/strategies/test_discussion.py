"""panel_discussion: who hears what, what a missing answer does, and how it ends."""

import json
import re

import pytest

from metajudge.agents import Agent
from metajudge.errors import FailureKind, ServerError
from metajudge.prompts.reply_form import ReplyForm
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.types import Status
from tests.doubles.judgments import judgment, reply

BASELINE = load_rubric("baseline")


def speaker(name, *answers, **options):
    """An agent with one answer per turn: a score, or None for a failed call."""
    script = [ServerError("down", status=500) if a is None else reply(a, BASELINE) for a in answers]
    return Agent(name=name, model=ScriptedModel(script, name=name), rubric=BASELINE, **options)


def heard(agent, turn):
    return agent.model.requests[turn].messages[0].text


async def discuss(*agents, **options):
    panel = Panel(agents, StrategyName.PANEL_DISCUSSION, 4.5, **options)
    return await Vetter(panel).vet(judgment())


class TestIndependentFirst:
    async def test_everybody_scores_alone_then_revises_having_heard_the_others(self):
        ann, bob = speaker("ann", 5, 4), speaker("bob", 2, 5)
        result = await discuss(ann, bob)
        assert "bob" not in heard(ann, 0)
        assert "bob" in heard(ann, 1)
        assert "ann (yours)" in heard(ann, 1)
        assert "overall: 2" in heard(ann, 1)
        # bob speaks second and hears ann's revision (4), not her opening (5)
        assert "overall: 4" in heard(bob, 1)
        assert "overall: 5" not in heard(bob, 1)
        assert [said.score for said in result.agents] == [4, 5]
        assert [said.opening.score for said in result.agents] == [5, 2]

    async def test_an_opening_does_not_stand_in_for_a_failed_revision(self):
        result = await discuss(speaker("ann", 5, 5), speaker("bob", 5, None))
        assert result.status is Status.UNSCORED
        assert result.agents[1].score is None
        assert result.agents[1].opening.score == 5

    async def test_who_failed_at_first_may_still_speak(self):
        ann, bob = speaker("ann", None, 5), speaker("bob", 5, 5)
        result = await discuss(ann, bob)
        assert result.accepted is True
        assert "ann" not in heard(bob, 0)

    async def test_early_exit_skips_the_last_round_only(self):
        agents = speaker("ann", 5, 1), speaker("bob", 5, 1), speaker("cleo", 5)
        result = await discuss(*agents, early_exit=True)
        assert [said.skipped for said in result.agents] == [None, None, "early_exit"]
        assert result.agents[2].opening.score == 5
        assert (result.calls, result.accepted) == (5, False)


class TestSequential:
    async def test_each_hears_those_before(self):
        ann, bob, cleo = speaker("ann", 5), speaker("bob", 4), speaker("cleo", 5)
        result = await discuss(ann, bob, cleo, rounds="sequential")
        assert "What the panel has said" not in heard(ann, 0)
        assert "overall: 5" in heard(bob, 0)
        assert "overall: 4" in heard(cleo, 0)
        assert result.calls == 3
        assert (result.accepted, result.agents[0].opening) == (True, None)


class TestSummariser:
    async def test_its_scores_are_final(self):
        chair = speaker("chair", 2, role="summariser")
        result = await discuss(speaker("ann", 5, 5), speaker("bob", 5, 5), summariser=chair)
        assert (result.final_score, result.accepted) == (2.0, False)
        assert result.summariser.agent == "chair"
        assert result.calls == 5
        assert "ann" in heard(chair, 0)

    async def test_without_the_summary_there_is_no_score(self):
        result = await discuss(speaker("ann", 5, 5), speaker("bob", 5, 5), summariser=speaker("chair", None))
        assert (result.status, result.final_score) == (Status.UNSCORED, None)
        assert result.failure.kind is FailureKind.SERVER_ERROR
        assert result.summariser.failure is not None

    async def test_nobody_to_sum_up(self):
        chair = speaker("chair", 5)
        result = await discuss(speaker("ann", None, None), speaker("bob", None, None), summariser=chair)
        assert result.status is Status.FAILED
        assert chair.model.requests == []


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

    async def test_criteria_that_do_not_apply_are_no_part_of_what_was_said(self):
        alone = self.SHORT.for_verdict_alone()
        ann, bob = self.member("ann", 5, 5, rubric=alone), self.member("bob", 5, 5, rubric=alone)
        summariser = self.member("sum", 5, rubric=alone)
        panel = Panel((ann, bob), StrategyName.PANEL_DISCUSSION, 4.5, summariser=summariser)
        result = await Vetter(panel).vet(judgment(rationale=""))
        assert (result.final_score, result.accepted) == (5.0, True)
        assert result.not_applicable == ("logical_soundness", "completeness", "clarity", "impactfulness")
        for agent, turn in ((ann, 1), (bob, 1), (summariser, 0)):
            assert "fairness: 5" in heard(agent, turn)
            assert "not applicable" not in heard(agent, turn)
            assert "clarity" not in heard(agent, turn)
