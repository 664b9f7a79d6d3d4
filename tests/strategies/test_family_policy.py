"""Agents of the judge's or a candidate's family: warned of once, forbidden, or ignored."""

import pytest

from metajudge.agents import Agent
from metajudge.errors import FailureKind
from metajudge.providers.notices import Notices
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.types import Status
from tests.doubles.judgments import judgment, reply

BASELINE = load_rubric("baseline")


BY_O3 = {"judge": "openrouter/openai/o3"}


BY_CLAUDE = {"judge": "claude-3-haiku"}


def written_by(**models):
    item = {"id": "i", "question": "q", "responses": {"A": "4", "B": "5"}, "models": models}
    return judgment("by-models", judge="qwen2.5-72b", item=item)


def vetter(policy="warn", said=None, **options):
    model = ScriptedModel(lambda _: reply(5, BASELINE), name="gpt-4o-mini")
    panel = Panel((Agent("mini", model, BASELINE),), StrategyName.SINGLE, 4.5, families=policy, **options)
    return Vetter(panel, notice=(said if said is not None else Notices()).say), model


class TestWarn:
    async def test_it_is_said_once_an_agent_family_and_role(self):
        said = Notices()
        warned, _ = vetter(said=said)
        for record in (judgment("a", **BY_O3), judgment("b", judge="gpt-4/CoT"), judgment("c", **BY_CLAUDE)):
            assert (await warned.vet(record)).accepted is True
        assert len(said.lines) == 1
        assert said.lines[0].startswith("mini is of the openai family, and so is the judge: models favour")
        await warned.vet(written_by(A="gpt-4o", B="o1-mini"))
        assert "a model whose answer was judged" in said.lines[1]
        assert len(said.lines) == 2

    async def test_who_is_not_asked_is_not_warned_of(self):
        said = Notices()
        await vetter(said=said)[0].vet(judgment(verdict=None, no_verdict="none", **BY_O3))
        assert said.lines == ()


class TestForbid:
    @pytest.mark.parametrize("record", [judgment(**BY_O3), written_by(A="gpt-4o", B="claude-3-opus")])
    async def test_the_judgment_fails_with_a_reason_and_nothing_is_sent(self, record):
        forbidding, model = vetter("forbid")
        result = await forbidding.vet(record)
        assert (result.status, result.failure.kind, result.agents) == (Status.FAILED, FailureKind.NO_EVIDENCE, ())
        assert "mini is of the openai family" in result.failure.message
        assert "--families warn" in result.failure.message
        assert model.requests == []

    def test_what_was_assessed_under_another_policy_is_not_taken_over(self):
        kin, stranger = judgment(**BY_O3), judgment(**BY_CLAUDE)
        warn, ignore, forbid = (vetter(policy)[0] for policy in ("warn", "ignore", "forbid"))
        assert warn.key(kin) == ignore.key(kin) != forbid.key(kin)
        assert forbid.key(stranger) != forbid.key(kin)

    def test_who_wrote_the_responses_counts(self):
        forbid, warn = vetter("forbid")[0], vetter("warn")[0]
        one, other = written_by(A="gpt-4o", B="claude-3-opus"), written_by(A="glm-4.7", B="claude-3-opus")
        assert forbid.key(one) != forbid.key(other)
        assert warn.key(one) == warn.key(other)
