"""What a run over many judgments came to."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from metajudge.runs import RunEnd
from metajudge.types import Assessment, Status, Usage


@dataclass(slots=True)
class VetSummary:
    """Counts of one run, results taken over from an earlier one included.

    Attributes:
        judgments: judgments that reached a result; what a budget or an interruption left is not counted.
        reused: assessments found in the store, for which nothing was asked.
        accepted, rejected: of the assessed ones.
        calibrated: whether a calibration was applied; ``with_probability`` counts what it could speak about,
            ``probability_marks`` what is to be known about these or why there is none, and ``guarantees`` says what
            a guaranteed threshold in it promises.
        policy: the policy that decided, with its digest; None for none. ``decisions`` counts its actions.
        reviews: reviews that were queued for people and were not there before.
        failures: unscored and failed judgments by kind; ``agent_failures``: single agents' failures by kind.
        calls: HTTP requests sent in this run, retries and repairs included.
        cached_calls: replies taken from the store instead.
        cost_usd: None where a price or the usage was unknown.
        known_cost_usd: the part of the cost that is known.
        wall_s: seconds from the first request sent to the last assessment durable; None where none was sent.
    """

    run_id: str | None = None
    end: RunEnd = RunEnd.FINISHED
    judgments: int = 0
    assessed: int = 0
    unscored: int = 0
    failed: int = 0
    accepted: int = 0
    rejected: int = 0
    renormalised: int = 0
    reused: int = 0
    bad_lines: int = 0
    duplicates: int = 0
    calls: int = 0
    cached_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    known_cost_usd: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)
    agent_failures: Counter[str] = field(default_factory=Counter)
    notices: list[str] = field(default_factory=list)
    wall_s: float | None = None
    total_s: float = 0.0
    store: str | None = None
    out: str | None = None
    calibrated: bool = False
    with_probability: int = 0
    probability_marks: Counter[str] = field(default_factory=Counter)
    reviews: int = 0
    guarantees: list[str] = field(default_factory=list)
    policy: str | None = None
    decisions: Counter[str] = field(default_factory=Counter)

    def add(self, assessment: Assessment, reused: bool) -> None:
        """Counts one assessment."""
        self.judgments += 1
        self.reused += reused
        match assessment.status:
            case Status.ASSESSED:
                self.assessed += 1
                self.accepted += assessment.accepted is True
                self.rejected += assessment.accepted is False
                self.renormalised += assessment.renormalised
            case Status.UNSCORED:
                self.unscored += 1
            case Status.FAILED:
                self.failed += 1
        self.with_probability += assessment.probability is not None
        self.probability_marks.update(assessment.probability_marks)
        if assessment.decision is not None:
            self.decisions[assessment.decision.action.value] += 1
        if assessment.failure is not None:
            self.failures[assessment.failure.kind.value] += 1
        for result in assessment.agents:
            if result.failure is not None:
                self.agent_failures[result.failure.kind.value] += 1
        if not reused:
            self.cached_calls += assessment.cached_calls

    @property
    def exit_code(self) -> int:
        """0 all assessed, 1 some unscored, failed or unreadable, 3 budget, 4 batches pending, 130 interrupted."""
        if self.end is RunEnd.INTERRUPTED:
            return 130
        if self.end is RunEnd.BUDGET:
            return 3
        if self.end is RunEnd.PENDING:
            return 4
        return 1 if self.unscored or self.failed or self.bad_lines else 0

    def to_json(self) -> dict[str, Any]:
        """Plain data, as ``--json`` prints it and the store keeps it."""
        data = asdict(self)
        data["end"] = self.end.value
        data["failures"] = dict(sorted(self.failures.items()))
        data["probability_marks"] = dict(sorted(self.probability_marks.items()))
        data["decisions"] = dict(sorted(self.decisions.items()))
        data["agent_failures"] = dict(sorted(self.agent_failures.items()))
        for name in ("wall_s", "total_s", "known_cost_usd", "cost_usd"):
            data[name] = None if data[name] is None else round(data[name], 6)
        return data
