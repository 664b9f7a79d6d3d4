"""The probability that a judgment is correct, by a calibration, and the decision of a guaranteed threshold on it."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from metajudge.calibration.agent_scores import AgentScores, scoring_model
from metajudge.calibration.calibration import Calibration
from metajudge.calibration.domain import Mark
from metajudge.calibration.predictions import MARK_SETS, Named, Predictions, joined
from metajudge.calibration.table import SignalTable, table_of
from metajudge.decision.bands import all_exact
from metajudge.errors import FailureKind, InputError
from metajudge.evidence.rewards import RewardScore
from metajudge.evidence.verdicts import Verdicts
from metajudge.monitor.report import promise_id
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.strategies.panel import Panel
from metajudge.strategies.rule import Rule, calibrated_rule, decided, own_rule, undecided
from metajudge.types import VERDICT_KINDS, Assessment, Failure, GuaranteedThreshold, Status


class NoProbability(StrEnum):
    """Why a judgment has no probability."""

    UNDECIDED = "undecided_verdict"
    """No verdict, a tie, or a ranking that shares its first place: a calibration covers decided verdicts."""
    OTHER_KIND = "other_kind"
    """The verdict is of another kind than those the calibration was fitted on."""
    OTHER_JUDGE = "other_judge"
    """The calibration was not fitted on this judge's judgments."""
    NO_AGENT_SCORES = "no_agent_scores"
    """It needs agents' scores, and no agent gave one."""


_WITHOUT: dict[str, str] = {
    NoProbability.UNDECIDED: "a tie, or a verdict without a winner",
    NoProbability.OTHER_KIND: "a verdict of another kind",
    NoProbability.OTHER_JUDGE: "a judge that it was not fitted on",
    NoProbability.NO_AGENT_SCORES: "no agent gave a score",
}
_ASKED = {Mark.NO_BETTER.value, Mark.UNTESTED.value}
"""Marks of a transferred probability that decides nothing."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a calibration says of a judgment beside the number.

    Attributes:
        calibration: its digest.
        marks: notes on the probability, or why it is missing.
        outside: why no guarantee covers the judgment although there are some.
        transferred: whether the probability is the shipped default's.
    """

    calibration: str
    marks: tuple[str, ...]
    calibrated: bool
    outside: tuple[str, ...]
    promise: GuaranteedThreshold | None
    transferred: bool = False

    def rule(self, panel: Panel, *, policy: bool) -> Rule:
        """What decides on the judgment."""
        own = own_rule(panel.threshold, typed=panel.threshold_typed)
        promised = None if self.promise is None else self.promise.threshold
        return calibrated_rule(own, policy=policy, cut=panel.cut, promised=promised)

    def bounds(self, panel: Panel, *, policy: bool) -> tuple[float, float]:
        """The cut and the promise's threshold that a probability is compared with, rounded to 1e-9; NaN for none."""
        rule = self.rule(panel, policy=policy)
        cut = rule.cut if rule.by == "probability" else None
        promised = None if self.promise is None else self.promise.threshold
        low, high = (math.nan if one is None else round(one, 9) for one in (cut, promised))
        return low, high

    def laid_on(
        self, assessment: Assessment, probability: float | None, panel: Panel, *, policy: bool = False
    ) -> Assessment:
        """An assessment with the probability and, where that decides, its decision; see :meth:`rule`."""
        known = probability is not None and may_decide(assessment)
        stamped = known and self.promise is not None and self.promise.keeps(probability or 0.0)
        update: dict[str, object] = {
            "probability": probability,
            "probability_marks": self.marks,
            "calibration": self.calibration,
            "calibrated": self.calibrated and not self.transferred,
            "probability_source": "transferred" if self.transferred and probability is not None else None,
            "guarantee": self.promise if stamped else None,
            "outside_guarantee": self.outside,
        }
        rule = self.rule(panel, policy=policy)
        if rule.by == "probability" and may_decide(assessment):
            if probability is None or (self.transferred and not _ASKED.isdisjoint(self.marks)):
                failure = Failure(kind=FailureKind.NO_EVIDENCE, message=_why_undecided(self.marks))
                update |= {"status": Status.UNSCORED, "failure": failure, **undecided()}
            else:  # free evidence that could not decide is no obstacle
                update |= decided(rule, kept=bool(rule.keeps(probability)))
        elif rule.by == "score" and assessment.accepted is not None:
            update |= decided(rule, kept=assessment.accepted)
        return assessment.model_copy(update=update)


def _why_undecided(marks: Sequence[str]) -> str:
    if not _ASKED.isdisjoint(marks):
        return f"the shipped default is not known to tell right from wrong on such verdicts: {', '.join(marks)}"
    why = ", ".join(_WITHOUT.get(mark, mark) for mark in marks)
    return f"the calibration gives no probability of being right: {why}"


@dataclass(frozen=True, slots=True, eq=False)
class SaidColumn:
    """What a calibration says of n judgments.

    Attributes:
        probabilities: [n] in [0, 1], NaN where missing.
        codes: [n] places in ``kinds``.
    """

    probabilities: Floats
    codes: Indices
    kinds: Sequence[Said]


class Probabilities:
    """P(correct) for the judgments of one input.

    Evidence (peers, the other order) is taken from all of its judgments.
    """

    def __init__(
        self, calibration: Calibration, facts: Verdicts, table: SignalTable, *others: SignalTable, allow_other: bool
    ) -> None:
        self.calibration, self.digest = calibration, calibration.digest
        self._facts, self._allow_other = facts, allow_other
        self._table = table if "agents" in calibration.identity.signals else None
        tables = (table, *others)
        self._row = {name: row for row, name in enumerate(name for one in tables for name in one.judgment_ids)}
        self._crowded = calibration.crowded(table)
        self._known = None
        if self._table is None and self._row:
            self._known = joined([calibration.probabilities(one, allow_other) for one in tables if len(one)])
        self._said: dict[tuple[object, ...], Said] = {}

    @classmethod
    def of_facts(
        cls,
        calibration: Calibration,
        facts: Verdicts,
        *,
        panels: Sequence[Panel] = (),
        wanted: Bools | None = None,
        rewards: Iterable[RewardScore] | None = None,
        allow_other_identity: bool = False,
        judges_must_be_known: bool = True,
    ) -> "Probabilities":
        """Of the records of an input; without agents' scores among the signals, all is known then.

        Args:
            facts: of all records of the input, with texts if a signal of the calibration reads them.
            wanted: [n] which judgments are vetted; None for all.
            allow_other_identity: whether judges, agents, rubrics or prompts may differ from the fit's.
            judges_must_be_known: whether an input by unknown judges alone is an error; if not, its judgments have no
                probability, as those of an unknown judge among others never have one.

        Raises:
            InputError: the calibration is for other judges, agents, rubrics or prompts, or lacks its signals.
        """
        identity = calibration.identity
        if "agents" in identity.signals and not allow_other_identity:
            _check_agents(calibration, panels)
        vetted = np.ones(len(facts), dtype=bool) if wanted is None else wanted
        if calibration.is_shipped:
            return cls(calibration, facts, *_shipped(calibration, facts, vetted), allow_other=True)
        known = np.array([name in identity.judges or allow_other_identity for name in facts.judges], dtype=bool)
        by_known = known[facts.judge] if len(known) else vetted
        signals = [name for name in identity.signals if name != "agents"] or ["strength"]
        table = table_of(
            facts,
            signals,
            kind=identity.kind,
            right=calibration.right,
            report=vetted & by_known,
            rewards=rewards,
            scales=calibration.scales,
        )
        others = sorted({facts.judges[code] for code in np.unique(facts.judge[vetted & ~by_known]).tolist()})
        if judges_must_be_known and not len(table) and others:
            raise InputError(
                f"this calibration was fitted on judgments by {', '.join(identity.judges)}, and the input's are by "
                f"{', '.join(others)}: fit one for them with `metajudge calibrate fit`"
            )
        return cls(calibration, facts, table, allow_other=allow_other_identity)

    def of_rows(self, rows: Indices) -> "Probabilities":
        """What is said of chosen rows alone, which are numbered anew."""
        part, known = copy(self), self._known
        part._facts = facts = self._facts.of_items(rows)
        names = [name for name in facts.judgment_ids if name in self._row]
        places = np.array([self._row[name] for name in names], dtype=np.intp)
        part._row = {name: at for at, name in enumerate(names)}
        if self._table is not None:
            part._table, part._crowded = self._table.select(places), self._crowded[places]
        part._known = None if known is None else Predictions(known.probabilities[places], known.bits[places])
        return part

    def column(self, rows: Indices, broken: Collection[str], by: Sequence[Assessment]) -> SaidColumn:
        """The probabilities, the promises that cover the judgments, and marks.

        A judgment outside the calibration's domain carries no promise; the probability that it has decides all the
        same, by the default cut.

        Args:
            rows: [n] places of the judgments in the facts.
            broken: ids of promises found broken (:func:`metajudge.monitor.report.promise_id`); a judgment that one of
                them would cover is marked, and so outside the domain.
            by: [n] the panels' assessments, of which agents' scores are read.
        """
        facts, gone = self._facts, frozenset(broken)
        if self._table is not None:
            return self._by_agents(self._table, rows, gone, by)
        places = np.array([self._row.get(facts.judgment_ids[row], -1) for row in rows.tolist()], dtype=np.intp)
        found, bits = np.full(len(rows), np.nan), np.full(len(rows), -1, dtype=np.intp)
        known, predicted = places >= 0, self._known
        if predicted is not None:
            values = np.ma.filled(predicted.probabilities, np.nan)[places[known]]
            found[known] = all_exact(values)
            bits[known] = predicted.bits[places[known]]
        given = ~np.isnan(found)
        # One number for what the rest depends on: judge, category, kind of verdict, marks, and two yes or no.
        whole = facts.judge[rows].astype(np.int64) * (len(facts.categories) + 1) + facts.category[rows] + 1
        whole = (whole * (len(VERDICT_KINDS) + 1) + facts.kind[rows] + 1) * (len(MARK_SETS) + 1) + bits + 1
        whole = (whole * 2 + known) * 2 + given
        _, first, codes = np.unique(whole, return_index=True, return_inverse=True)
        kinds = []
        for at, row in zip(first.tolist(), rows[first].tolist(), strict=True):
            marks = tuple(mark.value for mark in MARK_SETS[int(bits[at])]) if known[at] else self._why_none(row)
            if not given[at]:
                marks = marks or (Mark.OTHER_JUDGE.value,)
            kinds.append(self._said_of(row, marks, bool(given[at]), gone))
        different = Named.of(kinds)
        return SaidColumn(found, different.codes[codes.ravel()], different.names)

    def _said_of(self, row: int, marks: tuple[str, ...], calibrated: bool, broken: frozenset[str]) -> Said:
        """What is said beside the number; the only place that lays a promise on a judgment."""
        facts, code = self._facts, int(self._facts.category[row])
        judge, category = facts.judges[facts.judge[row]], None if code < 0 else facts.categories[code]
        key = (judge, category, marks, calibrated, broken)
        found = self._said.get(key)
        if found is not None:
            return found
        promise = self.calibration.promise_for(judge, marks, category)
        if promise is not None and broken and promise_id(self.digest, promise.stamp()) in broken:
            promise, marks = None, (*marks, Mark.BROKEN.value)
        outside = self.calibration.outside_guarantee(judge, marks, category)
        stamp = None if promise is None else promise.stamp()
        shipped = self.calibration.is_shipped
        return self._said.setdefault(key, Said(self.digest, marks, calibrated, outside, stamp, shipped))

    def _by_agents(
        self, table: SignalTable, rows: Indices, broken: frozenset[str], found: Sequence[Assessment]
    ) -> SaidColumn:
        """The same where the calibration reads agents' scores."""
        numbers, kinds = list[float](), list[Said]()
        for row, assessment in zip(rows.tolist(), found, strict=True):
            probability, marks = self._probability(table, row, assessment)
            kinds.append(self._said_of(row, marks, probability is not None, broken))
            numbers.append(math.nan if probability is None else probability)
        different = Named.of(kinds)
        return SaidColumn(np.array(numbers), different.codes, different.names)

    def _probability(
        self, table: SignalTable, row: int, assessment: Assessment
    ) -> tuple[float | None, tuple[str, ...]]:
        place = self._row.get(self._facts.judgment_ids[row])
        if place is None:
            return None, self._why_none(row)
        scores = self._agent_scores(assessment, self._facts.judgment_ids[row])
        if scores is None:
            return None, (NoProbability.NO_AGENT_SCORES.value,)
        one = table.select(np.array([place])).with_agent_scores(scores)
        found = self.calibration.probabilities(one, self._allow_other)
        marks = tuple(mark.value for mark in found.marks_of(0)) + (Mark.CROWDED.value,) * bool(self._crowded[place])
        if np.ma.getmaskarray(found.probabilities)[0]:
            return None, marks or (Mark.OTHER_JUDGE.value,)
        return round(float(found.probabilities[0]), 9), marks

    def _why_none(self, row: int) -> tuple[str, ...]:
        """The mark of a judgment that is in no table."""
        facts, identity, why = self._facts, self.calibration.identity, NoProbability.UNDECIDED
        kind = int(facts.kind[row])
        if not self.calibration.is_shipped:
            if not self._allow_other and facts.judges[facts.judge[row]] not in identity.judges:
                why = NoProbability.OTHER_JUDGE
            elif kind >= 0 and VERDICT_KINDS[kind] != identity.kind:
                why = NoProbability.OTHER_KIND
        return (why.value,)

    def _agent_scores(self, assessment: Assessment, name: str) -> AgentScores | None:
        """This assessment's scores under the calibration's identity, which was compared with the panel before."""
        scores = AgentScores.from_assessments([assessment])
        if not scores.scores.get(name):
            return None
        if self._allow_other:
            return scores
        identity = self.calibration.identity
        return replace(scores, agents=identity.agents, rubrics=identity.rubrics, prompts=identity.prompts)


def _shipped(calibration: Calibration, facts: Verdicts, vetted: Bools) -> list[SignalTable]:
    """A table for each kind of verdicts: the shipped default is for all of them."""
    codes = np.unique(facts.kind[vetted & (facts.kind >= 0)]).tolist() or [0]
    signals = calibration.identity.signals
    return [table_of(facts, signals, kind=VERDICT_KINDS[code], report=vetted) for code in codes]


def may_decide(assessment: Assessment) -> bool:
    """Whether a probability may decide: on what was assessed, and on what free evidence left unscored."""
    failure = assessment.failure
    left_open = assessment.status is Status.UNSCORED and failure is not None and failure.kind is FailureKind.NO_EVIDENCE
    return assessment.status is Status.ASSESSED or left_open


def _check_agents(calibration: Calibration, panels: Sequence[Panel]) -> None:
    """Compares agents, rubrics and prompts with those fitted on."""
    identity = calibration.identity
    agents = {agent.name: scoring_model(agent.model.name, agent.samples) for panel in panels for agent in panel.members}
    rubrics = {panel.rubric_digest for panel in panels} - {None}
    prompts = {panel.prompt_digest for panel in panels} - {None}
    problems = []
    if agents != identity.agents:
        problems.append(f"its agents are {_listed(identity.agents)}, here {_listed(agents)}")
    if not rubrics <= set(identity.rubrics):
        problems.append("its agents used another rubric")
    if not prompts <= set(identity.prompts):
        problems.append("its agents were asked with other prompts (perhaps of another prompt_version)")
    if problems:
        raise InputError(
            f"this calibration was fitted for other settings: {'; '.join(problems)}. Vet with the agents of the fit, "
            "fit one for these with `metajudge calibrate fit --signals ...,agents --agent-scores FILE`, or allow "
            "another identity explicitly"
        )


def _listed(agents: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({model})" for name, model in sorted(agents.items())) or "none"
