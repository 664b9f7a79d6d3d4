"""Where the columns of a table come from: games for pairs, answers for rankings, grades and categories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

from metajudge.evidence.answer_consensus import (
    answer_columns,
    answer_reliabilities,
    other_order_columns,
    repeat_columns,
    version_columns,
)
from metajudge.evidence.answers import Answers
from metajudge.evidence.consensus import Column, Reliability, order_columns, peer_columns, reliabilities
from metajudge.evidence.games import GameRows, Games
from metajudge.evidence.rewards import reward_columns
from metajudge.evidence.scale_use import ScaleUse, question_columns, scale_columns, scale_uses
from metajudge.stats.arrays import Indices
from metajudge.types import VerdictKind

SignalGroup = Literal[
    "order",
    "strength",
    "repeats",
    "versions",
    "peers",
    "scale",
    "question",
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

Category and side (the answer itself: a category, a grade, the place of the response chosen) are no signals: they are
part of every model, since what a signal is worth differs between them.
"""

DEFAULT_SIGNALS: Mapping[VerdictKind, tuple[SignalGroup, ...]] = {
    "pairwise": ("order", "strength", "peers", "rationale"),
    "ranking": ("order", "repeats", "versions", "peers", "confidence", "rationale"),
    "grade": ("repeats", "versions", "peers", "scale", "question", "confidence", "rationale", "format"),
    "category": ("repeats", "versions", "peers", "scale", "question", "confidence", "rationale", "format"),
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
        scale_uses: judge -> how it uses its scale of grades.
    """

    reliabilities: Mapping[str, Reliability] = field(default_factory=dict)
    rewards: Mapping[str, float] = field(default_factory=dict)
    scale_uses: Mapping[str, ScaleUse] = field(default_factory=dict)


SCALED: frozenset[SignalGroup] = frozenset({"peers", "rewards", "scale"})
"""Groups whose columns depend on :class:`EvidenceScales`."""


@dataclass(frozen=True)
class PairSource:
    """Decided pairwise verdicts among all games: the n rows of a table.

    Attributes:
        judges: every one of the input.
        sides: [n] the answer of each row; the empty string for pairs.
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
        return ("",) * len(self.rows)

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
        return EvidenceScales(
            answer_reliabilities(self.answers) if "peers" in groups else {},
            rewards,
            scale_uses(self.answers) if "scale" in groups else {},
        )

    def plain(self, groups: Sequence[SignalGroup]) -> dict[str, Column]:
        makers = {
            "order": other_order_columns,
            "repeats": repeat_columns,
            "versions": version_columns,
            "question": question_columns,
        }
        columns: dict[str, Column] = {}
        for group, columns_of in makers.items():
            if group in groups:
                columns |= columns_of(self.answers, self.rows)
        return columns

    def scaled(self, groups: Sequence[SignalGroup], scales: EvidenceScales) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        if "peers" in groups:
            columns |= answer_columns(self.answers, self.rows, dict(scales.reliabilities))
        if "scale" in groups:
            columns |= scale_columns(self.answers, self.rows, scales.scale_uses)
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
