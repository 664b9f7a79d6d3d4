import pytest
from metajudge.evidence.no_labels import NoLabels

from metajudge.errors import ConfigurationError, FailureKind
from metajudge.evidence.index import EvidenceIndex
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.strategies.signals import SignalEvidence
from metajudge.types import Judgment, Status
from tests.doubles.judgments import judgment
from tests.strategies.vetted import panel


class TestSignals:
    PANEL = Panel((), StrategyName.SIGNALS, 4.5)

    async def test_it_weighs_the_judgments_around_it(self):
        crowd = [
            judgment(f"{judge}{i}", judge=judge, item_id="i", question="q", order=order, verdict="A>>B")
            for judge in ("owl", "hawk", "wren")
            for i, order in enumerate((("A", "B"), ("B", "A")))
        ]
        evidence = SignalEvidence(EvidenceIndex.build(crowd))
        result = await Vetter(self.PANEL).vet(crowd[0], evidence=evidence)
        assert result.accepted is True
        assert result.calibrated is False
        assert result.signals["peers"].state == "unanimous_for"
        assert (result.agents, result.calls, result.cost_usd) == ((), 0, 0)

    async def test_without_evidence_it_is_a_configuration_error(self):
        with pytest.raises(ConfigurationError, match="needs the judgments around"):
            await Vetter(self.PANEL).vet(judgment())

    def test_it_takes_no_agents(self):
        with pytest.raises(ConfigurationError, match="asks no model"):
            Panel(panel(5).agents, StrategyName.SIGNALS, 4.5)


def graded(item, judge, verdict):
    content = {"id": f"i{item}", "question": f"q{item}", "responses": {"A": "a"}}
    data = {"id": f"{item}-{judge}", "judge": judge, "verdict": verdict, "item": content}
    return Judgment.model_validate(data)


class TestOpen:
    PANEL = Panel((), StrategyName.SIGNALS, 4.5)

    @pytest.mark.parametrize(
        "alone", [judgment(), graded(1, "x", 4), graded(1, "x", "pass")], ids=["pair", "4", "pass"]
    )
    async def test_one_judge_alone_is_unscored_and_nothing_speaks_of_answers(self, alone):
        result = await Vetter(self.PANEL).vet(alone, evidence=SignalEvidence(EvidenceIndex.build([alone])))
        assert (result.status, result.accepted, result.final_score) == (Status.UNSCORED, None, None)
        assert result.failure.kind is FailureKind.NO_EVIDENCE
        assert "no other judge" in result.failure.message
        assert "answer" not in result.failure.message

    async def test_grades_of_several_judges_are_kept_and_discarded(self):
        crowd = [graded(1, judge, 4) for judge in "abc"] + [graded(1, "z", 1)]
        evidence = SignalEvidence(EvidenceIndex.build(crowd))
        found = [await Vetter(self.PANEL).vet(one, evidence=evidence) for one in crowd[2:]]
        assert [one.status for one in found] == [Status.ASSESSED] * 2
        assert [one.accepted for one in found] == [False, False]
        agreeing = SignalEvidence(EvidenceIndex.build(crowd[:3]))
        assert (await Vetter(self.PANEL).vet(crowd[0], evidence=agreeing)).accepted is True


class TestNoLabels:
    PANEL = Panel((), StrategyName.SIGNALS, 4.5)
    CROWD = tuple(graded(item, judge, judge != "z" or item % 3 > 0) for item in range(60) for judge in "uvwxyz")

    async def test_grades_of_a_large_input_are_scored_by_it_and_it_is_marked(self):
        index = EvidenceIndex.build(self.CROWD)
        evidence = SignalEvidence(index, NoLabels.fit(index))
        for one in self.CROWD[:12]:
            result = await Vetter(self.PANEL).vet(one, evidence=evidence)
            signal = result.signals["no_labels"]
            assert signal.state == "no_labels"
            assert result.final_score == pytest.approx(1 + 4 * signal.value)
            assert (result.probability, result.calibrated, result.guarantee) == (None, False, None)

    async def test_the_score_of_a_pair_is_the_same_with_and_without_it(self):
        pairs = [
            judgment(f"{judge}{item}", judge=judge, item_id=f"i{item}", question=f"q{item}", verdict=verdict)
            for item in range(30)
            for judge, verdict in zip("wxyz", ("A>B", "A>B", "A>>B", "B>A" if item % 3 else "A>B"), strict=True)
        ]
        index = EvidenceIndex.build(pairs)
        for one in pairs[:8]:
            plain = await Vetter(self.PANEL).vet(one, evidence=SignalEvidence(index))
            beside = await Vetter(self.PANEL).vet(one, evidence=SignalEvidence(index, NoLabels.fit(index)))
            assert (plain.final_score, plain.accepted) == (beside.final_score, beside.accepted)
            assert "no_labels" in beside.signals
            assert "no_labels" not in plain.signals
