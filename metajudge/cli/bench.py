"""``metajudge bench``: judges, and vetting of their judgments, on benchmarks with true labels."""

import contextlib
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.bench_reliability import reliability
from metajudge.cli.fail_under import FailUnderOption, parse_fail_under, tell_missed
from metajudge.cli.loop import run_stoppable, say
from metajudge.cli.options import (
    AgentOption,
    ConcurrencyOption,
    ConfigOption,
    DryRunOption,
    RubricOption,
    SeedOption,
    StoreOption,
    StrictOption,
    panel_from,
    refuse_bad_lines,
    store_path,
    takes,
)
from metajudge.cli.outputs import Outputs, say_written
from metajudge.cli.sending import Sending
from metajudge.files.output import write_text
from metajudge.panels.config import PanelConfig
from metajudge.report.text import table_to_text
from metajudge.runs.exit_codes import exit_code

app = typer.Typer(help="Measure judges, and vetting of their judgments, on true labels.", no_args_is_help=True)

SIGNALS_HELP = (
    "Signals to use, separated by commas: order, strength, peers, rewards, rationale, format, agents. Default: the "
    "calibration's, else all signals of the free-evidence score."
)


@app.command("list")
def list_all() -> None:
    """List the benchmarks with their licences and sources."""
    catalogue = import_module("metajudge.benchmarks.catalogue")
    for line in catalogue.lines():
        typer.echo(line)


@app.command("judgebench", help="Measure judges and vetting on JudgeBench.")
@app.command("llmbar", help="Measure judges and vetting on LLMBar.")
@takes("outputs", Outputs)
@takes("sending", Sending)
def benchmark(
    context: typer.Context,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of the benchmark's records, or its repository.", metavar="DIR", show_default=False),
    ] = None,
    judge: Annotated[list[str] | None, typer.Option(help="Report only this judge. Repeatable.")] = None,
    agent: AgentOption = None,
    rubric: RubricOption = None,
    strategy: Annotated[str | None, typer.Option(help="How agents' scores become one, as for `vet`.")] = None,
    families: Annotated[
        str | None,
        typer.Option(help="Agents of the same family as the judge or a candidate: warn (default), forbid or ignore."),
    ] = None,
    config: ConfigOption = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="The judge's own model, as the single-agent baseline: PROVIDER:MODEL.", metavar="SPEC"),
    ] = None,
    grid: Annotated[
        str | None, typer.Option(help="A grid of configurations: a TOML file, or `published`.", metavar="FILE")
    ] = None,
    signals: Annotated[str | None, typer.Option(help=SIGNALS_HELP, metavar="NAMES")] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="A calibration made by `metajudge calibrate fit`.", metavar="FILE")
    ] = None,
    agent_scores: Annotated[
        Path | None,
        typer.Option(
            help="Assessments of an earlier run, for a calibration that reads agents' scores.", metavar="FILE"
        ),
    ] = None,
    allow_other_calibration: Annotated[
        bool,
        typer.Option("--allow-other-calibration", help="Apply it to judges or agents it was not fitted on; marked."),
    ] = False,
    limit: Annotated[int | None, typer.Option(help="Report only the first N judgments.", min=1)] = None,
    threshold: Annotated[float | None, typer.Option(help="Keep scores strictly above this; default 4.5.")] = None,
    store: StoreOption = None,
    concurrency: ConcurrencyOption = 64,
    seed: SeedOption = None,
    scores: Annotated[
        Path | None, typer.Option(help="Write one line per decided judgment (JSONL).", metavar="OUT.jsonl")
    ] = None,
    fail_under: FailUnderOption = None,
    strict: StrictOption = False,
    dry_run: DryRunOption = False,
    *,
    sending: Sending,
    outputs: Outputs,
) -> None:
    """Measure a benchmark's judges, and what vetting keeps of their judgments.

    Without agents no model is asked; the report shows judges' accuracy and the precision of free evidence.
    """
    name = str(context.info_name)
    outputs.check(scores)
    bars = parse_fail_under(fail_under)
    if calibration is None and (agent_scores is not None or allow_other_calibration):
        raise typer.BadParameter("--agent-scores and --allow-other-calibration need --calibration to use them")
    panel = _panel(config, agent, rubric, strategy, threshold, seed, families)
    benching = import_module("metajudge.benchmarks.bench")
    work = benching.Bench(
        benching.Request(
            benchmark=name,
            data=_folder(name, data),
            judges=tuple(judge) if judge else None,
            limit=limit,
            signals=None if signals is None else tuple(part.strip() for part in signals.split(",") if part.strip()),
            threshold=4.5 if threshold is None else threshold,
            panel=panel,
            baseline=baseline,
            grid=grid,
        )
    )
    refuse_bad_lines([work.first_reject] if work.first_reject is not None else [], strict)
    plan = work.plan(dry_run=dry_run)
    if dry_run:
        for line in import_module("metajudge.benchmarks.prices").price_lines(work, plan):
            typer.echo(line)
        return
    asking = import_module("metajudge.benchmarks.grid_run")
    where = store_path(store)
    with contextlib.closing(sending.budget()) as budget:
        engines = asking.engines(
            store=where, concurrency=concurrency, budget=budget, batch=sending.batches(where), notify=say
        )
        results = (
            run_stoppable(lambda stop: asking.run_plan(plan, work.decided(), engines, stop=stop, say=say))
            if plan.rows
            else []
        )
    calibrated = None
    if calibration is not None:
        loading = import_module("metajudge.benchmarks.calibrated")
        calibrated = loading.load_calibrated(calibration, work, results, agent_scores, allow_other_calibration)
    findings = work.findings(plan, results, calibrated)
    reporting = import_module("metajudge.benchmarks.bench_report")
    for line in reporting.terminal_lines(findings):
        typer.echo(line)
    if scores is not None:
        write_text(scores, import_module("metajudge.benchmarks.score_lines").score_lines(work, results, calibrated))
        say_written(scores)
    outputs.write(lambda: findings.model_dump_json(indent=2) + "\n", lambda: reporting.report_of(findings))
    missed = tell_missed(import_module("metajudge.benchmarks.bars").reached_by(bars, findings))
    counts = asking.counts_of(results, work.source.rejects)
    if counts.end.next_step is not None:
        typer.echo(counts.end.next_step)
    raise typer.Exit(exit_code(counts, strict=strict, bar_missed=missed))


@app.command("agent_clash")
@takes("outputs", Outputs)
def agent_clash(
    data: Annotated[
        Path | None, typer.Option(help="The study's file of raw judgments, or its folder.", metavar="DIR")
    ] = None,
    *,
    outputs: Outputs,
) -> None:
    """Recompute a published study of a judge panel from its raw judgments, and print where it differs."""
    if data is None:
        source = import_module("metajudge.benchmarks.catalogue").STUDIES["agent_clash"].source
        raise typer.BadParameter(f"give --data: {source}")
    outputs.check()
    studying = import_module("metajudge.benchmarks.agent_clash.study")
    reporting = import_module("metajudge.benchmarks.agent_clash.report")
    study = studying.load_study(data)
    figures = studying.recompute(study)
    page = reporting.report_of(study, figures)
    typer.echo(table_to_text(reporting.summary_table(figures)))
    for sentence in page.summary[1:]:
        typer.echo(sentence)
    outputs.write(lambda: str(studying.to_json(figures)), lambda: page)


app.command("reliability")(reliability)


def _panel(
    config: Path | None,
    agent: list[str] | None,
    rubric: str | None,
    strategy: str | None,
    threshold: float | None,
    seed: int | None,
    families: str | None,
) -> PanelConfig | None:
    """The panel to run; None without agents."""
    if not agent and config is None:
        if rubric is not None or strategy is not None or families is not None:
            raise typer.BadParameter("--rubric, --strategy and --families apply to agents: give --agent or --config")
        return None
    return panel_from(
        config,
        agent,
        rubric=rubric,
        strategy=strategy,
        threshold=threshold,
        seed=seed,
        early_exit=False,
        families=families,
    )


def _folder(name: str, given: list[Path] | None) -> Path:
    if not given:
        raise typer.BadParameter(f"give --data DIR; `metajudge data fetch {name} --out DIR` gets the public data")
    if len(given) > 1:
        raise typer.BadParameter("give one path: put the files in one folder", param_hint="--data")
    return given[0]
