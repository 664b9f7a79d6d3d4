"""The probability that a judgment is correct, by a calibration, and the decision of a guaranteed threshold on it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from metajudge.calibration.agent_scores import AgentScores, scoring_model
from metajudge.calibration.calibration import Calibration
from metajudge.calibration.domain import Mark, transfer_decides
from metajudge.calibration.predictions import MARK_SETS, Named, joined
from metajudge.calibration.row_columns import TEXT_SIGNALS
from metajudge.calibration.table import SignalTable, table_of
from metajudge.decision.interval import all_exact
from metajudge.errors import FailureKind, InputError
from metajudge.evidence.dependence import Dependence
from metajudge.evidence.facts import Facts, FactsBuilder
from metajudge.evidence.rewards import RewardScore
from metajudge.monitor.report import promise_id
from metajudge.scoring import exceeds
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.strategies import StrategyName
from metajudge.strategies.panel import Panel
from metajudge.types import (
    VERDICT_KINDS,
    Assessment,
    Failure,
    GuaranteedThreshold,
    Judgment,
    Status,
    VerdictKind,
    kind_of,
)

PLACES = 9
"""Probabilities are rounded to so many decimals."""


SHIPPED_CUT = 0.9


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


@dataclass(frozen=True, slots=True)
class Said:
    """What a calibration says of a judgment beside the number.

    Attributes:
        calibration: its digest.
        marks: notes on the probability, or why it is missing.
        calibrated: whether there is a probability.
        outside: why no guarantee covers the judgment although there are some.
        promise: of the guarantee that decides, in place of the score.
        transferred: above which probability the shipped default keeps; None for others.
    """

    calibration: str
    marks: tuple[str, ...]
    calibrated: bool
    outside: tuple[str, ...]
    promise: GuaranteedThreshold | None
    transferred: float | None = None

    def laid_on(self, assessment: Assessment, probability: float | None) -> Assessment:
        """An assessment with the probability and, where a guarantee decides, its threshold's decision."""
        update: dict[str, object] = {
            "probability": probability,
            "probability_marks": self.marks,
            "calibration": self.calibration,
            "calibrated": self.calibrated and self.transferred is None,
            "guarantee": None,
            "outside_guarantee": self.outside,
        }
        if self.promise is not None and probability is None:
            message = f"no probability to compare with the guaranteed threshold: {', '.join(self.marks)}"
            failure = Failure(kind=FailureKind.NO_EVIDENCE, message=message)
            update |= {"status": Status.UNSCORED, "accepted": None, "failure": failure}
        elif self.promise is not None and probability is not None:
            # Free evidence that could not decide is no obstacle: the probability does.
            update |= {"guarantee": self.promise, "accepted": self.promise.keeps(probability), "failure": None}
            update |= {"status": Status.ASSESSED}
        if self.transferred is not None and probability is not None:
            update |= self._transferred(assessment, probability, self.transferred)
        return assessment.model_copy(update=update)

    def _transferred(self, assessment: Assessment, probability: float, cut: float) -> dict[str, object]:
        """What a transferred probability changes: the decision only where free evidence alone decides."""
        update: dict[str, object] = {"probability_source": "transferred"}
        if assessment.strategy != StrategyName.SIGNALS or not may_decide(assessment):
            return update
        if transfer_decides(self.marks):
            update |= {"accepted": bool(exceeds(probability, cut)), "probability_threshold": cut}
            update |= {"failure": None, "status": Status.ASSESSED}
        elif Mark.NO_BETTER in self.marks:
            message = "the shipped default is no better than the base rate on such verdicts, and decides nothing"
            failure = Failure(kind=FailureKind.NO_EVIDENCE, message=message)
            update |= {"status": Status.UNSCORED, "accepted": None, "failure": failure}
        return update


@dataclass(frozen=True, slots=True, eq=False)
class SaidColumn:
    """What a calibration says of n judgments.

    Attributes:
        probabilities: [n] in [0, 1], NaN where missing.
        codes: [n] places in ``kinds``.
        kinds: what it says beside the number.
        kept: [n] whether the probability reaches the threshold of the guarantee that decides, or exceeds that of the
            panel where it is transferred; False where nothing is compared.
    """

    probabilities: Floats
    codes: Indices
    kinds: Sequence[Said]
    kept: Bools


class Probabilities:
    """P(correct) for the judgments of one input.

    Evidence (peers, the other order) is taken from all the judgments given to :meth:`build`.

    Attributes:
        digest: of the calibration, recorded with every assessment.
    """

    def __init__(
        self, calibration: Calibration, facts: Facts, table: SignalTable, *others: SignalTable, allow_other: bool
    ) -> None:
        self.calibration, self.digest = calibration, calibration.digest
        self._facts, self._allow_other = facts, allow_other
        self._cut = SHIPPED_CUT if calibration.is_shipped else None
        self._reads_agents = "agents" in calibration.identity.signals
        self._table = table if self._reads_agents else None
        tables = (table, *others)
        self._row = {name: row for row, name in enumerate(name for one in tables for name in one.judgment_ids)}
        self._crowded = calibration.crowded(table)
        self._known = None
        if not self._reads_agents and self._row:
            self._known = joined([calibration.probabilities(one, allow_other) for one in tables if len(one)])
        self._said: dict[tuple[object, ...], Said] = {}

    @classmethod
    def build(
        cls,
        calibration: Calibration,
        judgments: Iterable[Judgment],
        *,
        panels: Sequence[Panel] = (),
        wanted: Callable[[Judgment], bool] | None = None,
        rewards: Iterable[RewardScore] | None = None,
        allow_other_identity: bool = False,
        judges_must_be_known: bool = True,
    ) -> "Probabilities":
        """Collects the evidence in one pass; without agents' scores among the signals, all is known then.

        Args:
            judgments: all records of the input.
            panels: those that vet, for calibrations that read agents' scores.
            wanted: which judgments are vetted; None for all.
            rewards: reward models' scores, for calibrations that read them.
            allow_other_identity: whether judges, agents, rubrics or prompts may differ from the fit's.
            judges_must_be_known: whether an input by unknown judges alone is an error; if not, its judgments have no
                probability, as those of an unknown judge among others never have one.

        Raises:
            InputError: the calibration is for other judges, agents, rubrics or prompts, or lacks its signals.
        """
        builder = FactsBuilder(texts=not TEXT_SIGNALS.isdisjoint(calibration.identity.signals))
        vetted = list[bool]()
        for judgment in judgments:
            builder.add(judgment)
            vetted.append(wanted is None or wanted(judgment))
        return cls.of_facts(
            calibration,
            builder.facts(),
            panels=panels,
            wanted=np.array(vetted, dtype=bool),
            rewards=rewards,
            allow_other_identity=allow_other_identity,
            judges_must_be_known=judges_must_be_known,
        )

    @classmethod
    def of_facts(
        cls,
        calibration: Calibration,
        facts: Facts,
        *,
        panels: Sequence[Panel] = (),
        wanted: Bools | None = None,
        rewards: Iterable[RewardScore] | None = None,
        allow_other_identity: bool = False,
        judges_must_be_known: bool = True,
        dependence: Dependence | None = None,
    ) -> "Probabilities":
        """The same as :meth:`build` of facts that are collected already.

        Args:
            facts: of all records of the input, with texts if a signal of the calibration reads them.
            wanted: [n] which judgments are vetted; None for all.
            dependence: of the judges of a larger input; None for that of these records.
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
            dependence=dependence,
        )
        others = sorted({facts.judges[code] for code in np.unique(facts.judge[vetted & ~by_known]).tolist()})
        if judges_must_be_known and not len(table) and others:
            raise InputError(not_its_judges(calibration, others))
        return cls(calibration, facts, table, allow_other=allow_other_identity)

    def complete(self, judgment: Judgment, assessment: Assessment, broken: Collection[str] = frozenset()) -> Assessment:
        """Adds the probability and, where a guarantee covers the judgment, its threshold's decision.

        Under a guarantee ``accepted`` is the guaranteed threshold's decision, not the score's; without a probability
        the judgment is then unscored. A judgment outside the calibration's domain carries no guarantee: it keeps the
        decision of its score, like one by a judge that no guarantee covers.

        Args:
            broken: ids of promises found broken (:func:`metajudge.monitor.report.promise_id`); a judgment that one of
                them would cover is marked, and so outside the domain.
        """
        probability, marks = self._probability(judgment, assessment)
        said = self._said_of(
            judgment.judge,
            judgment.item.category,
            marks,
            probability is not None,
            may_decide(assessment),
            frozenset(broken),
        )
        return said.laid_on(assessment, probability)

    def column(
        self,
        rows: Indices,
        decidable: Bools,
        broken: Collection[str] = frozenset(),
        thresholds: Floats | None = None,
    ) -> SaidColumn:
        """What :meth:`complete` says of many judgments whose panels asked no agent.

        Args:
            rows: [n] places of the judgments in the facts.
            decidable: [n] whether a guarantee may decide on the panel's assessment (:func:`may_decide`).
            broken: see :meth:`complete`.
            thresholds: [n] of the panels, for transferred probabilities.
        """
        facts, gone = self._facts, frozenset(broken)
        places = np.array([self._row.get(facts.judgment_ids[row], -1) for row in rows.tolist()], dtype=np.intp)
        found, bits = np.full(len(rows), np.nan), np.full(len(rows), -1, dtype=np.intp)
        known, predicted = places >= 0, self._known
        if predicted is not None:
            values = np.ma.filled(predicted.probabilities, np.nan)[places[known]]
            found[known] = all_exact(values)
            bits[known] = predicted.bits[places[known]]
        given = ~np.isnan(found)
        # One number for what the rest depends on: judge, category, kind of verdict, marks, and three yes or no.
        whole = facts.judge[rows].astype(np.int64) * (len(facts.categories) + 1) + facts.category[rows] + 1
        whole = (whole * (len(VERDICT_KINDS) + 1) + facts.kind[rows] + 1) * (len(MARK_SETS) + 1) + bits + 1
        whole = ((whole * 2 + known) * 2 + given) * 2 + decidable
        _, first, codes = np.unique(whole, return_index=True, return_inverse=True)
        kinds = []
        for at, row in zip(first.tolist(), rows[first].tolist(), strict=True):
            judge, code, calibrated = facts.judges[facts.judge[row]], int(facts.category[row]), bool(given[at])
            marks = self._marks_of(judge, int(facts.kind[row]), bool(known[at]), int(bits[at]), calibrated=calibrated)
            category = None if code < 0 else facts.categories[code]
            kinds.append(self._said_of(judge, category, marks, calibrated, bool(decidable[at]), gone))
        different = Named.of(kinds)
        kinds, codes = different.names, different.codes[codes.ravel()]
        least = np.array([np.inf if one.promise is None else round(one.promise.threshold, 9) for one in kinds])
        kept = found >= least[codes] if len(kinds) else np.zeros(0, dtype=bool)
        if self._cut is not None and thresholds is not None:
            kept = np.round(np.nan_to_num(found), PLACES) > self._cut
        return SaidColumn(found, codes, kinds, kept)

    def _said_of(
        self,
        judge: str,
        category: str | None,
        marks: tuple[str, ...],
        calibrated: bool,
        decidable: bool,
        broken: frozenset[str],
    ) -> Said:
        """What is said beside the number; the only place that lays a promise on a judgment."""
        key = (judge, category, marks, calibrated, decidable, broken)
        found = self._said.get(key)
        if found is not None:
            return found
        promise = self.calibration.promise_for(judge, marks, category)
        if promise is not None and broken and promise_id(self.digest, promise.stamp()) in broken:
            promise, marks = None, (*marks, Mark.BROKEN.value)
        outside = self.calibration.outside_guarantee(judge, marks, category)
        stamp = promise.stamp() if promise is not None and decidable else None
        return self._said.setdefault(key, Said(self.digest, marks, calibrated, outside, stamp, self._cut))

    def _probability(self, judgment: Judgment, assessment: Assessment) -> tuple[float | None, tuple[str, ...]]:
        row = self._row.get(judgment.id)
        if row is None:
            kind = None if judgment.verdict is None else kind_of(judgment.verdict)
            return None, (self._why_none(judgment.judge, kind).value,)
        found, at, crowded = self._known, row, False
        if self._table is not None:
            scores = self._agent_scores(assessment)
            if scores is None:
                return None, (NoProbability.NO_AGENT_SCORES.value,)
            one = self._table.select(np.array([row])).with_agent_scores(scores)
            found, at, crowded = self.calibration.probabilities(one, self._allow_other), 0, bool(self._crowded[row])
        assert found is not None
        marks = tuple(mark.value for mark in found.marks_of(at)) + (Mark.CROWDED.value,) * crowded
        if np.ma.getmaskarray(found.probabilities)[at]:
            return None, marks or (Mark.OTHER_JUDGE.value,)
        return round(float(found.probabilities[at]), 9), marks

    def _marks_of(self, judge: str, kind: int, known: bool, bits: int, *, calibrated: bool) -> tuple[str, ...]:
        """Marks of a judgment without agents' scores, by its codes; see :meth:`_probability`."""
        if not known:
            return (self._why_none(judge, None if kind < 0 else VERDICT_KINDS[kind]).value,)
        if self._reads_agents:
            return (NoProbability.NO_AGENT_SCORES.value,)
        marks = tuple(mark.value for mark in MARK_SETS[bits])
        return marks if calibrated else marks or (Mark.OTHER_JUDGE.value,)

    def _why_none(self, judge: str, kind: VerdictKind | None) -> NoProbability:
        identity = self.calibration.identity
        if self.calibration.is_shipped:
            return NoProbability.UNDECIDED
        if not self._allow_other and judge not in identity.judges:
            return NoProbability.OTHER_JUDGE
        if kind is not None and kind != identity.kind:
            return NoProbability.OTHER_KIND
        return NoProbability.UNDECIDED

    def _agent_scores(self, assessment: Assessment) -> AgentScores | None:
        """This assessment's scores under the calibration's identity, which was compared with the panel before."""
        scores = AgentScores.from_assessments([assessment])
        if not scores.scores.get(assessment.judgment_id):
            return None
        if self._allow_other:
            return scores
        identity = self.calibration.identity
        return replace(scores, agents=identity.agents, rubrics=identity.rubrics, prompts=identity.prompts)


def _shipped(calibration: Calibration, facts: Facts, vetted: Bools) -> list[SignalTable]:
    """A table for each kind of verdicts: the shipped default is for all of them."""
    codes = np.unique(facts.kind[vetted & (facts.kind >= 0)]).tolist() or [0]
    signals = calibration.identity.signals
    return [table_of(facts, signals, kind=VERDICT_KINDS[code], report=vetted) for code in codes]


def not_its_judges(calibration: Calibration, judges: Iterable[str]) -> str:
    """What is said of an input of which no judge is one of a calibration's."""
    return (
        f"this calibration was fitted on judgments by {', '.join(calibration.identity.judges)}, and the input's are by "
        f"{', '.join(sorted(judges))}: fit one for them with `metajudge calibrate fit`"
    )


def may_decide(assessment: Assessment) -> bool:
    """Whether a guarantee may decide: on what was assessed, and on what free evidence left unscored."""
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
