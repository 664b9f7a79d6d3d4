"""One run of ``metajudge clash``: the engine, the file of attempts, the counts."""

import contextlib
import gc
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from metajudge.clashes.files import AttemptFile, Questions
from metajudge.clashes.first_shown import FirstShown, first_shown
from metajudge.clashes.record import ClashRecord
from metajudge.clashes.run import Outcome, run_clash
from metajudge.cli.clash_setup import Settings, build_clash, notices_of
from metajudge.cli.loop import say, stop_on_interrupt
from metajudge.judging.blinding_report import BlindingTotals, blinding_totals
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import RunEnd, Stop
from metajudge.runs.progress import Progress
from metajudge.types import Usage
from metajudge.types.location import StoreLocation
from metajudge.vetting.engine import Engine


@dataclass(slots=True)
class ClashSummary:
    """Counts of one run, evaluations of earlier runs with the same file included.

    Attributes:
        evaluations: those that reached a record.
        reused: of these, records of an earlier run, for which nothing was asked.
        incomplete: evaluations in which a candidate, a judge or an observer is missing.
        fallbacks: evaluations with the generic criteria because the model's could not be used.
        failures: of candidates, judges and observers, by kind.
        blinding: what was hidden from the judges.
        first_shown: each judge's lean to the answer shown first.
        wall_s: seconds from the first request sent to the last record; None where none was sent.
    """

    run_id: str | None = None
    end: RunEnd = RunEnd.FINISHED
    prompts: int = 0
    evaluations: int = 0
    reused: int = 0
    decided: int = 0
    tied: int = 0
    no_verdict: int = 0
    errors: int = 0
    incomplete: int = 0
    unanimous: int = 0
    escalated: int = 0
    fallbacks: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    bad_lines: int = 0
    judgments_written: int | None = None
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    known_cost_usd: float = 0.0
    all_attempts_usd: float | None = 0.0
    notices: list[str] = field(default_factory=list)
    blinding: BlindingTotals = field(default_factory=BlindingTotals)
    first_shown: list[FirstShown] = field(default_factory=list)
    wall_s: float | None = None
    total_s: float = 0.0

    @property
    def judgments(self) -> int:
        """Evaluations done, as progress counts them."""
        return self.evaluations

    @property
    def unscored(self) -> int:
        """Evaluations without a verdict, as progress counts them."""
        return self.no_verdict

    @property
    def failed(self) -> int:
        """Evaluations in which nobody answered."""
        return self.errors

    def add(self, record: ClashRecord, reused: bool) -> None:
        """Counts one evaluation."""
        self.evaluations += 1
        self.reused += reused
        self.decided += record.status == "ok"
        self.tied += record.status == "tie"
        self.no_verdict += record.status == "no_verdict"
        self.errors += record.status == "error"
        self.incomplete += not record.complete
        self.unanimous += record.tally is not None and record.tally.unanimous
        self.escalated += record.tally is None or record.tally.triage == "escalate"
        self.fallbacks += record.criteria is not None and record.criteria.fallback
        failures = [one.failure for one in record.candidates] + [vote.failure for vote in record.votes]
        self.failures.update(failure.kind.value for failure in failures if failure is not None)

    @property
    def counts(self) -> RunCounts:
        """What the exit code depends on: a candidate, a judge or a verdict that is missing is a failure."""
        missing = self.incomplete + self.no_verdict + self.errors
        return RunCounts(self.end, self.prompts, missing, bad_lines=self.bad_lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        data = asdict(self)
        data["end"] = self.end.value
        data["blinding"] = self.blinding.model_dump()
        data["first_shown"] = [{**one.model_dump(), "sentence": one.sentence()} for one in self.first_shown]
        data["failures"] = dict(sorted(self.failures.items()))
        for name in ("wall_s", "total_s", "known_cost_usd", "cost_usd", "all_attempts_usd"):
            data[name] = None if data[name] is None else round(data[name], 6)
        return data


async def hold(
    settings: Settings,
    questions: Questions,
    summary: ClashSummary,
    *,
    store: StoreLocation,
    out: Path | None,
    concurrency: int,
    budget_usd: float | None,
) -> Sequence[ClashRecord]:
    """Evaluates every prompt and returns the records that count, in input order."""
    stop = Stop()
    engine = Engine(
        panel=settings.panel(), store=store, command="clash", notify=say, concurrency=concurrency, budget_usd=budget_usd
    )
    total = len(questions.items) * settings.cycles * settings.repeats
    ended_at: float | None = None
    summary.prompts = len(questions.items)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(engine)
        stop_on_interrupt(stop, RunEnd.INTERRUPTED)
        clash = build_clash(settings, engine, questions.items)
        engine.connect()
        gc.freeze()  # what is imported by now never dies, and need not be walked over while calls are in flight
        stack.callback(gc.unfreeze)
        for notice in (said := notices_of(settings)):
            say(notice)
        file = None if out is None else stack.enter_context(AttemptFile(out))
        if file is not None and file.cut:
            say(f"{out}: the last line was cut off and is dropped")
        progress = stack.enter_context(Progress(summary, engine, total))  # type: ignore[arg-type]
        spent: list[float | None] = [] if file is None else [one.spent_usd for one in file.earlier]

        def on_record(record: ClashRecord, reused: bool) -> None:
            nonlocal ended_at
            summary.add(record, reused)
            if not reused:
                ended_at = time.monotonic()
                spent.append(record.spent_usd)
                if file is not None:
                    file.append(record)
            progress.update()

        outcome: Outcome | None = None
        try:
            outcome = await run_clash(
                questions.items,
                clash,
                repeats=settings.repeats,
                cycles=settings.cycles,
                earlier=() if file is None else file.earlier,
                attempts=settings.attempts,
                workers=2 * concurrency,  # criteria of the next prompts fill the slots that judges leave free
                on_record=on_record,
                stop=stop,
            )
            summary.end = outcome.end
            summary.blinding = blinding_totals(record.blinding for record in outcome.records)
            summary.first_shown = first_shown(outcome.records)
        finally:
            _account(summary, engine, ended_at, spent, said)
            await engine.finish(summary.end.value if outcome else "failed", summary.to_json())
    return outcome.records


def _account(
    summary: ClashSummary, engine: Engine, ended_at: float | None, spent: list[float | None], said: list[str]
) -> None:
    meter = engine.meter
    summary.run_id = engine.run_id
    summary.calls = meter.sent
    summary.usage = meter.usage
    summary.known_cost_usd = meter.cost_usd
    summary.cost_usd = None if meter.unpriced else meter.cost_usd
    known = [one for one in spent if one is not None]
    summary.all_attempts_usd = sum(known) if len(known) == len(spent) else None
    summary.notices = [*said, *engine.notices]
    if meter.first_sent_at is not None and ended_at is not None:
        summary.wall_s = ended_at - meter.first_sent_at
