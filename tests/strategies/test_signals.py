import pytest

from metajudge.errors import ConfigurationError, FailureKind
from metajudge.evidence.index import EvidenceIndex
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.strategies.signals import SignalEvidence
from metajudge.types import Judgment, Status
from tests.doubles.judgments import judgment
from tests.strategies.vetted import panel


class TestSignals:
    PANEL = Panel((), StrategyName.SIGNALS, 4.5)

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


class TestAgreement:
    """Worked by hand: of n peers a agree, and the share (a + 1) / (n + 2) is kept from .75 on."""

    PANEL = Panel((), StrategyName.SIGNALS, 4.5)

    @pytest.mark.parametrize(
        ("agreeing", "differing", "kept", "share"),
        [
            (2, 0, True, 0.75),  # exactly at the cut
            (1, 0, None, None),  # one peer cannot reach it: no decision
            (0, 1, False, 1 / 3),
            (9, 2, True, 10 / 13),
            (8, 3, False, 9 / 13),
            (1, 1, False, 0.5),  # both for it would have kept it
        ],
    )
    async def test_the_share_of_peers_decides(self, agreeing, differing, kept, share):
        others = [graded(1, f"y{at}", "pass") for at in range(agreeing)]
        others += [graded(1, f"n{at}", "fail") for at in range(differing)]
        own = graded(1, "x", "pass")
        evidence = SignalEvidence(EvidenceIndex.build([own, *others]))
        found = await Vetter(self.PANEL).vet(own, evidence=evidence)
        assert found.kept is kept
        assert found.final_score == (None if share is None else pytest.approx(1 + 4 * share))
        rule = (None, None, None) if kept is None else ("agreement", 0.75, "default")
        assert (found.decided_by, found.cut, found.cut_from) == rule

    async def test_a_threshold_that_is_given_is_the_scores(self):
        crowd = [graded(1, judge, 4) for judge in "abcd"]
        panel = Panel((), StrategyName.SIGNALS, 4.1, threshold_typed=True)
        found = await Vetter(panel).vet(crowd[0], evidence=SignalEvidence(EvidenceIndex.build(crowd)))
        assert (found.kept, found.final_score) == (True, pytest.approx(1 + 4 * 4 / 5))
        assert (found.decided_by, found.cut, found.cut_from) == ("score", 4.1, "typed")
