"""Columns that each row has by itself: what its text says, and what agents say of it."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import logit

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.sources import SignalGroup
from metajudge.evidence.columns import compare
from metajudge.evidence.consensus import Column
from metajudge.evidence.verdicts import Verdicts
from metajudge.stats.arrays import Indices
from metajudge.types import Category, Grade, Right

TEXT_SIGNALS = frozenset(("confidence", "rationale", "format"))
"""Groups of signals that are read off a record's texts, or stated beside them."""

SHARE = "share.log_odds"
"""Log-odds of the share of peers that agree (:attr:`~metajudge.evidence.peers.PeerSupport.share`)."""

SPREAD = "~spread"
"""Ends the name of a column that contains the spread of an agent's draws instead of its score."""


def text_columns(groups: Sequence[SignalGroup], facts: Verdicts, rows: Indices) -> dict[str, Column]:
    """What the text of each row and what was stated beside it says: the groups confidence, rationale and format."""
    found: dict[str, Column] = {}
    if not len(rows):
        return found
    if "confidence" in groups:
        stated = facts.confidence[rows]
        found["confidence.stated"] = Column.where(stated, np.isfinite(stated))
    if "rationale" in groups:
        agrees = _column([value for value, *_ in facts.rationales])
        found["rationale.agrees"] = Column(agrees.values[facts.rationale[rows]], agrees.present[facts.rationale[rows]])
    if "format" in groups:
        words, own, other = facts.words[rows], facts.own_words[rows].astype(np.float64), facts.other_words[rows]
        found["format.words"] = Column.where(np.log1p(words), words > 0)
        single = np.array([isinstance(verdict, Grade | Category) for verdict in facts.verdicts])[facts.verdict[rows]]
        if not single.all():
            compared = ~np.isnan(other) & ~single
            ratios = ((1 + own) / (1 + other)).tolist()
            logs = [math.log(one) if there else 0.0 for one, there in zip(ratios, compared.tolist(), strict=True)]
            found["format.length_ratio"] = Column(np.array(logs), compared)
        if single.any():
            shown = single & (own >= 0)
            logs = [math.log1p(max(count, 0.0)) for count in own.tolist()]
            found["format.response_words"] = Column.where(np.array(logs), shown)
    return found


def share_column(facts: Verdicts, rows: Indices, right: Right) -> dict[str, Column]:
    """:data:`SHARE` of some records, from the verdicts of all; absent where no peer gave a verdict."""
    found = compare(facts, facts.rules(right))
    shares = np.array([*(one.share for one in found.supports), None], dtype=np.float64)[found.support[rows]]
    return {SHARE: Column.where(logit(np.nan_to_num(shares, nan=0.5)), ~np.isnan(shares))}


def agent_columns(judgment_ids: Sequence[str], agents: AgentScores) -> dict[str, Column]:
    """Each agent's score, the spread of its draws, and the mean over agents; [n] by judgment id."""
    given = [agents.scores.get(name, {}) for name in judgment_ids]
    columns = {f"agents.{agent}": _column([scores.get(agent) for scores in given]) for agent in sorted(agents.agents)}
    means = [sum(scores.values()) / len(scores) if scores else None for scores in given]
    spread = [agents.spreads.get(name, {}) for name in judgment_ids]
    for agent in sorted({agent for one in agents.spreads.values() for agent in one}):
        columns[f"agents.{agent}{SPREAD}"] = _column([one.get(agent) for one in spread])
    return columns | {"agents.mean": _column(means)}


def _column(values: Sequence[float | None]) -> Column:
    present = np.array([value is not None for value in values], dtype=bool)
    return Column(np.array([0.0 if value is None else value for value in values], dtype=np.float64), present)
