"""Vetting one judgment: routing, keys, and what never reaches a model."""

import pytest

from metajudge.agents import Agent
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName, Vetter
from tests.doubles.judgments import judgment, reply
from tests.strategies.answers import member, panel

SHORT = load_rubric("short")


class TestProvenance:
    def test_the_key_changes_with_judgment_panel_and_seed_and_not_with_the_label(self):
        base, short = Vetter(panel([5], "single")), (member("a0", 5, rubric=SHORT),)
        keys = {
            base.key(judgment()),
            base.key(judgment("j2")),
            base.key(judgment(verdict="A>>B")),
            Vetter(Panel(short, StrategyName.SINGLE, 4.5)).key(judgment()),
            Vetter(panel([5], "single"), seed=1).key(judgment()),
        }
        assert len(keys) == 5
        assert base.key(judgment(label=None)) == base.key(judgment())


class TestVerdictAlone:
    """Judgments without a rationale under the second prompt set pass or fail on their verdict."""

    ALONE = SHORT.for_verdict_alone()
    LEFT_OUT = ("logical_soundness", "completeness", "clarity", "impactfulness")

    def of(self, *scores, strategy="majority_vote", **options):
        agents = tuple(
            Agent(
                name=f"a{n}",
                model=ScriptedModel(lambda _request, score=score: reply(score, self.ALONE), name=f"m{n}"),
                rubric=SHORT,
                prompt_version=2,
            )
            for n, score in enumerate(scores)
        )
        return Panel(agents=agents, strategy=StrategyName(strategy), threshold=4.5, rubric="short", **options)

    @pytest.mark.parametrize("strategy", ["single", "weighted_average", "majority_vote"])
    async def test_a_right_verdict_alone_is_kept_at_the_usual_threshold(self, strategy):
        given = self.of(*[5] * (1 if strategy == "single" else 3), strategy=strategy)
        result = await Vetter(given).vet(judgment(rationale=""))
        assert (result.final_score, result.accepted) == (5.0, True)
        assert result.not_applicable == self.LEFT_OUT
        assert result.rubric_digest == SHORT.digest
