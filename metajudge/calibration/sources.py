"""Where the columns of a table come from.

Games for pairs, answers for rankings, grades and categories; each row's own text, and what agents say of it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.special import logit

from metajudge.calibration.agent_scores import AgentScores
from metajudge.evidence.answer_consensus import answer_columns, other_order_columns, repeat_columns, version_columns
from metajudge.evidence.answers import Answers
from metajudge.evidence.columns import compare
from metajudge.evidence.consensus import Column, Reliability, order_columns, peer_columns, reliabilities
from metajudge.evidence.games import GameRows, Games
from metajudge.evidence.rewards import reward_columns
from metajudge.evidence.verdicts import Verdicts
from metajudge.stats.arrays import Indices
from metajudge.types import Category, Grade, Right, VerdictKind

SignalGroup = Literal[
    "order",
    "strength",
    "repeats",
    "versions",
    "peers",
    "confidence",
    "rewards",
    "rationale",
    "format",
    "agents",
    "share",
]

GROUPS: tuple[SignalGroup, ...] = get_args(SignalGroup)
"""All of them; ``share`` is what a prior reads, and no feature of a fit."""

SIGNAL_GROUPS: tuple[SignalGroup, ...] = GROUPS[:-1]
"""Signals by the names they have on the command line.

Category and side (the answer itself: a category, a grade, the place of the response chosen) are no signals: a model
without votes of peers on pairs has them always, since what a signal is worth differs between them.
"""

DEFAULT_SIGNALS: Mapping[VerdictKind, tuple[SignalGroup, ...]] = {
    "pairwise": ("order", "strength", "peers", "rationale", "format"),
    "ranking": ("order", "repeats", "versions", "peers", "confidence", "rationale"),
    "grade": ("repeats", "versions", "peers", "confidence", "rationale", "format"),
    "category": ("repeats", "versions", "peers", "confidence", "rationale", "format"),
}
"""The signals of a kind where none are named; those that the data do not have are left out."""


def in_votes(kind: VerdictKind, signals: Sequence[SignalGroup]) -> list[SignalGroup]:
    """Those of some signals that change nothing beside the others: the votes of peers on pairs contain them."""
    return [one for one in signals if one in ("order", "strength")] if kind == "pairwise" and "peers" in signals else []


@dataclass(frozen=True, slots=True)
class EvidenceScales:
    """What signals take from the whole of a data set, without labels; stored in a calibration and used on new data.

    Attributes:
        reliabilities: judge -> weight in a consensus.
        rewards: reward model -> scale of its margins.
    """

    reliabilities: Mapping[str, Reliability] = field(default_factory=dict)
    rewards: Mapping[str, float] = field(default_factory=dict)


SCALED: frozenset[SignalGroup] = frozenset({"peers", "rewards"})
"""Groups whose columns depend on :class:`EvidenceScales`."""


@dataclass(frozen=True)
class PairSource:
    """Decided pairwise verdicts among all games: the n rows of a table.

    Attributes:
        judges: every one of the input.
        sides: [n] the answer of each row; for pairs, what it says.
        said: [n] what each row's verdict says.
        scales: what signals take from these records.
        plain: columns that depend on no scales.
        scaled: columns that do.
    """

    games: Games
    rows: GameRows
    margins: Mapping[str, Column]

    @property
    def judges(self) -> tuple[str, ...]:
        return self.games.judges

    @property
    def sides(self) -> tuple[str, ...]:
        return tuple(self.said)

    @property
    def said(self) -> str:
        """A digit a row: the place in the order shown, 1 or 2, of the response its verdict prefers."""
        shown_first = (self.rows.sign > 0) == (self.rows.order == 0)
        return "".join("1" if first else "2" for first in shown_first)

    def select(self, at: Indices) -> "PairSource":
        return replace(self, rows=self.rows.select(at), margins=picked(self.margins, at))

    def scales(self, groups: Sequence[SignalGroup], rewards: Mapping[str, float]) -> EvidenceScales:
        return EvidenceScales(reliabilities(self.games) if "peers" in groups else {}, rewards)

    def plain(self, groups: Sequence[SignalGroup]) -> dict[str, Column]:
        columns = order_columns(self.games, self.rows) if "order" in groups else {}
        if "strength" in groups:
            columns["strength.strong"] = Column.full(self.rows.level == 2)
        return columns

    def scaled(self, groups: Sequence[SignalGroup], scales: EvidenceScales) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        if "peers" in groups:
            columns |= peer_columns(self.games, self.rows, dict(scales.reliabilities))
        if "rewards" in groups:
            columns |= reward_columns(self.margins, scales.rewards)
        return columns


@dataclass(frozen=True)
class AnswerSource:
    """Rankings, grades or categories among all records, with what :class:`PairSource` has."""

    answers: Answers
    rows: Indices
    margins: Mapping[str, Column]
    said: tuple[str, ...]

    @property
    def judges(self) -> tuple[str, ...]:
        return tuple(self.answers.table.judges)

    @property
    def sides(self) -> tuple[str, ...]:
        return tuple(self.answers.sides[side] for side in self.answers.side[self.rows])

    def select(self, at: Indices) -> "AnswerSource":
        said = tuple(self.said[index] for index in at)
        return replace(self, rows=self.rows[at], margins=picked(self.margins, at), said=said)

    def scales(self, groups: Sequence[SignalGroup], rewards: Mapping[str, float]) -> EvidenceScales:
        return EvidenceScales({}, rewards)

    def plain(self, groups: Sequence[SignalGroup]) -> dict[str, Column]:
        makers = {"order": other_order_columns, "repeats": repeat_columns, "versions": version_columns}
        columns: dict[str, Column] = {}
        for group, columns_of in makers.items():
            if group in groups:
                columns |= columns_of(self.answers, self.rows)
        return columns

    def scaled(self, groups: Sequence[SignalGroup], scales: EvidenceScales) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        if "peers" in groups:
            columns |= answer_columns(self.answers, self.rows)
        if "rewards" in groups:
            columns |= reward_columns(self.margins, scales.rewards)
        return columns


Source: TypeAlias = PairSource | AnswerSource
"""The records behind a table's rows."""


def picked(columns: Mapping[str, Column], at: Indices) -> dict[str, Column]:
    """Columns of some rows."""
    return {name: Column(column.values[at], column.present[at]) for name, column in columns.items()}


def group_of(name: str) -> str:
    """The group of a column."""
    head = name.partition(".")[0]
    return "peers" if head in ("consensus", "voices") else head


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
    peers = compare(facts, facts.rules(right)).peers
    shares = np.array([*(one.share for one in peers.values), None], dtype=np.float64)[peers.codes[rows]]
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
