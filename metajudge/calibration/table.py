"""Decided judgments of one kind as columns of signals: what a calibration is fitted on and applied to."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.sources import (
    DEFAULT_SIGNALS,
    GROUPS,
    SCALED,
    SIGNAL_GROUPS,
    TEXT_SIGNALS,
    AnswerSource,
    EvidenceScales,
    PairSource,
    SignalGroup,
    Source,
    agent_columns,
    group_of,
    picked,
    share_column,
    text_columns,
)
from metajudge.errors import InputError
from metajudge.evidence.answers import answers_of, is_row
from metajudge.evidence.consensus import Column
from metajudge.evidence.dependence import Dependence, dependence_of
from metajudge.evidence.games import games_of
from metajudge.evidence.grouping import Interned
from metajudge.evidence.rewards import Preference, RewardScore, margin_scales, reward_margins
from metajudge.evidence.units import QUESTION, unit_of
from metajudge.evidence.verdicts import Codes, Verdicts, collected
from metajudge.providers.families import family_of
from metajudge.stats.arrays import Bools, Indices
from metajudge.types import VERDICT_KINDS, AnyVerdict, Judgment, Right, VerdictKind, default_right

FEW = 30
"""With fewer labelled questions, a fit by itself is worth less than one added to the shipped prior."""


@dataclass(frozen=True)
class SignalTable:
    """Decided judgments of one kind in the order of the input.

    A pair is decided where it is no tie, a ranking where it has one first place (if the rule asks for one), a grade and
    a category always.

    Attributes:
        facts: of the n judgments.
        correct: [n] whether the verdict is right by the rule; False where it has no label.
        labelled: [n] whether people's labels of the item can be compared with the verdict.
        columns: signals by name, ``GROUP.NAME``; ``consensus.*`` belongs to the group peers.
        scales: what the columns took from the whole of the data.
        agent_scores: agents' scores and what they depend on, where they were given.
        left_out: reason -> how many of the judgments to report are no rows here.
        dependence: what is known of the independence of the input's judges.
    """

    kind: VerdictKind
    right: Right
    facts: Verdicts = field(repr=False)
    correct: Bools
    labelled: Bools
    signals: tuple[SignalGroup, ...]
    columns: Mapping[str, Column]
    scales: EvidenceScales
    agent_scores: AgentScores | None
    left_out: Mapping[str, int]
    weights: NDArray[np.float64] | None = field(default=None, kw_only=True)
    """[n] what rows count for in a fit, where they were not all equally likely to be labelled; None for all alike."""
    unit: str = field(default=QUESTION, kw_only=True)
    """What a cluster is."""
    dependence: Dependence = field(default_factory=Dependence, kw_only=True)
    _source: Source = field(repr=False)

    def __len__(self) -> int:
        return len(self.facts)

    @cached_property
    def judgment_ids(self) -> tuple[str, ...]:
        """[n]."""
        return tuple(self.facts.judgment_ids)

    @cached_property
    def item_ids(self) -> tuple[str, ...]:
        """[n]."""
        return tuple(self.facts.items[code].id for code in self.facts.item.tolist())

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """[n] name of the cluster: the unit of dependence (:mod:`metajudge.evidence.units`)."""
        return tuple(self.facts.items[code].question for code in self.facts.item.tolist())

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """[n]."""
        return _named(self.facts.judges, self.facts.judge)

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """[n]; the empty string where the item has none."""
        return _named([*self.facts.categories, ""], self.facts.category)

    @cached_property
    def sides(self) -> tuple[str, ...]:
        """[n] the answer itself: a category, a grade, the place of the response chosen."""
        return self._source.sides

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
        return replace(
            self,
            facts=self.facts.select(at),
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

    def by(self, unit: str) -> "SignalTable":
        """The same rows under another recipe of the unit: :data:`~metajudge.evidence.units.TEXT`, item, or question."""
        if unit == self.unit:
            return self
        items = [one._replace(question=one.asked.named(unit)) for one in self.facts.items]
        return replace(self, facts=replace(self.facts, items=items), unit=unit)

    @property
    def texts(self) -> tuple[str, ...]:
        """[n] digest of the text of the question: what earlier recipes know a row by."""
        return tuple(self.facts.items[code].text for code in self.facts.item.tolist())

    def with_scales(self, scales: EvidenceScales) -> "SignalTable":
        """The same table with reliabilities and reward scales from elsewhere, such as a calibration."""
        fresh = self._source.scaled(self.signals, scales)
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
        groups = tuple(group for group in GROUPS if group == "agents" or group in self.signals)
        columns = {**self.columns, **agent_columns(self.judgment_ids, scores)}
        return replace(self, signals=groups, columns=columns, agent_scores=scores)

    def without(self, group: SignalGroup) -> "SignalTable":
        """The same table without one group of signals."""
        kept = {name: column for name, column in self.columns.items() if group_of(name) != group}
        return replace(self, columns=kept, signals=tuple(name for name in self.signals if name != group))

    def without_absent(self) -> "tuple[SignalTable, tuple[SignalGroup, ...]]":
        """The same table without the groups that no labelled row has a value of, and these groups."""
        rows = self.select(self.labelled)
        absent = tuple(group for group in self.signals if len(rows) and absent_from(rows.columns, group))
        found = self
        for group in absent:
            found = found.without(group)
        return found, absent


def build_table(
    judgments: Iterable[Judgment],
    signals: Sequence[str] | None,
    *,
    report: Callable[[Judgment], bool] | None = None,
    **options: Any,
) -> SignalTable:
    """:func:`table_of` of judgments, read in one pass; texts are not kept.

    Args:
        report: which judgments become rows; None for all.
        options: further arguments of :func:`table_of`.
    """
    wanted = list[bool]()

    def read() -> Iterator[Judgment]:
        for one in judgments:
            wanted.append(report is None or report(one))
            yield one

    facts = collected(read(), texts=signals is None or not TEXT_SIGNALS.isdisjoint(signals))
    return table_of(facts, signals, report=np.array(wanted, dtype=bool), **options)


def table_of(
    facts: Verdicts,
    signals: Sequence[str] | None,
    *,
    kind: VerdictKind | None = None,
    right: Right | None = None,
    report: Bools | None = None,
    rewards: Iterable[RewardScore] | None = None,
    agent_scores: AgentScores | None = None,
    scales: EvidenceScales | None = None,
    dependence: Dependence | None = None,
) -> SignalTable:
    """Decided judgments and their signals.

    Evidence (peers, the other order) is computed over **all** judgments given; ``report`` chooses the rows. No signal
    sees a label. All other judges are peers; those of one family (:func:`~metajudge.providers.families.family_of`)
    share one vote only where reliability is measured.

    Args:
        signals: names of :data:`~metajudge.calibration.sources.SIGNAL_GROUPS`; None for those of
            :data:`~metajudge.calibration.sources.DEFAULT_SIGNALS` that the data have, with the share of peers that
            agree where fewer than :data:`FEW` questions have a label: it is what a prior reads.
        kind: of the rows; None where all judgments to report have verdicts of one kind. Others are left out.
        right: what counts as right; None for :func:`~metajudge.types.default_right` of the rows and their labels.
        report: [n] which judgments become rows; None for all.
        rewards: reward models' scores, for the signal ``rewards``.
        agent_scores: agents' scores, for the signal ``agents``.
        scales: reliabilities and scales from elsewhere, such as a calibration; None to take them from these records.
        dependence: of the judges of a larger input; None for that of these records.

    Raises:
        InputError: an unknown signal, a signal without its data, verdicts of several kinds, a rule that does not apply
            to the kind, one id with two contents, a judgment twice.
    """
    groups = None if signals is None else _groups(signals)
    _check_given(groups or (), rewards, agent_scores)
    facts.refuse_conflicts()
    wanted = np.ones(len(facts), dtype=bool) if report is None else report
    found = np.flatnonzero(wanted & (facts.verdict >= 0))
    _check_unique([facts.judgment_ids[row] for row in found.tolist()])
    kind = kind or _only_kind(facts, found)
    rule = _rule(kind, right, facts, found)
    decided = np.array([is_row(verdict, kind, rule) for verdict in facts.verdicts], dtype=bool)
    is_decided = decided[facts.verdict[found]] if len(decided) else np.zeros(0, dtype=bool)
    rows, others = found[is_decided], found[~is_decided]
    left_out = Counter("tie" if name == kind else name for name in _kinds(facts, others))
    left_out["no verdict"] = int(wanted.sum()) - len(found)
    scores = list(rewards or ())
    source, reward_scales = _source(facts, rows, kind, rule, scores)
    texts = text_columns(groups or DEFAULT_SIGNALS[kind], facts, rows)
    chosen = groups or _default_groups(kind, source, texts, reward_scales)
    correct, labelled = _outcomes(facts, rows, rule)
    if groups is None and 0 < len({facts.items[code].question for code in facts.item[rows[labelled]].tolist()}) < FEW:
        chosen = (*chosen, "share")
    scales = scales or source.scales(chosen, reward_scales if "rewards" in chosen else {})
    columns = source.plain(chosen) | {name: one for name, one in texts.items() if group_of(name) in chosen}
    if "share" in chosen:
        columns |= share_column(facts, rows, rule)
    if "agents" in chosen and agent_scores is not None:
        columns |= agent_columns([facts.judgment_ids[row] for row in rows.tolist()], agent_scores)
    columns |= source.scaled(chosen, scales)
    return SignalTable(
        kind=kind,
        right=rule,
        facts=facts.select(rows),
        unit=unit_of(facts.asked),
        correct=correct,
        labelled=labelled,
        signals=chosen,
        columns=columns,
        scales=scales,
        agent_scores=agent_scores if "agents" in chosen else None,
        left_out=dict(sorted((+left_out).items())),
        dependence=dependence_of(facts, facts.rules(rule)) if dependence is None else dependence,
        _source=source,
    )


def _named(names: Sequence[str], codes: Codes) -> tuple[str, ...]:
    return tuple(map(names.__getitem__, codes.tolist()))


def _outcomes(facts: Verdicts, rows: Indices, rule: Right) -> tuple[Bools, Bools]:
    """[n] whether each row is right, and whether its label can be compared with it."""
    known = Interned[AnyVerdict]()
    truth = np.array([known.optional(item.truth) for item in facts.items], dtype=np.int64)[facts.item[rows]]
    right = np.full(len(rows), np.nan)
    there = np.flatnonzero(truth >= 0)
    right[there] = facts.agree(rule, rows[there], truth[there], known.values)
    return right == 1, ~np.isnan(right)


def _kinds(facts: Verdicts, rows: Indices) -> list[VerdictKind]:
    return [VERDICT_KINDS[code] for code in facts.kind[rows].tolist()]


def _only_kind(facts: Verdicts, rows: Indices) -> VerdictKind:
    counts = Counter(_kinds(facts, rows))
    if len(counts) > 1:
        each = ", ".join(f"{counts[kind]} x {kind}" for kind in VERDICT_KINDS if kind in counts)
        raise InputError(
            f"these judgments have verdicts of several kinds ({each}), which mean different things: choose one, such "
            f"as --kind {counts.most_common(1)[0][0]}, and take the others apart"
        )
    return next(iter(counts), "pairwise")


def _rule(kind: VerdictKind, given: Right | None, facts: Verdicts, found: Indices) -> Right:
    rows = found[facts.kind[found] == VERDICT_KINDS.index(kind)]
    rule = given or default_right(
        kind,
        [facts.verdicts[code] for code in np.unique(facts.verdict[rows]).tolist()],
        [value for code in np.unique(facts.item[rows]).tolist() for value in facts.items[code].answers],
    )
    if not rule.applies(kind):
        raise InputError(
            f"the rule {rule} does not apply to verdicts of the kind {kind}: give another one with --right"
        )
    return rule


def _source(
    facts: Verdicts, rows: Indices, kind: VerdictKind, rule: Right, scores: Sequence[RewardScore]
) -> tuple[Source, dict[str, float]]:
    """Games or answers, and the scales of reward models."""
    margins = reward_margins(scores, [_preference(facts, row) for row in rows.tolist()] if scores else ())
    if kind == "pairwise":
        return PairSource(*games_of(facts, rows, family_of), margins), margin_scales(scores)
    said = _named([str(verdict) for verdict in facts.verdicts], facts.verdict[rows])
    answers, places = answers_of(facts, kind, rule)
    return AnswerSource(answers, places[rows], margins, said), margin_scales(scores)


def _preference(facts: Verdicts, row: int) -> Preference:
    verdict, item = facts.verdicts[facts.verdict[row]], facts.items[facts.item[row]].id
    losers = tuple(one for one in facts.orders[facts.order[row]] if one != verdict.winner and one in verdict.ids)
    return Preference(item, verdict.winner, losers)


def _default_groups(
    kind: VerdictKind, source: Source, texts: Mapping[str, Column], rewards: Mapping[str, float]
) -> tuple[SignalGroup, ...]:
    """The default signals that the rows have; all of them for pairs."""
    named = DEFAULT_SIGNALS[kind]
    if kind == "pairwise" or not source.said:
        return named
    columns = source.plain(named) | dict(texts)
    columns |= source.scaled(named, source.scales(named, rewards))
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
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        raise InputError(f"no such signal: {', '.join(map(repr, unknown))}; there are {', '.join(SIGNAL_GROUPS)}")
    if not names:
        raise InputError(f"no signal is named; there are {', '.join(SIGNAL_GROUPS)}")
    return tuple(group for group in GROUPS if group in names)


def _check_given(groups: Sequence[str], rewards: object, agent_scores: object) -> None:
    if "rewards" in groups and rewards is None:
        raise InputError("the signal rewards needs reward models' scores: a file reward_scores.jsonl beside the data")
    if "agents" in groups and agent_scores is None:
        raise InputError("the signal agents needs agents' scores: give --agent-scores with assessments of these data")


def _check_unique(ids: Sequence[str]) -> None:
    if len(set(ids)) < len(ids):
        twice = next(name for name, count in Counter(ids).items() if count > 1)
        raise InputError(f"judgment {twice!r} appears twice: give each judgment its own id")
