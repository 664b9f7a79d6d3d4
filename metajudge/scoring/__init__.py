"""From criterion scores to a decision, on arrays: the only place where the formulas live.

Shapes: ``n`` judgments, ``M`` configured agents, ``N`` criteria. The engine calls these functions for one
judgment, the benchmarks for a million. Absent results are masked, never a number.
"""

from metajudge.scoring.decisions import Decisions, decide_average, decide_majority
from metajudge.scoring.formulas import (
    KEPT,
    agent_scores,
    exceeds,
    majority_vote,
    weighted_average,
)

__all__ = [
    "KEPT",
    "Decisions",
    "agent_scores",
    "decide_average",
    "decide_majority",
    "exceeds",
    "majority_vote",
    "weighted_average",
]
