"""Decided judgments of one kind as columns of signals: what a calibration is fitted on and applied to."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.sources import (
    DEFAULT_SIGNALS,
    SCALED,
    SIGNAL_GROUPS,
    AnswerSource,
    EvidenceScales,
    PairSource,
    SignalGroup,
    Source,
    group_of,
    picked,
)
from metajudge.errors import InputError
from metajudge.evidence.answers import is_row
from metajudge.evidence.confidence import stated_confidence
from metajudge.evidence.consensus import Column
from metajudge.evidence.format import length_ratio, rationale_words, response_words
from metajudge.evidence.games import GameCollector
from metajudge.evidence.rationale import rationale_agreement
from metajudge.evidence.rewards import Preference, RewardScore, margin_scales, reward_margins
from metajudge.providers.families import family_of
from metajudge.stats.arrays import Bools, Indices
from metajudge.types import (
    VERDICT_KINDS,
    AnyVerdict,
    Item,
    Judgment,
    Label,
    Pairwise,
    Ranking,
    Right,
    VerdictKind,
    default_right,
    is_right,
    kind_of,
    majority,
)

SPREAD = "~spread"
"""Ends the name of a column that contains the spread of an agent's draws instead of its score."""


@dataclass(frozen=True)
class SignalTable:
    """Decided judgments of one kind in the order of the input.

    A pair is decided where it is no tie, a ranking where it has one first place (if the rule asks for one), a grade and
    a category always.

    Attributes:
        kind: of the verdicts.
        right: the rule of what is right.
        judgment_ids: [n].
        item_ids: [n].
        questions: [n] digest of the question's text: the unit of independence.
        judges: [n].
        categories: [n]; the empty string where the item has none.
        orders: [n] the order shown, the ids put together.
        sides: [n] the answer itself: a category, a grade, the place of the response chosen; empty for pairs.
        correct: [n] whether the verdict is right by the rule; False where it has no label.
        labelled: [n] whether people's labels of the item can be compared with the verdict.
        signals: the groups of signals asked for.
        columns: signals by name, ``GROUP.NAME``; ``consensus.*`` belongs to the group peers.
        scales: what the columns took from the whole of the data.
        agent_scores: agents' scores and what they depend on, where they were given.
        left_out: reason -> how many of the judgments to report are no rows here.
    """

    kind: VerdictKind
    right: Right
    judgment_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    questions: tuple[str, ...]
    judges: tuple[str, ...]
    categories: tuple[str, ...]
    orders: tuple[str, ...]
    sides: tuple[str, ...]
    correct: Bools
    labelled: Bools
    signals: tuple[SignalGroup, ...]
    columns: Mapping[str, Column]
    scales: EvidenceScales
    agent_scores: AgentScores | None
    left_out: Mapping[str, int]
    weights: NDArray[np.float64] | None = field(default=None, kw_only=True)
    """[n] what rows count for in a fit, where they were not all equally likely to be labelled; None for all alike."""
    _source: Source = field(repr=False)
    _leave_out_kin: bool = False

    def __len__(self) -> int:
        return len(self.judgment_ids)

    @property
    def known_judges(self) -> tuple[str, ...]:
        """Every judge of the input, with rows here or not."""
        return self._source.judges

    @property
    def said(self) -> Sequence[str]:
        """[n] what each verdict says: for pairs the place, 1 or 2, of the response preferred, else the verdict."""
        return self._source.said

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
            sides=pick(self.sides),
            correct=self.correct[at],
            labelled=self.labelled[at],
            weights=None if self.weights is None else self.weights[at],
            columns=picked(self.columns, at),
            left_out={},
            _source=self._source.select(at),
        )

    def sorted(self) -> "SignalTable":
        """The rows in the order of their judgment ids: what is computed from it depends on no file's order."""
        return self.select(np.array(sorted(range(len(self)), key=self.judgment_ids.__getitem__), dtype=np.intp))

    def with_scales(self, scales: EvidenceScales) -> "SignalTable":
        """The same table with reliabilities and reward scales from elsewhere, such as a calibration."""
        fresh = self._source.scaled(self.signals, scales, self._leave_out_kin)
        kept = {name: column for name, column in self.columns.items() if group_of(name) not in SCALED}
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
        kept = {name: column for name, column in self.columns.items() if group_of(name) != group}
        return replace(self, columns=kept, signals=tuple(name for name in self.signals if name != group))

    def of_group(self, group: SignalGroup) -> dict[str, Column]:
        """The columns of one group."""
        return {name: column for name, column in self.columns.items() if group_of(name) == group}


@dataclass(frozen=True, slots=True)
class _Row:
    """A judgment to report, as long as its item's labels are not all known."""

    judgment_id: str
    item_id: str
    question: str
    judge: str
    category: str
    order: tuple[str, ...]
    verdict: AnyVerdict
    text: Mapping[str, float | None]

    @property
    def preference(self) -> Preference:
        losers = [name for name in self.order if name != self.verdict.winner and name in self.verdict.ids]
        first, others = (losers[0], tuple(losers[1:])) if losers else (None, ())
        return Preference(self.item_id, self.verdict.winner, first, others)


@dataclass(slots=True)
class _Labels:
    """What people say of each item, over all its records."""

    given: dict[str, AnyVerdict] = field(default_factory=dict)
    people: dict[str, Counter[Label]] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        if item.label is not None:
            self.given[item.id] = item.label
        if item.labels:
            # One person's label may stand in every record of the item: it counts once.
            self.people[item.id] = self.people.get(item.id, Counter()) | Counter(item.labels)

    def values_of(self, item: str) -> list[AnyVerdict]:
        """Every label of an item."""
        given = [self.given[item]] if item in self.given else []
        return given + [one.value for one in self.people.get(item, ())]

    def truths(self) -> dict[str, AnyVerdict]:
        """Item -> its label, or what most people say; items on which they disagree are left out."""
        found = {name: majority([one.value for one in labels.elements()]) for name, labels in self.people.items()}
        return {name: truth for name, truth in found.items() if truth is not None} | self.given


def build_table(
    judgments: Iterable[Judgment],
    signals: Sequence[str] | None,
    *,
    kind: VerdictKind | None = None,
    right: Right | None = None,
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
        signals: names of :data:`~metajudge.calibration.sources.SIGNAL_GROUPS`; None for those of
            :data:`~metajudge.calibration.sources.DEFAULT_SIGNALS` that the data have.
        kind: of the rows; None where all judgments to report have verdicts of one kind. Others are left out.
        right: what counts as right; None for :func:`~metajudge.types.default_right` of the rows and their labels.
        report: which judgments become rows; None for all.
        rewards: reward models' scores, for the signal ``rewards``.
        agent_scores: agents' scores, for the signal ``agents``.
        families: judge -> family. Given, peers of a judge's own family are no evidence; a judge that is not named is
            of the family its name shows (:func:`~metajudge.providers.families.family_of`). None: all other judges are
            peers, and families share one vote only where reliability is measured.

    Raises:
        InputError: an unknown signal, a signal without its data, verdicts of several kinds, a rule that does not apply
            to the kind, one id with two contents, a judgment twice.
    """
    groups = None if signals is None else _groups(signals)
    _check_given(groups or (), rewards, agent_scores)
    collector, found, left_out = GameCollector(), list[_Row](), Counter[str]()
    labels = _Labels()
    for judgment in judgments:
        wanted = report is None or report(judgment)
        verdict = judgment.verdict
        question = collector.add(judgment, row=wanted and verdict is not None)
        labels.add(judgment.item)
        if wanted and verdict is not None:
            found.append(_row(judgment, verdict, question, groups))
        elif wanted:
            left_out["no verdict"] += 1
    _check_unique([row.judgment_id for row in found])
    kind = kind or _only_kind([row.verdict for row in found])
    truths = labels.truths()
    rule = _rule(kind, right, [row for row in found if kind_of(row.verdict) == kind], labels)
    rows = [row for row in found if is_row(row.verdict, kind, rule)]
    left_out += Counter(_why_left_out(row.verdict, kind) for row in found if not is_row(row.verdict, kind, rule))
    source, reward_scales = _source(collector, rows, kind, rule, families, list(rewards or ()))
    chosen = groups or _default_groups(kind, source, rows, reward_scales)
    scales = source.scales(chosen, reward_scales if "rewards" in chosen else {})
    leave_out_kin = families is not None
    columns = source.plain(chosen) | _row_columns(chosen, rows, agent_scores)
    columns |= source.scaled(chosen, scales, leave_out_kin)
    outcomes = [None if row.item_id not in truths else is_right(row.verdict, truths[row.item_id], rule) for row in rows]
    return SignalTable(
        kind=kind,
        right=rule,
        judgment_ids=tuple(row.judgment_id for row in rows),
        item_ids=tuple(row.item_id for row in rows),
        questions=tuple(row.question for row in rows),
        judges=tuple(row.judge for row in rows),
        categories=tuple(row.category for row in rows),
        orders=tuple("".join(row.order) for row in rows),
        sides=source.sides,
        correct=np.array([bool(one) for one in outcomes], dtype=bool),
        labelled=np.array([one is not None for one in outcomes], dtype=bool),
        signals=chosen,
        columns=columns,
        scales=scales,
        agent_scores=agent_scores if "agents" in chosen else None,
        left_out=dict(sorted(left_out.items())),
        _source=source,
        _leave_out_kin=leave_out_kin,
    )


def _row(judgment: Judgment, verdict: AnyVerdict, question: str, groups: Sequence[SignalGroup] | None) -> _Row:
    text = _text_signals(judgment, DEFAULT_SIGNALS[kind_of(verdict)] if groups is None else groups)
    item = judgment.item
    return _Row(judgment.id, item.id, question, judgment.judge, item.category or "", judgment.order, verdict, text)


def _only_kind(verdicts: Sequence[AnyVerdict]) -> VerdictKind:
    counts = Counter(kind_of(verdict) for verdict in verdicts)
    if len(counts) > 1:
        each = ", ".join(f"{counts[kind]} x {kind}" for kind in VERDICT_KINDS if kind in counts)
        raise InputError(
            f"these judgments have verdicts of several kinds ({each}), which mean different things: choose one, such "
            f"as --kind {counts.most_common(1)[0][0]}, and take the others apart"
        )
    return next(iter(counts), "pairwise")


def _rule(kind: VerdictKind, given: Right | None, rows: Sequence[_Row], labels: _Labels) -> Right:
    rule = given or default_right(
        kind,
        dict.fromkeys(row.verdict for row in rows),
        dict.fromkeys(value for row in rows for value in labels.values_of(row.item_id)),
    )
    if not rule.applies(kind):
        raise InputError(
            f"the rule {rule} does not apply to verdicts of the kind {kind}: give another one with --right"
        )
    return rule


def _source(
    collector: GameCollector,
    rows: Sequence[_Row],
    kind: VerdictKind,
    rule: Right,
    families: Mapping[str, str] | None,
    scores: Sequence[RewardScore],
) -> tuple[Source, dict[str, float]]:
    """Games or answers, and the scales of reward models."""

    def kin(judge: str) -> str:
        return (families or {}).get(judge) or family_of(judge)

    margins = reward_margins(scores, [row.preference for row in rows])
    if kind == "pairwise":
        return PairSource(*collector.games(kin), margins), margin_scales(scores)
    said = tuple(str(row.verdict) for row in rows)
    return AnswerSource(*collector.answers(kind, rule, kin), margins, said), margin_scales(scores)


def _default_groups(
    kind: VerdictKind, source: Source, rows: Sequence[_Row], rewards: Mapping[str, float]
) -> tuple[SignalGroup, ...]:
    """The default signals that the rows have; all of them for pairs."""
    named = DEFAULT_SIGNALS[kind]
    if kind == "pairwise" or not rows:
        return named
    columns = source.plain(named) | _row_columns(named, rows, None)
    columns |= source.scaled(named, source.scales(named, rewards), leave_out_kin=False)
    return tuple(group for group in named if not absent_from(columns, group))


def absent_from(columns: Mapping[str, Column], group: SignalGroup) -> bool:
    """Whether no row has a value of a group of signals."""
    mine = {name: column for name, column in columns.items() if group_of(name) == group}
    if group == "order":
        return not mine or bool(mine["order.missing"].values.all())
    key = {"peers": "peers.support", "rewards": "rewards.mean"}.get(group)
    chosen = [mine[key]] if key in mine else [] if key else list(mine.values())
    return not any(column.present.any() for column in chosen)


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


def _why_left_out(verdict: AnyVerdict, kind: VerdictKind) -> str:
    return "tie" if kind_of(verdict) == kind else kind_of(verdict)


def _text_signals(judgment: Judgment, groups: Sequence[SignalGroup]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    if "confidence" in groups:
        found["confidence.stated"] = stated_confidence(judgment).value
    if "rationale" in groups:
        found["rationale.agrees"] = rationale_agreement(judgment).value
    if "format" in groups:
        words = rationale_words(judgment).value
        found["format.words"] = None if words is None else float(np.log1p(words))
        if isinstance(judgment.verdict, Pairwise | Ranking):
            found["format.length_ratio"] = length_ratio(judgment).value
        else:
            found["format.response_words"] = response_words(judgment).value
    return found


def _row_columns(groups: Sequence[SignalGroup], rows: Sequence[_Row], agents: AgentScores | None) -> dict[str, Column]:
    names = list(dict.fromkeys(name for row in rows for name in row.text if group_of(name) in groups))
    columns = {name: _column([row.text.get(name) for row in rows]) for name in names}
    if "agents" in groups and agents is not None:
        columns |= _agent_columns([row.judgment_id for row in rows], agents)
    return columns


def _agent_columns(judgment_ids: Sequence[str], agents: AgentScores) -> dict[str, Column]:
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
