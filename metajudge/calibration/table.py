"""Decided judgments as columns of signals: what a calibration is fitted on and applied to."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from metajudge.calibration.agent_scores import AgentScores
from metajudge.errors import InputError
from metajudge.evidence.consensus import (
    Column,
    Reliability,
    order_columns,
    peer_columns,
    reliabilities,
)
from metajudge.evidence.format import length_ratio, rationale_words
from metajudge.evidence.games import (
    GameCollector,
    GameRows,
    Games,
)
from metajudge.evidence.rationale import rationale_agreement
from metajudge.evidence.rewards import Preference, RewardScore, margin_scales, reward_columns, reward_margins
from metajudge.providers.families import family_of
from metajudge.stats.arrays import Bools, Indices
from metajudge.types import Grade, Judgment, Pairwise, text_digest

SignalGroup = Literal["order", "strength", "peers", "rewards", "rationale", "format", "agents"]

SIGNAL_GROUPS: tuple[SignalGroup, ...] = get_args(SignalGroup)
"""Signals by the names they have on the command line.

The category is no signal: it is part of every model, since what a signal is worth differs between task families.
"""


SPREAD = "~spread"
"""Ends the name of a column that contains the spread of an agent's draws instead of its score."""


@dataclass(frozen=True, slots=True)
class EvidenceScales:
    """What signals take from the whole of a data set, without labels; stored in a calibration and used on new data.

    Attributes:
        reliabilities: judge -> weight in a consensus.
        rewards: reward model -> scale of its margins.
    """

    reliabilities: Mapping[str, Reliability] = field(default_factory=dict)
    rewards: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SignalTable:
    """Decided judgments (a pairwise verdict that is no tie) in the order of the input.

    Attributes:
        judgment_ids: [n].
        item_ids: [n].
        questions: [n] digest of the question's text: the unit of independence.
        judges: [n].
        categories: [n]; the empty string where the item has none.
        orders: [n] the order shown, the ids put together.
        correct: [n] whether the verdict names the labelled winner; False where it has no label.
        labelled: [n] whether the item's label names a winner.
        signals: the groups of signals asked for.
        columns: signals by name, ``GROUP.NAME``; ``consensus.*`` belongs to the group peers.
        scales: what the columns took from the whole of the data.
        agent_scores: agents' scores and what they depend on, where they were given.
        left_out: reason -> how many of the judgments to report are no rows here.
    """

    judgment_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    questions: tuple[str, ...]
    judges: tuple[str, ...]
    categories: tuple[str, ...]
    orders: tuple[str, ...]
    correct: Bools
    labelled: Bools
    signals: tuple[SignalGroup, ...]
    columns: Mapping[str, Column]
    scales: EvidenceScales
    agent_scores: AgentScores | None
    left_out: Mapping[str, int]
    weights: NDArray[np.float64] | None = field(default=None, kw_only=True)
    """[n] what rows count for in a fit, where they were not all equally likely to be labelled; None for all alike."""
    _games: Games = field(repr=False)
    _rows: GameRows = field(repr=False)
    _margins: Mapping[str, Column] = field(repr=False)
    _leave_out_kin: bool = False

    def __len__(self) -> int:
        return len(self.judgment_ids)

    @property
    def known_judges(self) -> tuple[str, ...]:
        """Every judge of the input, with rows here or not."""
        return self._games.judges

    @property
    def preferred_places(self) -> str:
        """A digit a row: the place in the order shown, 1 or 2, of the response its verdict prefers."""
        shown_first = (self._rows.sign > 0) == (self._rows.order == 0)
        return "".join("1" if first else "2" for first in shown_first)

    def select(self, chosen: Bools | Indices | Sequence[bool]) -> "SignalTable":
        """The chosen rows, with their evidence as it is: it was computed over all records."""
        at = np.asarray(chosen)
        at = np.flatnonzero(at) if at.dtype == bool else at

        def pick(values: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(values[index] for index in at)

        return replace(
            self,
            judgment_ids=pick(self.judgment_ids),
            item_ids=pick(self.item_ids),
            questions=pick(self.questions),
            judges=pick(self.judges),
            categories=pick(self.categories),
            orders=pick(self.orders),
            correct=self.correct[at],
            labelled=self.labelled[at],
            weights=None if self.weights is None else self.weights[at],
            columns=_picked(self.columns, at),
            left_out={},
            _rows=self._rows.select(at),
            _margins=_picked(self._margins, at),
        )

    def sorted(self) -> "SignalTable":
        """The rows in the order of their judgment ids: what is computed from it depends on no file's order."""
        return self.select(np.array(sorted(range(len(self)), key=self.judgment_ids.__getitem__), dtype=np.intp))

    def with_scales(self, scales: EvidenceScales) -> "SignalTable":
        """The same table with reliabilities and reward scales from elsewhere, such as a calibration."""
        fresh = _scaled_columns(self.signals, self._games, self._rows, self._margins, scales, self._leave_out_kin)
        kept = {name: column for name, column in self.columns.items() if _group(name) not in ("peers", "rewards")}
        return replace(self, columns=kept | fresh, scales=scales)

    def with_labels(self, right: Mapping[str, bool], weights: Mapping[str, float]) -> "SignalTable":
        """The same rows with labels from elsewhere, such as human reviews; rows that are not named lose theirs.

        Args:
            right: judgment id -> whether its verdict is right.
            weights: judgment id -> what it counts for in a fit.
        """
        return replace(
            self,
            correct=np.array([right.get(name, False) for name in self.judgment_ids], dtype=bool),
            labelled=np.array([name in right for name in self.judgment_ids], dtype=bool),
            weights=np.array([weights.get(name, 1.0) for name in self.judgment_ids], dtype=np.float64),
        )

    def with_agent_scores(self, scores: AgentScores) -> "SignalTable":
        """The same rows with agents' scores as further evidence."""
        groups = tuple(group for group in SIGNAL_GROUPS if group == "agents" or group in self.signals)
        columns = {**self.columns, **_agent_columns(self.judgment_ids, scores)}
        return replace(self, signals=groups, columns=columns, agent_scores=scores)

    def without(self, group: SignalGroup) -> "SignalTable":
        """The same table without one group of signals."""
        kept = {name: column for name, column in self.columns.items() if _group(name) != group}
        return replace(self, columns=kept, signals=tuple(name for name in self.signals if name != group))

    def of_group(self, group: SignalGroup) -> dict[str, Column]:
        """The columns of one group."""
        return {name: column for name, column in self.columns.items() if _group(name) == group}


@dataclass(slots=True)
class _Collected:
    """Rows as they come; lists of equal length."""

    judgment_ids: list[str] = field(default_factory=list)
    preferences: list[Preference] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    judges: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    correct: list[bool | None] = field(default_factory=list)
    text: dict[str, list[float | None]] = field(default_factory=dict)

    def add(self, judgment: Judgment, verdict: Pairwise, groups: Sequence[SignalGroup]) -> None:
        self.judgment_ids.append(judgment.id)
        self.preferences.append(Preference(judgment.item.id, verdict.first, verdict.second))
        self.questions.append(text_digest(judgment.item.question))
        self.judges.append(judgment.judge)
        self.categories.append(judgment.item.category or "")
        self.orders.append("".join(judgment.order))
        label = judgment.item.label
        self.correct.append(None if label is None or label.winner is None else judgment.correct)
        for name, value in _text_signals(judgment, groups).items():
            self.text.setdefault(name, []).append(value)


def build_table(
    judgments: Iterable[Judgment],
    signals: Sequence[str],
    *,
    report: Callable[[Judgment], bool] | None = None,
    rewards: Iterable[RewardScore] | None = None,
    agent_scores: AgentScores | None = None,
    families: Mapping[str, str] | None = None,
) -> SignalTable:
    """Collects decided judgments and their signals in one pass; texts are not kept.

    Evidence (peers, the other order) is computed over **all** judgments given; ``report`` chooses the rows. No signal
    sees a label.

    Args:
        judgments: all records of an input, each id once.
        signals: names of :data:`SIGNAL_GROUPS`.
        report: which judgments become rows; None for all.
        rewards: reward models' scores, for the signal ``rewards``.
        agent_scores: agents' scores, for the signal ``agents``.
        families: judge -> family. Given, peers of a judge's own family are no evidence; a judge that is not named is
            of the family its name shows (:func:`~metajudge.providers.families.family_of`). None: all other judges are
            peers, and families share one vote only where reliability is measured.

    Raises:
        InputError: an unknown signal, a signal without its data, one id with two contents, a judgment twice.
    """
    groups = _groups(signals)
    _check_given(groups, rewards, agent_scores)
    collector, rows, left_out = GameCollector(), _Collected(), Counter[str]()
    for judgment in judgments:
        wanted = report is None or report(judgment)
        verdict = judgment.verdict
        decided = wanted and isinstance(verdict, Pairwise) and not verdict.is_tie
        collector.add(judgment, row=decided)
        if decided:
            assert isinstance(verdict, Pairwise)
            rows.add(judgment, verdict, groups)
        elif wanted:
            left_out[_why_left_out(judgment)] += 1
    _check_unique(rows.judgment_ids)
    games, places = collector.games(lambda judge: (families or {}).get(judge) or family_of(judge))
    scores = list(rewards or ()) if "rewards" in groups else []
    margins = reward_margins(scores, rows.preferences)
    scales = EvidenceScales(reliabilities(games) if "peers" in groups else {}, margin_scales(scores))
    leave_out_kin = families is not None
    columns = _plain_columns(groups, games, places, rows, agent_scores)
    columns |= _scaled_columns(groups, games, places, margins, scales, leave_out_kin)
    return SignalTable(
        judgment_ids=tuple(rows.judgment_ids),
        item_ids=tuple(seen.item_id for seen in rows.preferences),
        questions=tuple(rows.questions),
        judges=tuple(rows.judges),
        categories=tuple(rows.categories),
        orders=tuple(rows.orders),
        correct=np.array([bool(right) for right in rows.correct], dtype=bool),
        labelled=np.array([right is not None for right in rows.correct], dtype=bool),
        signals=groups,
        columns=columns,
        scales=scales,
        agent_scores=agent_scores if "agents" in groups else None,
        left_out=dict(sorted(left_out.items())),
        _games=games,
        _rows=places,
        _margins=margins,
        _leave_out_kin=leave_out_kin,
    )


def _groups(signals: Sequence[str]) -> tuple[SignalGroup, ...]:
    names = list(dict.fromkeys(name.strip() for name in signals if name.strip()))
    unknown = [name for name in names if name not in SIGNAL_GROUPS]
    if unknown:
        raise InputError(f"no such signal: {', '.join(map(repr, unknown))}; there are {', '.join(SIGNAL_GROUPS)}")
    if not names:
        raise InputError(f"no signal is named; there are {', '.join(SIGNAL_GROUPS)}")
    return tuple(group for group in SIGNAL_GROUPS if group in names)


def _check_given(groups: Sequence[str], rewards: object, agent_scores: object) -> None:
    if "rewards" in groups and rewards is None:
        raise InputError("the signal rewards needs reward models' scores: a file reward_scores.jsonl beside the data")
    if "agents" in groups and agent_scores is None:
        raise InputError("the signal agents needs agents' scores: give --agent-scores with assessments of these data")


def _check_unique(ids: Sequence[str]) -> None:
    if len(set(ids)) < len(ids):
        twice = next(name for name, count in Counter(ids).items() if count > 1)
        raise InputError(f"judgment {twice!r} appears twice: give each judgment its own id")


def _why_left_out(judgment: Judgment) -> str:
    verdict = judgment.verdict
    if verdict is None:
        return "no verdict"
    if isinstance(verdict, Pairwise):
        return "tie"
    return "grade" if isinstance(verdict, Grade) else "ranking"


def _text_signals(judgment: Judgment, groups: Sequence[SignalGroup]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    if "rationale" in groups:
        found["rationale.agrees"] = rationale_agreement(judgment).value
    if "format" in groups:
        words = rationale_words(judgment).value
        found["format.words"] = None if words is None else float(np.log1p(words))
        found["format.length_ratio"] = length_ratio(judgment).value
    return found


def _plain_columns(
    groups: Sequence[SignalGroup], games: Games, places: GameRows, rows: _Collected, agents: AgentScores | None
) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    if "order" in groups:
        columns |= order_columns(games, places)
    if "strength" in groups:
        columns["strength.strong"] = Column.full(places.level == 2)
    columns |= {name: _column(values) for name, values in rows.text.items()}
    if "agents" in groups and agents is not None:
        columns |= _agent_columns(rows.judgment_ids, agents)
    return columns


def _agent_columns(judgment_ids: Sequence[str], agents: AgentScores) -> dict[str, Column]:
    given = [agents.scores.get(name, {}) for name in judgment_ids]
    columns = {f"agents.{agent}": _column([scores.get(agent) for scores in given]) for agent in sorted(agents.agents)}
    means = [sum(scores.values()) / len(scores) if scores else None for scores in given]
    spread = [agents.spreads.get(name, {}) for name in judgment_ids]
    for agent in sorted({agent for one in agents.spreads.values() for agent in one}):
        columns[f"agents.{agent}{SPREAD}"] = _column([one.get(agent) for one in spread])
    return columns | {"agents.mean": _column(means)}


def _scaled_columns(
    groups: Sequence[SignalGroup],
    games: Games,
    places: GameRows,
    margins: Mapping[str, Column],
    scales: EvidenceScales,
    leave_out_kin: bool,
) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    if "peers" in groups:
        columns |= peer_columns(games, places, dict(scales.reliabilities), leave_out_kin=leave_out_kin)
    if "rewards" in groups:
        columns |= reward_columns(margins, scales.rewards)
    return columns


def _column(values: Sequence[float | None]) -> Column:
    present = np.array([value is not None for value in values], dtype=bool)
    return Column(np.array([0.0 if value is None else value for value in values], dtype=np.float64), present)


def _picked(columns: Mapping[str, Column], at: Indices) -> dict[str, Column]:
    return {name: Column(column.values[at], column.present[at]) for name, column in columns.items()}


def _group(name: str) -> str:
    head = name.partition(".")[0]
    return "peers" if head == "consensus" else head
