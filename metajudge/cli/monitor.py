"""``metajudge monitor``: hold promised precisions against what happened after them."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.loop import with_store
from metajudge.cli.options import JsonOption, StoreOption, StrictOption, advised, refuse_bad_lines, tell
from metajudge.errors import ConfigurationError, InputError
from metajudge.monitor.drift import Drift, NewIdentity
from metajudge.monitor.records import queue_picks, read_decisions, record_alarms, send_alarms, watched_promises
from metajudge.monitor.report import PromiseReport, Watched, reports_on
from metajudge.monitor.sampling import Pick, Purpose, pick
from metajudge.outcomes.sending import webhook_of
from metajudge.reading.containers.lines import Reject
from metajudge.runs.exit_codes import ExitCode
from metajudge.settings import Settings
from metajudge.store import Store


@dataclass(slots=True)
class _Found:
    reports: list[PromiseReport]
    picks: list[Pick] = field(default_factory=list)
    queued: int = 0
    recorded: list[str] = field(default_factory=list)
    webhook: dict[str, int] | None = None
    rejects: list[Reject] = field(default_factory=list)


def monitor(
    file: Annotated[
        Path | None, typer.Argument(help="Labelled decisions (JSONL) to test in place of a store.", metavar="FILE")
    ] = None,
    target: Annotated[float | None, typer.Option(help="Promised precision, for a FILE.", min=0, max=1)] = None,
    delta: Annotated[
        float, typer.Option(help="Probability of ever raising a false alarm, for a FILE.", min=0, max=1)
    ] = 0.1,
    store: StoreOption = None,
    promise: Annotated[str | None, typer.Option(help="Only this promise.", metavar="ID")] = None,
    level: Annotated[
        float, typer.Option("--fdr", help="False discovery rate of the drift findings.", min=1e-6, max=0.5)
    ] = 0.05,
    confidence: Annotated[float, typer.Option(help="Of the intervals.", min=0.5, max=0.9999)] = 0.95,
    most: Annotated[
        int | None, typer.Option(help="Most judgments a question may keep; default: the judges'.", min=1)
    ] = None,
    budget: Annotated[int | None, typer.Option("--next", help="Draw about N judgments to label.", min=1)] = None,
    purpose: Annotated[Purpose, typer.Option("--for", help="What those labels are for.")] = Purpose.REFIT,
    queue: Annotated[bool, typer.Option("--queue", help="Put what --next draws into the review queue.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of --next.", min=0)] = 0,
    webhook: Annotated[
        str | None, typer.Option(help="POST an alarm to this URL, signed with METAJUDGE_WEBHOOK_SECRET.", metavar="URL")
    ] = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
) -> None:
    """Hold promised precisions against what happened after them.

    People's decisions on a random sample of what was kept (vet --review-sample) feed a test that may be looked at any
    time: if the precision stays at the target or above, the probability of ever raising an alarm is at most delta.
    Also prints drift of signals by judge and category, and what is new among judges, models, rubrics and prompts.

    A broken promise is recorded in the store, and its guarantee is stamped on nothing from then on.

    Exit code 5: a promise is broken.
    """
    report = partial(reports_on, level=level, confidence=confidence, most=most)
    draw = partial(_picks, purpose=purpose, budget=budget, seed=seed)
    if file is not None:
        if target is None:
            raise ConfigurationError("a FILE does not say what was promised: give --target, such as --target 0.9")
        if queue or webhook is not None:
            raise ConfigurationError("--queue and --webhook need a store: leave FILE out")
        watched, rejects = read_decisions(file, target=target, delta=delta)
        found = _Found(report([watched]), draw([watched]), rejects=rejects)
        refuse_bad_lines(rejects, strict)
    else:
        if target is not None:
            raise ConfigurationError("--target is for a FILE: a store's promises have their own")
        hook = None if webhook is None else webhook_of(Settings.load(), webhook)

        async def on_store(opened: Store) -> _Found:
            now = time.time()
            chosen = await _chosen(opened, promise, now, keep=budget is not None)
            found = _Found(report(chosen), draw(chosen))
            found.recorded = [one.promise_id for one in await record_alarms(opened, found.reports, now=now)]
            if queue:
                found.queued = await queue_picks(opened, found.picks, now=now)
            if hook is not None:
                found.webhook = await send_alarms(hook, opened, lambda text: typer.echo(text, err=True))
            return found

        found = with_store(store, on_store, maker="vet --calibration ...")
    tell(as_json, _plain(found), _lines(found, budget))
    if any(one.is_broken for one in found.reports):
        raise typer.Exit(ExitCode.BAR_MISSED)
    if found.webhook is not None and found.webhook["failed"]:
        raise typer.Exit(ExitCode.INCOMPLETE)


async def _chosen(store: Store, promise: str | None, now: float, *, keep: bool) -> list[Watched]:
    """The promises asked about; with their decisions where judgments are drawn from them."""
    found = await watched_promises(store, now=now, keep=keep)
    chosen = [one for one in found if promise in (None, one.promise_id)]
    if not chosen:
        there = ", ".join(one.promise_id for one in found)
        raise InputError(
            f"the store has no promise {promise}: it has {there}"
            if found
            else "nothing in the store was decided under a guarantee: vet with a --calibration that has a guaranteed "
            "threshold (`metajudge calibrate threshold`), a --policy and a --review-sample"
        )
    return chosen


def _picks(watched: Sequence[Watched], *, purpose: Purpose, budget: int | None, seed: int) -> list[Pick]:
    if budget is None:
        return []
    if len(watched) > 1:
        raise ConfigurationError(f"--next draws for one promise, and there are {len(watched)}: add --promise ID")
    (one,) = watched
    had = one.tally.labelled()
    return pick(one.tally.candidates(), purpose, budget, labelled=had, at_least=one.threshold or 0.0, seed=seed)


_CANDIDATE = ("judgment_id", "content", "judge", "category", "probability", "kept")


def _plain(found: _Found) -> dict[str, object]:
    return {
        "promises": [one.to_json() for one in found.reports],
        "next": [
            {**{name: getattr(one.candidate, name) for name in _CANDIDATE}, "inclusion": one.inclusion}
            for one in found.picks
        ],
        "queued": found.queued,
        "recorded": found.recorded,
        "webhook": found.webhook,
        "bad_lines": [str(one) for one in found.rejects],
    }


def _lines(found: _Found, budget: int | None) -> Iterator[str]:
    for one in found.rejects[:5]:
        yield f"not read: {one}"
    if len(found.rejects) > 5:
        yield f"not read: {len(found.rejects) - 5} more lines"
    for report in found.reports:
        yield from report_lines(report)
        yield ""
    for name in found.recorded:
        yield f"Recorded: promise {name} is broken; its guarantee is stamped on nothing from now on."
    if budget is not None:
        yield f"{len(found.picks)} judgments drawn to label, with the probability with which each was drawn:"
        yield from (f"  {one.candidate.judgment_id}  {one.inclusion:.3f}" for one in found.picks)
        if found.queued:
            decide = advised("review", "next", "--reviewer", "NAME")
            yield f"{found.queued} of them are new in the review queue: {decide}"
    if found.webhook is not None:
        yield "webhook: " + ", ".join(f"{number} {name}" for name, number in found.webhook.items())


def report_lines(report: PromiseReport) -> Iterator[str]:
    """A promise's report as text."""
    held, counts = report.held, report.counts
    yield f"Promise {report.promise_id}: {report.state.value.upper()}"
    whose = f" by {', '.join(report.judges)}{', together,' * (len(report.judges) > 1)}" if report.judges else ""
    yield f"  promised  {report.sentence or f'{100 * report.target:g} % of the kept judgments{whose} are right'}"
    if report.outside_line is not None:
        yield f"  outside   {report.outside_line}"
    if report.alarm_at is not None:
        after = "" if held.alarm is None else f" after {held.alarm} audited questions"
        moment = datetime.fromtimestamp(report.alarm_at, UTC)
        when = f", {moment:%Y-%m-%d %H:%M} UTC" if report.calibration is not None else ""
        yield f"  alarm     e-value reached {1 / report.delta:g}{after}{when}"
    unclear = f", {counts.undecided} without a clear answer" if counts.undecided else ""
    left = f"{counts.drawn} drawn, {counts.waiting} questions wait{unclear}"
    yield f"  audited   {held.audits} questions of {counts.kept} kept judgments; {left}"
    yield f"  e-value   {held.e_value:.3g} now, {held.largest:.3g} at most; the alarm is at {1 / report.delta:g}"
    if held.precision is not None:
        one = held.precision
        yield (
            f"  precision {_share(one.estimate)} ({_share(one.low)} to {_share(one.high)}, "
            f"{100 * one.confidence:g} % at all times together, by question, n = {one.n})"
        )
    if report.predicted is not None:
        found = report.predicted
        yield (
            f"  with probabilities of all kept: {_share(found.estimate)} ({_share(found.low)} to "
            f"{_share(found.high)}, {100 * found.confidence:g} % at one look, {found.n} labels of {found.clusters} "
            "questions)"
        )
    for delay in report.delays:
        number = "more than 20,000" if delay.audits is None else f"{delay.audits:.0f}"
        yield f"  a drop to {100 * delay.to:g} % is expected to be found after {number} audited questions"
    drift = report.drift
    yield f"  drift     {len(drift.found)} of {drift.tested} signals, false discovery rate {100 * drift.level:g} %" + (
        f"; {drift.too_short} streams are too short to test" if drift.too_short else ""
    )
    yield from (f"    {_drift(one)}" for one in drift.found)
    yield from (f"    {_identity(one)}" for one in report.identities)
    yield from (f"  -> {line}" for line in report.advice())


def _drift(one: Drift) -> str:
    where = "" if one.category is None else f", {one.category}"
    return (
        f"{one.signal} ({one.judge}{where}): mean {one.before:.3g} -> {one.after:.3g}, "
        f"last {one.after_n} of {one.n} questions, e-value {one.e_value:.3g}"
    )


def _identity(one: NewIdentity) -> str:
    whose = "" if one.judge is None else f" ({one.judge})"
    return (
        f"new {one.field}{whose}: {one.value}, {one.n} of the last {one.total} judgments; known: {', '.join(one.known)}"
    )


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"
