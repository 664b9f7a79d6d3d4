"""How agents' scores become one decision: single, weighted average, majority vote, discussion, signals."""

from metajudge.strategies.panel import Panel, StrategyName
from metajudge.strategies.vetter import Vetter

__all__ = ["Panel", "StrategyName", "Vetter"]
