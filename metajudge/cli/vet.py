"""``metajudge vet``: which judgments can be trusted?"""

import contextlib
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from metajudge.cli import options
from metajudge.cli.fail_under import FailUnderOption, parse_fail_under, tell_missed
from metajudge.cli.inputs import Labelling, Reading, reads_judgments, takes_labels
from metajudge.cli.loop import run, run_stoppable, say
from metajudge.cli.sending import Sending, print_estimate
from metajudge.cli.vet_report import Told, words_of
from metajudge.errors import ConfigurationError, MetajudgeError, OpenQuestionsError, StoreError
from metajudge.files.addresses import near, transfer
from metajudge.files.output import check_apart, check_writable, write_text
from metajudge.panels.config import PanelConfig
from metajudge.reading import JudgmentSource
from metajudge.reading.seen import example_of
from metajudge.runs.exit_codes import exit_code
from metajudge.runs.loop import Stop
from metajudge.runs.outputs import results_file
from metajudge.runs.progress import Progress
from metajudge.settings import Settings
from metajudge.store import open_store
from metajudge.types.location import StoreLocation
from metajudge.vetting.bars import Bar, check_labelled, reached_by
from metajudge.vetting.engine import Engine
from metajudge.vetting.rerun import Rerun, settings_digest
from metajudge.vetting.results import Results
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration  # imports scikit-learn
    from metajudge.evidence.rewards import RewardScore
    from metajudge.vetting.estimate import StoredResults
    from metajudge.webhooks.webhook import Webhook

STARTED = time.monotonic()


@reads_judgments
@takes_labels
@options.takes("sending", Sending)
@options.takes("agents", options.Agents)
def vet(
    inputs: Annotated[
        list[str], typer.Argument(help="Files or folders of judgments; - is standard input.", metavar="INPUT...")
    ],
    agents: options.Agents,
    cut: Annotated[
        float | None,
        typer.Option(
            help="With --calibration: keep probabilities of being right from this on; default the promise's threshold, "
            "else 0.9.",
            metavar="P",
            min=0,
            max=1,
        ),
    ] = None,
    store: options.StoreOption = None,
    out: Annotated[
        str | None,
        typer.Option(help="Write the assessments: one a line (JSONL), or a table (.parquet, .arrow).", metavar="FILE"),
    ] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Work in this process, or on Ray's workers over a PostgreSQL store.")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(help="With --engine ray: blocks vetted at the same time; default 2.", min=1)
    ] = None,
    report: options.ReportOption = None,
    no_page: Annotated[
        bool, typer.Option("--no-page", help="Write no page: without --report and --json, INPUT.vet.html is written.")
    ] = False,
    judge: Annotated[list[str] | None, typer.Option(help="Vet only this judge's judgments. Repeatable.")] = None,
    limit: Annotated[int | None, typer.Option(help="Vet only the first N.", min=1)] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="A file of `calibrate fit`: gives each judgment the probability of being right, which decides what is "
            "kept. `shipped`: what agreement of peers was worth on labelled sets of others. `none`: labels of the "
            "input are not used either.",
            metavar="FILE",
        ),
    ] = None,
    allow_other_calibration: options.OtherCalibrationOption = False,
    policy: Annotated[
        str | None,
        typer.Option(
            help="Add a policy's decision (APPROVE, REVIEW, REVIEW_PRIORITY, REJECT) to every assessment: verdict "
            "(with --calibration), verdict_score, or a YAML file.",
            metavar="NAME",
            autocompletion=options.complete_policy,
        ),
    ] = None,
    audit_share: Annotated[
        float,
        typer.Option(
            "--review-sample",
            "--audit-share",
            help="Fraction of approved and rejected decisions sampled for human review.",
            min=0,
            max=1,
        ),
    ] = 0.0,
    reviewers: Annotated[int, typer.Option(help="Number of people who decide each review.", min=1, max=20)] = 1,
    webhook: options.WebhookOption = None,
    seed: options.SeedOption = None,
    no_early_exit: Annotated[
        bool, typer.Option("--no-early-exit", help="Ask every agent, all at once, even when the decision is settled.")
    ] = False,
    keep_failures: Annotated[
        bool, typer.Option("--keep-failures", help="Do not retry judgments that ended without a score before.")
    ] = False,
    fail_under: FailUnderOption = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            help="Also write what the terminal shows as Markdown, for a pull request or a job's summary.",
            metavar="FILE",
        ),
    ] = None,
    as_json: options.JsonOption = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Estimate calls, tokens and dollars of what is not stored yet; send nothing."),
    ] = False,
    *,
    sending: Sending,
    labelling: Labelling,
    reading: Reading,
) -> None:
    """Vet judgments: score each one and decide which to keep."""
    typed = dict(locals())
    far = "://" in (out or "")
    out_file = None if out is None else near(out) if far else Path(out)
    page = None if no_page or as_json or report or dry_run else page_path(inputs)
    if page is not None and page.exists() and not _is_page(page):
        say(f"{page} is another file and is not overwritten: no page is written (--report NAME.html names one)")
        page = None
    check_apart(inputs, [out_file, markdown, page, *(report or ())])
    if markdown is not None:
        check_writable(markdown)
    options.check_reports(report)
    bars = parse_fail_under(fail_under)
    early_exit = False if no_early_exit else None
    panel = agents.panel(cut=cut, seed=seed, early_exit=early_exit)
    if panel.early_exit is None:
        # One agent after the other would be one batch after the other, a day each.
        panel = panel.model_copy(update={"early_exit": not sending.batch})
    opening = partial(reading.open, inputs, judges=judge or None, limit=limit, labelling=labelling)
    try:
        source = opening()
    except OpenQuestionsError:
        if not sys.stdin.isatty() or len(inputs) > 1 or not Path(inputs[0]).is_file():
            raise
        from metajudge.cli.import_table import ask_about  # where there is something to ask

        ask_about(inputs[0])
        source = opening()
    if webhook is not None and policy is None:
        raise ConfigurationError("--webhook sends what a policy decides: give --policy NAME, too")
    where = options.store_path(store)
    vetting = partial(
        Engine if dry_run else _engine(engine, workers),
        panel=panel,
        calibration=calibration,
        allow_other_calibration=allow_other_calibration,
        policy=policy,
        audit_share=audit_share,
        reviewers=reviewers,
        right=labelling.rule,
        webhook=None if policy is None else _webhook(webhook),
    )
    if dry_run:
        asked = vetting().config  # a policy or a calibration may need the score of every agent
        asked, kept = run(_stored(asked, source, where))
        _print_estimate(asked, source, kept, as_json)
        return
    if reading.strict:
        deque(source.scan(), maxlen=0)  # a bad line is an error before anything is asked
    batches, rejects = sending.batches(where), options.rejects_path(None if far else out_file, where)
    with contextlib.closing(sending.budget()) as budget:
        opened = vetting(
            store=where, concurrency=sending.concurrency, budget=budget, batch=batches, notify=say, command="vet"
        )
        rewards = _rewards(inputs, opened.calibration)
        results = _results(labelling, bars, audit_share)
        known = out is None and not report and (page is None or page.exists())
        settings = None if webhook or rewards else partial(settings_digest, _settings(typed), inputs)
        summary, notices = run_stoppable(
            lambda stop: _vet(
                opened, source, out_file, rejects, results, keep_failures, rewards, stop, settings, known=known
            )
        )
    if far:
        transfer(str(out_file), str(out))
    summary.notices += notices
    for notice in notices:
        typer.echo(f"metajudge: {notice}", err=True)
    summary.store, summary.out = str(where), out if far else out and str(out_file)
    summary.total_s = time.monotonic() - STARTED
    words = words_of(inputs, agents.config, agents.agent, store)
    reached = reached_by(bars, summary, results.labels)
    first = None if as_json else source.first()
    example = None if first is None else example_of(first)
    told = Told(summary, results.labels, panel, rejects, reached, words, report or ([page] if page else ()), example)
    if results.watcher is not None and results.watcher.judgments:
        try:
            told.write_reports(results.watcher, inputs)
        except (MetajudgeError, OSError) as error:
            if page is None:
                raise
            say(f"no page is written: {error}")
            told = replace(told, reports=())
    if markdown is not None:
        write_text(markdown, told.markdown())
    (told.print_json if as_json else told.print_text)()
    raise typer.Exit(exit_code(summary.counts, strict=reading.strict, bar_missed=tell_missed(reached)))


def _results(labelling: Labelling, bars: Sequence[Bar], audit_share: float) -> Results:
    """What takes the run's results."""
    from metajudge.vetting.picture import Picture  # after help and a dry run, which need none

    return Results(given=labelling.rule, bars=bars, watcher=Picture(sampled=audit_share > 0))


PAGE_MARK: Final = "<dt>Command</dt><dd>metajudge vet "
"""Stands in every page of vetting, and tells it from other files of the same name."""


def page_path(inputs: Sequence[str]) -> Path:
    """The default path of the page: in the working directory, named after the input."""
    name = Path(inputs[0]).name.partition(".")[0] if len(inputs) == 1 and inputs[0] != "-" else ""
    return Path(f"{name or 'metajudge'}.vet.html")


def _is_page(path: Path) -> bool:
    try:
        return PAGE_MARK in path.read_text("utf-8", "replace")
    except OSError:  # a folder, or what may not be read
        return False


def _engine(name: str, workers: int | None) -> Callable[..., Engine]:
    if name == "local":
        if workers is not None:
            raise ConfigurationError("--workers needs --engine ray: add it, or leave the option out")
        return Engine
    from metajudge.vetting.on_ray import RayEngine  # reads much that one process has no use for

    return partial(RayEngine, workers=workers or 2)


def _webhook(url: str | None) -> "Webhook | None":
    from metajudge.outcomes.sending import webhook_of  # only a policy decides what a receiver is told

    return webhook_of(Settings.load(), url)


_NO_SETTINGS: Final = frozenset(
    {"inputs", "store", "out", "report", "no_page", "fail_under", "markdown", "as_json", "dry_run", "sending"}
    | {"engine", "workers"}
)
"""Options on which no result depends."""


def _settings(typed: Mapping[str, Any]) -> dict[str, Any]:
    """What the results of a command line depend on."""
    groups = {name: value for name, value in typed.items() if is_dataclass(value) and not isinstance(value, type)}
    own = {name: value for name, value in typed.items() if name not in groups and name not in _NO_SETTINGS}
    return own | {
        name: [getattr(group, one.name) for one in fields(group)]
        for name, group in groups.items()
        if name not in _NO_SETTINGS
    }


async def _vet(
    engine: Engine,
    source: JudgmentSource,
    out: Path | None,
    rejects: Path,
    results: Results,
    keep_failures: bool,
    rewards: "Sequence[RewardScore] | None",
    stop: Stop,
    settings: Callable[[], str | None] | None,
    *,
    known: bool,
) -> tuple[VetSummary, list[str]]:
    """Vets a source, or finds that an identical run has vetted it; returns what came of it, and what is to be told.

    Args:
        settings: gives the digest of what the results depend on, None where that cannot be known.
        known: whether the counts of an identical run are enough.
    """
    from metajudge.vetting.answer import lower_cuts, read_first  # after help

    summary = VetSummary()
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(engine)
        rerun = None
        before = None if settings is None else settings()
        if before is not None and engine.store is not None:
            rerun = Rerun(engine, engine.store, before)
            if known and (found := await rerun.find()) is not None:
                summary, results.labels, notices = found
                check_labelled(results.bars, results.labels.labelled)
                async with engine.recording(summary, stop):
                    say("input, settings and store are those of an earlier run: its results are given")
                return summary, notices
        results.file = stack.enter_context(results_file(out)) if out is not None else None
        progress = stack.enter_context(Progress(summary, engine.meter, source.expected))
        results.progress, results.heard = progress.update, progress.heard
        await engine.vet_all(
            source, results=results, keep_failures=keep_failures, stop=stop, summary=summary, rewards=rewards
        )
        summary.bad_lines, summary.duplicates = source.rejects, source.duplicates
        notices = [*source.notices, *results.told]
        if results.watcher is not None:
            summary.read_first = read_first(results.watcher)
            summary.lower_cuts = lower_cuts(results.watcher, summary)
        if rerun is not None and settings is not None and settings() == before:  # the input is still what was read
            await rerun.keep(summary, results.labels, notices)
    source.write_rejects(rejects)
    return summary, notices


def _rewards(inputs: list[str], calibration: "Calibration | None") -> "Sequence[RewardScore] | None":
    """Reward models' scores beside the input, if the calibration uses them."""
    if calibration is None or "rewards" not in calibration.identity.signals:
        return None
    from metajudge.reading.rewards import find_reward_scores, read_reward_scores

    files = [found for found in map(find_reward_scores, map(Path, inputs)) if found is not None]
    return [score for file in files for score in read_reward_scores(file)] or None


async def _stored(
    panel: PanelConfig, source: JudgmentSource, where: StoreLocation
) -> "tuple[PanelConfig, StoredResults | None]":
    """The panel by the prompt set of a run on this store, and what is stored; None if no store can be read now."""
    if not where.exists():
        return panel, None
    from metajudge.vetting.estimate import stored_results

    try:
        store = await open_store(where)
    except StoreError as error:
        say(f"the estimate does not include stored results: {error}")
        return panel, None
    try:
        return await stored_results(panel, source, store)
    finally:
        await store.close()


def _print_estimate(panel: PanelConfig, source: JudgmentSource, stored: "StoredResults | None", as_json: bool) -> None:
    from metajudge.vetting.estimate import estimate_vetting

    if stored is not None and stored.notice is not None:
        say(stored.notice)
    found = estimate_vetting(panel, source, stored)
    others = {version: count for version, count in found.stored_by_prompt_version.items() if count}
    others.pop(str(found.prompt_version), None)
    also = "".join(f" ({count} under version {version})" for version, count in others.items())
    work = (
        f"{found.judgments} judgments ({found.without_verdict} without a verdict), {found.stored} of them stored under "
        f"prompt version {found.prompt_version}{also}; for the others at most {found.calls} calls"
    )
    print_estimate(found, work, panel, "vet", as_json)
