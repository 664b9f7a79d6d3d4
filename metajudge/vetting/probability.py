"""The probability that a judgment is correct, by a calibration, and the decision of a guaranteed threshold on it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from metajudge.calibration.agent_scores import AgentScores, scoring_model
from metajudge.calibration.calibration import Calibration, Predictions
from metajudge.calibration.domain import Mark
from metajudge.calibration.table import SignalTable, build_table
from metajudge.errors import FailureKind, InputError
from metajudge.evidence.rewards import RewardScore
from metajudge.monitor.report import promise_id
from metajudge.stats.arrays import Bools
from metajudge.strategies.panel import Panel
from metajudge.types import Assessment, Failure, GuaranteedThreshold, Judgment, Status, kind_of


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
class Probabilities:
    """P(correct) for the judgments of one input.

    Evidence (peers, the other order) is taken from all the judgments given to :meth:`build`.

    Attributes:
        digest: of the calibration, recorded with every assessment.
    """

    calibration: Calibration
    digest: str
    _table: SignalTable | None
    _row: Mapping[str, int]
    _known: Predictions | None
    _crowded: Bools
    _allow_other: bool

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
        identity = calibration.identity
        reads_agents = "agents" in identity.signals
        if reads_agents and not allow_other_identity:
            _check_agents(calibration, panels)
        known, others = set(identity.judges), set[str]()

        def report(judgment: Judgment) -> bool:
            if wanted is not None and not wanted(judgment):
                return False
            if judgment.judge not in known and not allow_other_identity:
                others.add(judgment.judge)
                return False
            return True

        signals = [name for name in identity.signals if name != "agents"] or ["strength"]
        table = build_table(
            judgments, signals, kind=identity.kind, right=calibration.right, report=report, rewards=rewards
        )
        if judges_must_be_known and not len(table) and others:
            raise InputError(
                f"this calibration was fitted on judgments by {', '.join(identity.judges)}, and the input's are by "
                f"{', '.join(sorted(others))}: fit one for them with `metajudge calibrate fit`"
            )
        scaled = table.with_scales(calibration.scales)
        found = None if reads_agents or not len(table) else calibration.probabilities(scaled, allow_other_identity)
        rows = {name: row for row, name in enumerate(table.judgment_ids)}
        return cls(
            calibration,
            calibration.digest,
            scaled if reads_agents else None,
            rows,
            found,
            calibration.crowded(table),
            allow_other_identity,
        )

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
        promise = self.calibration.promise_for(judgment.judge, marks, judgment.item.category)
        if promise is not None and broken and promise_id(self.digest, promise.stamp()) in broken:
            promise, marks = None, (*marks, Mark.BROKEN.value)
        completed = assessment.model_copy(
            update={
                "probability": probability,
                "probability_marks": marks,
                "calibration": self.digest,
                "calibrated": probability is not None,
                "guarantee": None,
                "outside_guarantee": self.calibration.outside_guarantee(judgment.judge, marks, judgment.item.category),
            }
        )
        if promise is None or not (assessment.status is Status.ASSESSED or _left_open(assessment)):
            return completed
        return _unscored(completed) if probability is None else _decided(completed, probability, promise.stamp())

    def _probability(self, judgment: Judgment, assessment: Assessment) -> tuple[float | None, tuple[str, ...]]:
        row = self._row.get(judgment.id)
        if row is None:
            return None, (self._why_none(judgment).value,)
        found = self._known
        if self._table is not None:
            scores = self._agent_scores(assessment)
            if scores is None:
                return None, (NoProbability.NO_AGENT_SCORES.value,)
            one = self._table.select(np.array([row])).with_agent_scores(scores)
            found = self.calibration.probabilities(one, self._allow_other)
            crowded, row = self._crowded[row], 0
        else:
            crowded = False
        assert found is not None
        marks = tuple(mark.value for mark in found.marks[row]) + (Mark.CROWDED.value,) * bool(crowded)
        if np.ma.getmaskarray(found.probabilities)[row]:
            return None, marks or (Mark.OTHER_JUDGE.value,)
        return round(float(found.probabilities[row]), 9), marks

    def _why_none(self, judgment: Judgment) -> NoProbability:
        identity = self.calibration.identity
        if not self._allow_other and judgment.judge not in identity.judges:
            return NoProbability.OTHER_JUDGE
        verdict = judgment.verdict
        if verdict is not None and kind_of(verdict) != identity.kind:
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


def _decided(assessment: Assessment, probability: float, guarantee: GuaranteedThreshold) -> Assessment:
    """Free evidence that could not decide is no obstacle: the probability does."""
    update = {"guarantee": guarantee, "accepted": guarantee.keeps(probability), "failure": None}
    return assessment.model_copy(update=update | {"status": Status.ASSESSED})


def _left_open(assessment: Assessment) -> bool:
    """Whether free evidence left the judgment unscored."""
    failure = assessment.failure
    return assessment.status is Status.UNSCORED and failure is not None and failure.kind is FailureKind.NO_EVIDENCE


def _unscored(assessment: Assessment) -> Assessment:
    message = f"no probability to compare with the guaranteed threshold: {', '.join(assessment.probability_marks)}"
    failure = Failure(kind=FailureKind.NO_EVIDENCE, message=message)
    return assessment.model_copy(update={"status": Status.UNSCORED, "accepted": None, "failure": failure})


def _check_agents(calibration: Calibration, panels: Sequence[Panel]) -> None:
    """Compares agents, rubrics and prompts with those fitted on."""
    identity = calibration.identity
    agents = {
        agent.name: scoring_model(agent.model.name, agent.scoring == "expected", agent.samples)
        for panel in panels
        for agent in panel.members
    }
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
