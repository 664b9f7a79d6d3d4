import pytest

from metajudge.errors import ConfigurationError
from metajudge.evidence.index import EvidenceIndex
from metajudge.strategies import Panel, SignalEvidence, StrategyName, Vetter
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
