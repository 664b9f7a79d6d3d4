"""``metajudge bench``: judges, and vetting of their judgments, on benchmarks with true labels."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from typer.core import TyperGroup

from metajudge.clashes.run import ClashTotals
from metajudge.cli import options
from metajudge.cli.fail_under import FailUnderOption, parse_fail_under, tell_missed
from metajudge.cli.inputs import Labelling, Reading, reads_judgments, takes_labels
from metajudge.cli.loop import run_stoppable, say
from metajudge.cli.sending import Sending, Spending, say_where_texts_go, takes_budget
from metajudge.errors import InputError
from metajudge.evidence.units import note_of
from metajudge.files.output import write_text
from metajudge.panels.config import PanelConfig
from metajudge.reading import JudgmentSource
from metajudge.reading.formats.human_preferences import read_preferences
from metajudge.report.tables import table_to_text
from metajudge.runs.exit_codes import exit_code
from metajudge.runs.loop import Stop
from metajudge.runs.progress import Progress
from metajudge.session import Session

if TYPE_CHECKING:
    from typer._click import Command, Context


@options.takes("outputs", options.Outputs)
@takes_budget
@options.takes("judges", options.Judges)
def reliability(
    data: Annotated[
        Path | None,
        typer.Option(
            help="Labelled pairs (items as JSONL, MT-Bench human judgments, Arena-100k), or records of `clash`.",
            metavar="FILE",
        ),
    ] = None,
    *,
    judges: options.Judges,
    runs: Annotated[int, typer.Option(help="Full runs, each with its own labels and replies.")] = 2,
    targeted_third: Annotated[
        bool,
        typer.Option(
            "--targeted-third",
            help="One more run of all stable-wrong, all unstable and the least confident stable-right pairs.",
        ),
    ] = False,
    third_size: Annotated[
        int | None, typer.Option(help="Pairs of the third run; default 60 % of all.", metavar="N")
    ] = None,
    criteria_model: Annotated[
        str | None,
        typer.Option(
            help="Model that proposes criteria for each question; default: four general criteria.", metavar="SPEC"
        ),
    ] = None,
    sample: Annotated[int | None, typer.Option(help="Draw N of the eligible pairs, with seed 42.", metavar="N")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N pairs.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Seed of the labels; models get no seed, so that repeats differ.")] = 0,
    records: Annotated[
        Path | None,
        typer.Option(help="Append every attempt; the same command resumes from this file.", metavar="OUT.jsonl"),
    ] = None,
    store: options.StoreOption = None,
    strict: options.StrictOption = False,
    dry_run: options.DryRunOption = False,
    spending: Spending,
    outputs: options.Outputs,
) -> None:
    """Run a panel several times over labelled pairs and report its reliability, or analyse recorded runs.

    Without judges, the file must contain records of `metajudge clash`, and no model is asked.
    """
    outputs.check(records)
    if data is None:
        source = import_module("metajudge.benchmarks.benchmark").STUDIES["reliability"].source
        raise typer.BadParameter(f"give --data: {source}")
    if data.is_dir():
        raise InputError(
            f"{data} is a folder: name one file, of labelled pairs (items as JSONL, MT-Bench human judgments or "
            "Arena-100k) or of `metajudge clash` records"
        )
    recording = import_module("metajudge.benchmarks.reliability.records")
    if not judges.judge and judges.config is None:
        if not recording.holds_clash_records(data):
            raise typer.BadParameter(
                "give --judge PROVIDER:MODEL for each judge, or a file of `metajudge clash` records"
            )
        _write(recording.read_clash_records(data), str(data), outputs)
        return
    running = import_module("metajudge.benchmarks.reliability.run")
    protocol = running.Protocol(runs, targeted_third, third_size)
    study = running.Study(
        pairs=read_preferences(data, sample=sample),
        panel=judges.panel(),
        criteria_model=criteria_model,
        protocol=protocol,
        limit=limit,
        seed=seed,
    )
    outputs.tell(f"{data}: {study.sentence}")
    for reject in study.pairs.rejects:
        typer.echo(f"metajudge: {reject}", err=True)
    options.refuse_bad_lines(study.pairs.rejects, strict)
    if dry_run:
        say_where_texts_go(study.panel.agents)
        typer.echo(study.price())
        return
    totals = ClashTotals(bad_lines=len(study.pairs.rejects))

    async def asked(session: Session, stop: Stop, progress: Progress) -> Any:
        return await study.run(session, records, totals=totals, stop=stop, update=progress.update)

    steps = runs * len(study.items)
    done = spending.run(asked, totals, steps, study.panel, options.store_path(store), "bench reliability")
    _write(done.records, f"{data} ({study.pairs.kind})", outputs, runs, done.third)
    if records is not None:
        outputs.tell(f"Written: {records} (every attempt; run the same command again to resume)")
    if totals.end.next_step is not None:
        outputs.tell(totals.end.next_step)
    raise typer.Exit(exit_code(totals.counts, strict=strict))


def _write(
    records: list[object], source: str, outputs: options.Outputs, runs: int | None = None, third: object = None
) -> None:
    analysing = import_module("metajudge.benchmarks.reliability.analysis")
    reporting = import_module("metajudge.benchmarks.reliability.report")
    found = analysing.analyse_records(records, runs, third)
    table = table_to_text(reporting.terminal_table(found.figures))
    options.echo_lines((table, *reporting.sentences(found.figures), *found.summary) if not outputs.as_json else ())
    outputs.write(
        lambda: _figures(found.figures),
        lambda: reporting.report_of(
            found.figures,
            title="Reliability of a judge panel",
            summary=found.summary,
            provenance={"data": source, **found.provenance},
        ),
    )


def _figures(found: Mapping[str, Any]) -> str:
    return options.versioned(orjson.loads(import_module("metajudge.benchmarks.figure").to_json(found)))


FILE_COMMAND = "file"
"""The command that a path is for, where it is given in place of a benchmark's name."""
MEASUREMENTS = {
    "overhead": "metajudge.benchmarks.perf.overhead",
    "million": "metajudge.benchmarks.perf.million",
    "reading": "metajudge.benchmarks.perf.reading",
    "service": "metajudge.benchmarks.perf.service",
    "start": "metajudge.benchmarks.perf.start",
    "faults": "metajudge.benchmarks.perf.faults",
    "fuzz": "metajudge.benchmarks.perf.fuzz",
    "tables": "metajudge.benchmarks.perf.tables",
    "voting": "metajudge.benchmarks.perf.voting",
    "free-evidence": "metajudge.benchmarks.free_evidence",
    "shrink": "metajudge.benchmarks.shrink",
    "probabilities": "metajudge.benchmarks.probabilities_study",
    "promise": "metajudge.benchmarks.promise_study",
}
"""Name -> module; its ``main`` is the command."""


def perf(
    name: Annotated[str, typer.Argument(help=f"What to measure: {', '.join(MEASUREMENTS)}.", metavar="NAME")],
    args: Annotated[
        list[str] | None,
        typer.Argument(help="Its own arguments; NAME --help lists them.", metavar="ARGS", show_default=False),
    ] = None,
) -> None:
    """Measure what metajudge costs, how it stands up to faults, or how its own figures came about.

    overhead: time and CPU beside the models' own; million: vetting a large file; reading: reading one; service: the
    HTTP service under load; start: starting a command; faults: failing models, networks, disks and processes; fuzz:
    broken replies through every parser; tables: what is read of mutated tables whose truth is known; voting: the voting
    rules beside other libraries; free-evidence: what verdicts kept without labels are worth; shrink: the two numbers of
    the shipped default; probabilities: P(right) out of fold beside a model of fifteen lines; promise: how often
    promises are broken on populations with a known truth, and what they keep.
    """
    if name not in MEASUREMENTS:
        raise typer.BadParameter(f"no {name!r}; there are {', '.join(MEASUREMENTS)}", param_hint="NAME")
    command_of(name)(args or [], prog_name=f"metajudge bench perf {name}")


def command_of(name: str) -> typer.Typer:
    """The command of a measurement."""
    command = typer.Typer(add_completion=False, rich_markup_mode=None)
    command.command(name)(import_module(MEASUREMENTS[name]).main)
    return command


class _BenchGroup(TyperGroup):
    """Commands by name; a path that exists and is no command is a file to measure."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        first = args[0] if args else ""
        known = first in self.commands or first in self.get_help_option_names(ctx)
        if first and not known and (first.startswith("-") or Path(first).exists()):
            args = [FILE_COMMAND, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: "Context", args: list[str]) -> "tuple[str | None, Command | None, list[str]]":
        if args and self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.commands, n=1)
            names = ", ".join(name for name in self.commands if name not in _NO_BENCHMARKS)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(
                f"No such command {args[0]!r}, and no such file.{meant} Give a benchmark ({names}), or a file or "
                "folder of labelled judgments."
            )
        return super().resolve_command(ctx, args)


_NO_BENCHMARKS = ("list", FILE_COMMAND, "perf")

app = typer.Typer(
    cls=_BenchGroup,
    help="Measure judges, and vetting of their judgments, on true labels: a benchmark's, or those of your own FILE.",
    no_args_is_help=True,
)

SIGNALS_HELP = (
    "Signals to use, separated by commas: order, strength, repeats, versions, peers, confidence, "
    "rewards, rationale, format, agents. Default: the calibration's, else those of the kind of verdict."
)


@app.command("list")
def list_all() -> None:
    """List the benchmarks with their licences and sources."""
    catalogue = import_module("metajudge.benchmarks.benchmark")
    options.echo_lines(catalogue.lines())


@dataclass(frozen=True, slots=True)
class Probabilities:
    """Where probabilities come from: a calibration, or a fit to the labels themselves."""

    calibration: Annotated[
        Path | None, typer.Option(help="A calibration made by `metajudge calibrate fit`.", metavar="FILE")
    ] = None
    agent_scores: Annotated[
        Path | None,
        typer.Option(
            help="Assessments of an earlier run, for a calibration that reads agents' scores.", metavar="FILE"
        ),
    ] = None
    allow_other_calibration: Annotated[
        bool,
        typer.Option("--allow-other-calibration", help="Apply it to judges or agents it was not fitted on; marked."),
    ] = False
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Fit a calibration to the labels, out of fold by question, and average over so many divisions into "
            "folds; 0: none. Default: 1 without --calibration and for --grid ours; none for judgebench and llmbar.",
            min=0,
            metavar="N",
        ),
    ] = None

    def check(self) -> None:
        """Refuses options that contradict one another."""
        if self.calibration is None and (self.agent_scores is not None or self.allow_other_calibration):
            raise typer.BadParameter("--agent-scores and --allow-other-calibration need --calibration to use them")
        if self.calibration is not None and self.seeds:
            raise typer.BadParameter("--seeds fits a calibration to the labels: give it or --calibration, not both")

    def of(self, work: Any, results: Sequence[Any]) -> Any:
        """The probabilities of a run's judgments; None without any."""
        making = import_module("metajudge.benchmarks.probabilities")
        if self.calibration is not None:
            return making.load_calibrated(
                self.calibration, work, results, self.agent_scores, self.allow_other_calibration
            )
        seeds = int(work.fitted) if self.seeds is None else self.seeds
        return making.fit_out_of_fold(work, seeds, results) if seeds else None


@app.command(FILE_COMMAND, help="Measure judges and vetting on labelled files of your own; `bench FILE` is the same.")
@app.command("rewardbench2", help="Measure judges and vetting on RewardBench 2 (best of four).")
@app.command("realmistake", help="Measure judges and vetting on ReaLMistake (pass or fail of a response).")
@app.command("mtbench", help="Measure judges and vetting on MT-Bench.")
@app.command("llmbar", help="Measure judges and vetting on LLMBar.")
@app.command("judgebench", help="Measure judges and vetting on JudgeBench.")
@options.takes("outputs", options.Outputs)
@options.takes("sending", Sending)
@options.takes("probabilities", Probabilities)
@takes_labels
@options.takes("agents", options.Agents)
@reads_judgments
def benchmark(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Labelled judgments of your own, in any format that `vet` reads; for a benchmark, your judges' "
            "judgments on its items.",
            metavar="[FILE]...",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of the benchmark's records, or its repository.", metavar="DIR", show_default=False),
    ] = None,
    judge: Annotated[list[str] | None, typer.Option(help="Report only this judge. Repeatable.")] = None,
    *,
    agents: options.Agents,
    baseline: Annotated[
        str | None,
        typer.Option(help="The judge's own model, as the single-agent baseline: PROVIDER:MODEL.", metavar="SPEC"),
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            help="A grid of configurations: a TOML file, `published` (the paper's experiment) or `ours`.",
            metavar="FILE",
        ),
    ] = None,
    signals: Annotated[str | None, typer.Option(help=SIGNALS_HELP, metavar="NAMES")] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Report N items, drawn by category with --seed, for every judge the same.", min=1, metavar="N"
        ),
    ] = None,
    store: options.StoreOption = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Of the sample that --limit draws (default 0); sent to models that support one, recorded."),
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(help="Write one line per decided judgment (JSONL).", metavar="OUT.jsonl")
    ] = None,
    fail_under: FailUnderOption = None,
    dry_run: options.DryRunOption = False,
    sending: Sending,
    outputs: options.Outputs,
    probabilities: Probabilities,
    labelling: Labelling,
    reading: Reading,
) -> None:
    """Measure a benchmark's judges, and what vetting keeps of their judgments.

    Without agents no model is asked; the report shows judges' accuracy and the precision of free evidence.
    """
    name = str(context.info_name)
    outputs.check(scores)
    bars = parse_fail_under(fail_under)
    probabilities.check()
    panel = _panel(agents, seed)
    own = _own(name, files or [], data or [], reading, labelling)
    benching = import_module("metajudge.benchmarks.bench")
    work = benching.Bench(
        benching.Request(
            benchmark=name,
            data=None if name == FILE_COMMAND else _folder(name, data),
            judges=tuple(judge) if judge else None,
            limit=limit,
            signals=None if signals is None else tuple(part.strip() for part in signals.split(",") if part.strip()),
            threshold=4.5 if agents.threshold is None else agents.threshold,
            panel=panel,
            baseline=baseline,
            grid=grid,
            rule=labelling.rule,
            seed=seed or 0,
        ),
        own,
    )
    options.refuse_bad_lines([] if (reject := work.records.reject) is None else [reject], reading.strict)
    if (note := note_of(work.records.facts.asked, None if own is None else own.unit)) is not None:
        say(note)
    plan = work.plan(dry_run=dry_run)
    if dry_run:
        say_where_texts_go(agent for row in plan.rows for agent in row.panel.all_agents)
        options.echo_lines(import_module("metajudge.benchmarks.prices").price_lines(work, plan))
        return
    running = import_module("metajudge.benchmarks.grid_run")
    where = options.store_path(store)
    with contextlib.closing(sending.budget()) as budget:
        engines = running.engines(
            store=where, concurrency=sending.concurrency, budget=budget, batch=sending.batches(where), notify=say
        )
        results = (
            run_stoppable(lambda stop: running.run_plan(plan, work.vetted(), engines, stop=stop, say=say))
            if plan.rows
            else []
        )
    calibrated = probabilities.of(work, results)
    findings = work.findings(plan, results, calibrated)
    reporting = import_module("metajudge.benchmarks.bench_report")
    options.echo_lines(reporting.terminal_lines(findings) if not outputs.as_json else ())
    if scores is not None:
        write_text(scores, import_module("metajudge.benchmarks.score_lines").score_lines(work, results, calibrated))
        options.say_written(scores, err=outputs.as_json)
    outputs.write(lambda: findings.model_dump_json(indent=2) + "\n", lambda: reporting.report_of(findings))
    missed = tell_missed(import_module("metajudge.benchmarks.findings").reached_by(bars, findings))
    counts = running.counts_of(results, work.source.rejects)
    if counts.end.next_step is not None:
        outputs.tell(counts.end.next_step)
    raise typer.Exit(exit_code(counts, strict=reading.strict, bar_missed=missed))


def _own(
    name: str, files: list[str], data: list[Path], reading: Reading, labelling: Labelling
) -> JudgmentSource | None:
    """The judgments of one's own; None where there are none."""
    if name == FILE_COMMAND:
        files = [*files, *map(str, data)]
        if not files:
            raise typer.BadParameter("give at least one file or folder of labelled judgments")
    elif not files:
        if labelling.labels:
            raise typer.BadParameter("--labels are joined with files of your own: give FILE, too")
        return None
    return reading.open(files, labelling=labelling)


@app.command("agent_clash")
@options.takes("outputs", options.Outputs)
def agent_clash(
    data: Annotated[
        Path | None, typer.Option(help="The study's file of raw judgments, or its folder.", metavar="DIR")
    ] = None,
    *,
    outputs: options.Outputs,
) -> None:
    """Recompute a published study of a judge panel from its raw judgments, and print where it differs."""
    if data is None:
        source = import_module("metajudge.benchmarks.benchmark").STUDIES["agent_clash"].source
        raise typer.BadParameter(f"give --data: {source}")
    outputs.check()
    reporting = import_module("metajudge.benchmarks.agent_clash.report")
    study = import_module("metajudge.benchmarks.agent_clash.records").load_study(data)
    figures = reporting.recompute(study)
    page = reporting.report_of(study, figures)
    options.echo_lines(
        (table_to_text(reporting.summary_table(figures)), *page.summary[1:]) if not outputs.as_json else ()
    )
    outputs.write(lambda: _figures(figures), lambda: page)


app.command("reliability")(reliability)
app.command("perf", context_settings={"allow_interspersed_args": False})(perf)


def _panel(agents: options.Agents, seed: int | None) -> PanelConfig | None:
    """The panel to run; None without agents."""
    if not agents.agent and agents.config is None:
        if agents.rubric is not None or agents.strategy is not None or agents.families is not None:
            raise typer.BadParameter("--rubric, --strategy and --families apply to agents: give --agent or --config")
        return None
    return agents.panel(seed=seed, early_exit=False)


def _folder(name: str, given: list[Path] | None) -> Path:
    if not given:
        raise typer.BadParameter(f"give --data DIR; `metajudge data fetch {name} --out DIR` gets the public data")
    if len(given) > 1:
        raise typer.BadParameter("give one path: put the files in one folder", param_hint="--data")
    return given[0]
