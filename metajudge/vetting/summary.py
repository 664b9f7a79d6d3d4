"""What a run over many judgments came to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from pydantic import TypeAdapter

from metajudge.calibration.domain import BELOW, NOT_COVERED, Mark
from metajudge.errors import FailureKind
from metajudge.evidence.counting import Counted
from metajudge.evidence.dependence import Dependence, JudgesTogether
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.totals import RunTotals
from metajudge.strategies.rule import rule_of
from metajudge.types import Assessment, Status
from metajudge.types.frozen import Frozen
from metajudge.vetting.explanation import Gathered, Reason, explain

if TYPE_CHECKING:  # a run by agents alone has no use for them
    from metajudge.evidence.rules import Rules
    from metajudge.vetting.annotating import Block


class ReadFirst(Frozen):
    """A judgment to read: what was not kept, and why.

    Attributes:
        verdict: as it is written; None where there is none.
        probability: of being right; None without one.
        why: the evidence in words.
    """

    judgment_id: str
    judge: str
    verdict: str | None
    probability: float | None
    action: str
    why: tuple[str, ...]

    def line(self) -> str:
        """The judgment in a line."""
        p = "" if self.probability is None else f"P {self.probability:.2f}  "
        return f"{p}{self.judgment_id} by {self.judge}: {self.verdict or 'no verdict'}; {'; '.join(self.why)}"


@dataclass(slots=True, kw_only=True)
class VetSummary(RunTotals):
    """Counts of one run, results taken over from an earlier one included.

    Attributes:
        judgments: judgments that reached a result; what a budget or an interruption left is not counted.
        reused: assessments found in the store, for which nothing was asked.
        results_known: of assessments by free evidence, those that the store had already, with the same evidence; the
            others are appended.
        assessed, unscored, failed, no_verdict: how they ended; without a verdict nothing failed.
        accepted, rejected: of the assessed ones, by the rule that decides.
        decided_by: how many judgments each rule decided on, by the rule with its cut in words.
        under_guarantee: judgments that a promise covers; ``kept_under_guarantee`` of them are kept and reach its
            threshold.
        kept_without_guarantee: where there is a guarantee, the other kept ones by reason: a mark that puts them
            outside the calibration's domain, ``judge_not_covered``, or ``below_promise``.
        judges_without_guarantee: how many of these by the judges that no guarantee covers.
        without_rationale: judgments whose judge gave no reasons, of which criteria that judge a rationale were left out
            by rule; ``not_applicable`` counts the judgments by criterion left out.
        without_analysis: agents' replies that were used although the analysis asked for was not in them.
        mended: agents' replies that were read after mending what needs no guess.
        outside_guarantee: all judgments that no stamp covers although there is a guarantee, kept or not, by reason (a
            judgment with several marks is counted under each).
        without_evidence: of the unscored ones, those without evidence although no call failed.
        transferred: whether that calibration is the shipped default.
        fitted: how P was fitted to the labels of the input; None where it was not. ``limits``: what more labels of it
            could promise.
        found: what the input holds, a sentence each; ``alone``: whether it is one judge's, in one order.
        lower_cuts: cut in P -> what it would keep, and how many of these are right, where the default keeps few.
        read_first: what people should read first, the most doubtful one first.
        calibrated: whether a calibration was applied; ``with_probability`` counts what it could speak about,
            ``probability_marks`` remarks on these or the reason they are missing, and ``guarantees`` says what
            a guaranteed threshold in it promises; :meth:`to_json` leaves them out where no judgment is covered.
        policy: the policy that decided, with its digest; None for none. ``decisions`` counts its actions.
        reviews: reviews that were queued for people and were not there before.
        failures: unscored and failed judgments by kind, ``unscored_failures`` the unscored of them; ``agent_failures``:
            single agents' failures by kind.
        rules: kind of verdict -> what counts as right, where verdicts were compared by free evidence.
        judges_together: by kind of answers, judges of which some are not independent, or of which it cannot be told.
        judges_not_compared: why nothing is known of that; None where it was looked at.
        gathered: what explains the outcome; :attr:`reasons` puts it into words.
    """

    NOUN: ClassVar[str] = "judgments"
    LOST: ClassVar[str] = "without a score"
    DONE: ClassVar[tuple[str, ...]] = ("judgments",)
    MISSING: ClassVar[tuple[str, ...]] = ("unscored", "failed", "no_verdict")
    HIDDEN: ClassVar[frozenset[str]] = frozenset({"gathered", "accepted", "rejected"})

    judgments: int = 0
    assessed: int = 0
    unscored: int = 0
    failed: int = 0
    no_verdict: int = 0
    results_known: int = 0
    accepted: int = 0
    rejected: int = 0
    decided_by: Counter[str] = field(default_factory=Counter)
    under_guarantee: int = 0
    kept_under_guarantee: int = 0
    kept_without_guarantee: Counter[str] = field(default_factory=Counter)
    judges_without_guarantee: Counter[str] = field(default_factory=Counter)
    without_rationale: int = 0
    not_applicable: Counter[str] = field(default_factory=Counter)
    without_analysis: int = 0
    mended: int = 0
    outside_guarantee: Counter[str] = field(default_factory=Counter)
    without_evidence: int = 0
    renormalised: int = 0
    reused: int = 0
    duplicates: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    unscored_failures: Counter[str] = field(default_factory=Counter)
    agent_failures: Counter[str] = field(default_factory=Counter)
    calibrated: bool = False
    transferred: bool = False
    fitted: str | None = None
    limits: str | None = None
    found: list[str] = field(default_factory=list)
    alone: bool = False
    lower_cuts: dict[str, Counted] = field(default_factory=dict)
    read_first: list[ReadFirst] = field(default_factory=list)
    with_probability: int = 0
    probability_marks: Counter[str] = field(default_factory=Counter)
    reviews: int = 0
    guarantees: list[str] = field(default_factory=list)
    policy: str | None = None
    decisions: Counter[str] = field(default_factory=Counter)
    rules: dict[str, str] = field(default_factory=dict)
    judges_together: list[JudgesTogether] = field(default_factory=list)
    judges_not_compared: str | None = None
    gathered: Gathered = field(default_factory=Gathered)

    def add(self, assessment: Assessment, reused: bool) -> None:
        """Counts one assessment."""
        self.reused += reused
        self.count(assessment)
        for result in assessment.agents:
            if result.failure is not None:
                self.agent_failures[result.failure.kind.value] += 1
        self._count_forms(assessment)
        if not reused:
            self.cached_calls += assessment.cached_calls

    def count(self, assessment: Assessment, times: int = 1) -> None:
        """Counts what an assessment came to, for as many as are like it; agents apart."""
        self.gathered.add(assessment, times)
        self.judgments += times
        rule, kept = rule_of(assessment), assessment.kept
        if rule is not None:
            self.decided_by[str(rule)] += times
        match assessment.status:
            case Status.ASSESSED:
                self.assessed += times
                self.accepted += times * (kept is True)
                self.rejected += times * (kept is False)
                self.renormalised += times * assessment.renormalised
                if kept and self.guarantees:
                    self._count_kept(assessment, times)
            case Status.UNSCORED:
                self.unscored += times
                self.without_evidence += times * _no_agent_failed(assessment)
            case Status.FAILED:
                silent = assessment.failure is not None and assessment.failure.kind is FailureKind.NO_VERDICT
                self.no_verdict += times * silent
                self.failed += times * (not silent)
        inside = bool(self.guarantees) and assessment.probability is not None and not assessment.outside_guarantee
        self.under_guarantee += times * (inside or assessment.guarantee is not None)
        self.outside_guarantee.update(dict.fromkeys(assessment.outside_guarantee, times))
        self.with_probability += times * (assessment.probability is not None)
        self.probability_marks.update(dict.fromkeys(assessment.probability_marks, times))
        if assessment.decision is not None:
            self.decisions[assessment.decision.action.value] += times
        if assessment.failure is not None:
            self.failures[assessment.failure.kind.value] += times
            if assessment.status is Status.UNSCORED:
                self.unscored_failures[assessment.failure.kind.value] += times

    def count_block(self, block: "Block", alike: Sequence[tuple[Assessment, int]]) -> None:
        """Counts the results of a block.

        Args:
            alike: those by free evidence: an assessment, and how many are like it.
        """
        if block.reused:
            for assessment, reused in zip(block.assessments, block.reused, strict=True):
                self.add(assessment, reused)
            return
        for assessment, times in alike:
            self.count(assessment, times)
        self.results_known += block.known
        numbers = block.said.probabilities[~np.isnan(block.said.probabilities)]
        if len(numbers):
            self.gathered.best_probability = max(float(numbers.max()), self.gathered.best_probability or 0.0)

    def describe_evidence(self, rules: "Rules", dependence: Dependence) -> None:
        """Notes by which rules verdicts are compared, and which judges are not independent."""
        self.judges_together = [group for group in dependence.groups if group.pairs]
        self.judges_not_compared = dependence.not_compared
        self.rules = {kind: str(rules.of(kind)) for kind in sorted(rules.kinds)}

    def _count_forms(self, assessment: Assessment) -> None:
        """Counts what was left out by rule, and what agents left out of their replies."""
        self.without_rationale += bool(assessment.not_applicable)
        self.not_applicable.update(assessment.not_applicable)
        replies = [reply for result in assessment.members for reply in result.replies]
        self.without_analysis += sum(reply.analysis_missing for reply in replies)
        self.mended += sum(reply.mended for reply in replies)

    def _count_kept(self, assessment: Assessment, times: int) -> None:
        """Counts a kept judgment by what kept it: what no guarantee covers must not pass for guaranteed."""
        if assessment.guarantee is not None:
            self.kept_under_guarantee += times
            return
        outside = assessment.outside_guarantee
        reason = next((mark for mark in outside if mark != Mark.OTHER_JUDGE), NOT_COVERED if outside else BELOW)
        self.kept_without_guarantee[reason] += times
        if reason == NOT_COVERED:
            self.judges_without_guarantee[assessment.judge] += times

    @property
    def counts(self) -> RunCounts:
        """What the exit code depends on."""
        return RunCounts(
            end=self.end,
            done=self.judgments,
            failed=self.unscored + self.failed - self.without_evidence + self.undelivered,
            without_verdict=self.no_verdict,
            bad_lines=self.bad_lines,
        )

    @property
    def kept(self) -> int:
        """Judgments kept by the rule that decides; see ``decided_by``."""
        return self.accepted

    @property
    def discarded(self) -> int:
        """Judgments that the rule discards."""
        return self.rejected

    @property
    def asked(self) -> int:
        """Assessed judgments that people are to decide."""
        return self.assessed - self.accepted - self.rejected

    @property
    def reasons(self) -> list[Reason]:
        """Why nothing was kept or judgments have no score; see :func:`metajudge.vetting.explanation.explain`."""
        return explain(self.gathered)

    @property
    def taken_over(self) -> int:
        return self.reused

    def to_json(self) -> dict[str, Any]:
        """See :meth:`RunTotals.to_json`; ``reasons`` explains the outcome."""
        covered = self.guarantees if self.under_guarantee else []
        totals = RunTotals.to_json(self)
        if not self.mended:
            del totals["mended"]
        return {
            "version": 1,
            **totals,
            "kept": self.kept,
            "discarded": self.discarded,
            "guarantees": covered,
            "lower_cuts": {cut: row.to_json() for cut, row in self.lower_cuts.items()},
            "read_first": [one.model_dump(mode="json") for one in self.read_first],
            "reasons": [asdict(reason) for reason in self.reasons],
        }


def outcomes_in(summary: Mapping[str, Any]) -> dict[str, int]:
    """What became of a run's judgments by its stored summary: kept, discarded, asked, no_verdict, failed.

    ``asked`` includes the last two. Summaries of 0.1 name kept and discarded otherwise; until 0.2 a judgment without a
    verdict counted as failed. Empty for a run that vetted nothing.
    """
    if "assessed" not in summary:
        return {}
    kept, discarded = (summary.get(name, summary.get(former, 0)) for name, former in _FORMER)
    silent, failed = (summary.get("failures") or {}).get("no_verdict", 0), summary.get("failed", 0)
    failed -= 0 if "no_verdict" in summary else silent
    asked = summary["assessed"] + summary.get("unscored", 0) + silent + failed - kept - discarded
    return {"kept": kept, "discarded": discarded, "asked": asked, "no_verdict": silent, "failed": failed}


_FORMER = (("kept", "accepted"), ("discarded", "rejected"))


def _no_agent_failed(assessment: Assessment) -> bool:
    """Whether an unscored judgment is one because there was no evidence, and not because an agent failed."""
    no_evidence = assessment.failure is not None and assessment.failure.kind is FailureKind.NO_EVIDENCE
    return no_evidence and all(result.failure is None for result in assessment.agents)


_ADDED: Final[dict[str, Any]] = {
    "version": {"const": 1},
    "kept": {"type": "integer", "description": "Judgments kept by the rule that decides; see decided_by."},
    "discarded": {"type": "integer", "description": "Judgments that the rule discards."},
    "reasons": {"type": "array", "items": {"type": "object"}, "description": "Why nothing was kept, or has no score."},
    "counts": {
        "type": "object",
        "description": "All judgments given, by rows: how many, compared with a label, right.",
    },
    "labels": {
        "type": ["object", "null"],
        "description": "How the labels bear out what was kept; null without labels.",
    },
    "rejects": {"type": ["string", "null"], "description": "The file of lines that could not be read."},
    "reports": {"type": "array", "items": {"type": "string"}, "description": "Reports written."},
    "fail_under": {"type": "array", "items": {"type": "object"}, "description": "Each bar of --fail-under."},
}


def summary_schema() -> dict[str, Any]:
    """The JSON Schema of what ``metajudge vet --json`` prints."""
    schema = TypeAdapter(VetSummary).json_schema(mode="serialization")
    for name in ("DependentPair", "JudgesTogether"):  # later versions may say more of them
        schema["$defs"][name].pop("additionalProperties")
    fields = {name: one for name, one in schema["properties"].items() if name not in VetSummary.HIDDEN}
    return {
        "title": "VetSummary",
        "type": "object",
        "properties": {**_ADDED, **fields},
        "required": sorted(_ADDED.keys() - {"fail_under"}),
        "$defs": schema.get("$defs", {}),
    }
