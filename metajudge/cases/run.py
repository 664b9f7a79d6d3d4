"""One run of ``metajudge case``: every case is judged, decided and recorded."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from metajudge.cases.case import Case
from metajudge.cases.judge import CaseJudge
from metajudge.cases.panel import CasePanel
from metajudge.cases.records import keep_result, review_of
from metajudge.cases.result import CaseResult
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import Job, RunEnd, Stop, run_all
from metajudge.runs.outputs import OrderedFile
from metajudge.types import Usage
from metajudge.vetting.engine import Engine


@dataclass(slots=True)
class CaseSummary:
    """Counts of one run.

    Attributes:
        judgments: cases decided; ``unscored`` those with a stage that no score came of.
        actions: decisions by action; ``gated`` those made by the gate.
        evidence: quotes given, ``found`` those that stand in the stage's output.
        reviews: reviews opened, those that were there before left out.
        failures: judges' failures by kind.
    """

    run_id: str | None = None
    end: RunEnd = RunEnd.FINISHED
    cases: int = 0
    judgments: int = 0
    unscored: int = 0
    failed: int = 0
    gated: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    evidence: int = 0
    found: int = 0
    reviews: int = 0
    bad_lines: int = 0
    calls: int = 0
    cached_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    known_cost_usd: float = 0.0
    notices: list[str] = field(default_factory=list)
    webhook: dict[str, int] | None = None
    total_s: float = 0.0
    store: str | None = None
    out: str | None = None
    results: list[CaseResult] = field(default_factory=list)

    def add(self, result: CaseResult) -> None:
        """Counts one case."""
        self.judgments += 1
        self.unscored += result.failed
        self.gated += result.decision.gate is not None
        self.actions[result.action] += 1
        self.cached_calls += result.metadata.cached_calls
        for stage in result.stages:
            quotes = [quote for criterion in stage.criteria.values() for quote in criterion.evidence]
            self.evidence += len(quotes)
            self.found += sum(quote.in_output for quote in quotes)
            self.failures.update(reply.failure.kind.value for reply in stage.judges if reply.failure is not None)

    @property
    def counts(self) -> RunCounts:
        """What the exit code depends on."""
        undelivered = 0 if self.webhook is None else self.webhook["failed"]
        return RunCounts(self.end, self.judgments, self.unscored + undelivered, bad_lines=self.bad_lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data, as ``--json`` prints it and the store keeps it, without the results."""
        data = asdict(replace(self, results=[]))
        for name in ("results", "judgments", "failed"):
            del data[name]
        data |= {"end": self.end.value, "decided": self.judgments}
        data["actions"] = dict(sorted(self.actions.items()))
        data["failures"] = dict(sorted(self.failures.items()))
        for name in ("total_s", "known_cost_usd", "cost_usd"):
            data[name] = None if data[name] is None else round(data[name], 6)
        return data


def case_judges(engine: Engine) -> list[CaseJudge]:
    """The agents of an engine's default panel as judges of cases."""
    return [CaseJudge(agent.name, agent.model, agent.parameters) for agent in engine.vetter.default.agents]


async def judge_cases(
    engine: Engine,
    panel: CasePanel,
    cases: Sequence[Case],
    *,
    file: OrderedFile | None,
    summary: CaseSummary,
    workers: int,
    progress: Callable[[], None],
    stop: Stop | None = None,
    opening: Mapping[str, Any] | None = None,
) -> None:
    """Judges cases; an interrupted run goes on from the stored replies.

    Args:
        opening: audited share, its seed and the number of reviewers, as :func:`review_of` takes them.
    """
    summary.run_id = engine.run_id
    results: dict[int, CaseResult] = {}

    async def work(job: Job[Case, CaseResult]) -> CaseResult:
        result = await panel.judge(job.record, now=datetime.now(UTC))
        if engine.store is not None:
            await keep_result(engine.store, result)
            review = review_of(result, job.record, panel.policy, time.time(), **(opening or {}))
            if review is not None:
                opened = await engine.store.reviews.open([review])  # awaited first: += reads before it waits
                summary.reviews += opened
        return result

    def finished(job: Job[Case, CaseResult], result: CaseResult, _reused: bool) -> None:
        summary.add(result)
        results[job.index] = result
        if file is not None:
            file.write(job.index, result.model_dump_json().encode() + b"\n")
        progress()

    async def none_done(_keys: object) -> dict[str, CaseResult]:
        return {}  # what was done before is found call by call: the store keeps every reply

    try:
        summary.end = await run_all(
            cases,
            work,
            key=lambda case: case.digest,
            find_done=none_done,
            keep=lambda _result: True,
            finished=finished,
            workers=workers,
            stop=stop,
        )
    finally:
        _account(summary, engine)
        summary.results = [results[index] for index in sorted(results)]
        await engine.finish(summary.end.value, summary.to_json())


def _account(summary: CaseSummary, engine: Engine) -> None:
    meter = engine.meter
    summary.calls = meter.sent
    summary.usage = meter.usage
    summary.known_cost_usd = meter.cost_usd
    summary.cost_usd = None if meter.unpriced else meter.cost_usd
    summary.notices = list(engine.notices)
