"""How agents' scores become one decision: single, weighted average, majority vote, discussion, signals."""

from metajudge.strategies.panel import Panel, StrategyName
from metajudge.strategies.signals import SignalEvidence
from metajudge.strategies.vetter import STRATEGIES, Evidence, Vetter

__all__ = ["STRATEGIES", "Evidence", "Panel", "SignalEvidence", "StrategyName", "Vetter"]
