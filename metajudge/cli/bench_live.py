"""``metajudge bench live``: a preregistered experiment with models, and what others do with its result."""

from importlib import import_module
from importlib.resources import files as package_files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from metajudge.cli.inputs import Labelling, Reading, reads_judgments, takes_labels
from metajudge.cli.loop import run_stoppable, say
from metajudge.cli.options import ConcurrencyOption, DryRunOption, takes
from metajudge.cli.outputs import Outputs
from metajudge.errors import ConfigurationError
from metajudge.runs.exit_codes import ExitCode, RunCounts, exit_code

if TYPE_CHECKING:
    from typer._click import Context

RUN = "run"
"""The command that options and files are for, where no command is named."""


class _LiveGroup(TyperGroup):
    """``bench live FILE --budget-usd 20`` is ``bench live run FILE --budget-usd 20``."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        first = args[0] if args else ""
        if first not in self.commands and first not in self.get_help_option_names(ctx):
            args = [RUN, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_LiveGroup,
    help="Run a preregistered experiment with models. Do meta-judges beat free evidence, does a panel beat one, does "
    "room to think help, what does a kept verdict cost? `bench live [FILE]...` is `bench live run [FILE]...`.",
)

OutOption = Annotated[Path, typer.Option("--out", help="Folder of the result; the same one continues a run.")]


@app.command(RUN)
@takes_labels
@reads_judgments
def run(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Labelled judgments, in any format that `vet` reads. Without any, and without --data: the shipped "
            "sample, as a trial.",
            metavar="[FILE]...",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of a benchmark's recorded judgments.", metavar="DIR")
    ] = None,
    benchmark: Annotated[str, typer.Option(help="Whose records --data has; see `bench list`.")] = "judgebench",
    judge: Annotated[list[str] | None, typer.Option(help="Draw judgments of this judge alone. Repeatable.")] = None,
    setup: Annotated[str, typer.Option(help="The experiment: a TOML file, or `openai`.", metavar="FILE")] = "openai",
    plan: Annotated[
        Path | None, typer.Option(help="Carry out this plan (plan.json of a result) on the same data.", metavar="FILE")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="Models in place of the setup's: PROVIDER:MODEL[@BASE_URL], at least two; the first is the one that "
            "the panel of all must beat.",
            metavar="SPEC",
        ),
    ] = None,
    effort_agent: Annotated[
        str | None,
        typer.Option(help="A model to ask with low and with high effort.", metavar="SPEC"),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Questions at most; default what the budget pays for, up to 1,000.", min=1)
    ] = None,
    per_question: Annotated[int, typer.Option(help="Judgments drawn of each question.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Of the draw.", min=0)] = 0,
    budget_usd: Annotated[
        float, typer.Option(help="Stop before spending more than this, earlier commands on the folder included.")
    ] = 20.0,
    out: OutOption = Path("live-run"),
    sign: Annotated[
        Path | None, typer.Option(help="Sign the result with this SSH key (ssh-keygen).", metavar="KEY")
    ] = None,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Fix the plan in the folder and stop, to publish its digest first.")
    ] = False,
    concurrency: ConcurrencyOption = 16,
    dry_run: DryRunOption = False,
    *,
    reading: Reading,
    labelling: Labelling,
) -> None:
    """Plan, fix, ask and report; the same command continues.

    The plan (models, prompts, rubrics, sample, analyses) is fixed by its digest before the first call.
    """
    experiment: Any = import_module("metajudge.benchmarks.live.experiment")
    reporting: Any = import_module("metajudge.benchmarks.live.report")
    signing: Any = import_module("metajudge.benchmarks.live.signing")
    if sign is not None:
        signing.check_key(sign)
    wanted = experiment.Wanted(
        import_module("metajudge.benchmarks.live.setup").load_setup(setup),
        tuple(agent or ()),
        effort_agent,
        None if plan is None else _plan_of(plan),
        limit,
        per_question,
        seed,
        budget_usd,
    )
    candidates, source = _candidates(files or [], data, benchmark, judge or [], reading, labelling)
    prepared = experiment.prepare(wanted, candidates, source, out)
    for line in reporting.plan_lines(prepared.plan):
        typer.echo(line)
    kin = experiment.kinship_note(prepared)
    if kin is not None:
        typer.echo(f"Note: {kin}.")
    if dry_run:
        typer.echo("Dry run: nothing is sent and nothing is written.")
        return
    record = experiment.fix(out, prepared)
    typer.echo(f"The plan is fixed in {out}: {prepared.plan.digest}")
    if plan_only:
        return
    findings, end = run_stoppable(
        lambda stop: experiment.carry_out(
            out, prepared, record, budget_usd=budget_usd, concurrency=concurrency, stop=stop, say=say
        )
    )
    for line in reporting.report_lines(prepared.plan, findings):
        typer.echo(line)
    if sign is not None:
        folder: Any = import_module("metajudge.benchmarks.live.folder")
        signing.sign(out / folder.MANIFEST, sign)
    signed = "signed" if sign is not None else "not signed (--sign KEY)"
    typer.echo(f"Written: {out}, {signed}. Prompts and replies are in {out}.work, which is not for publication.")
    if end.next_step is not None:
        typer.echo(end.next_step)
    raise typer.Exit(exit_code(RunCounts(end, failed=sum(findings.failures.values()))))


@app.command()
@takes_labels
@reads_judgments
def verify(
    folder: Annotated[Path, typer.Argument(help="A result of `bench live`.", metavar="FOLDER")],
    files: Annotated[
        list[str] | None,
        typer.Argument(help="The labelled judgments it was drawn from, to draw them again.", metavar="[FILE]..."),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The same: folder of a benchmark's records.", metavar="DIR")] = None,
    benchmark: Annotated[str, typer.Option(help="Whose records --data has.")] = "judgebench",
    judge: Annotated[list[str] | None, typer.Option(help="As given to the run. Repeatable.")] = None,
    signers: Annotated[
        Path | None,
        typer.Option(help="Accept signatures of these keys (allowed_signers of ssh-keygen).", metavar="FILE"),
    ] = None,
    signer: Annotated[str | None, typer.Option(help="Who must have signed, as named in --signers.")] = None,
    *,
    reading: Reading,
    labelling: Labelling,
) -> None:
    """Check a result: digests, plan, signature, and every figure computed again from the scores."""
    verifying: Any = import_module("metajudge.benchmarks.live.verifying")
    items = None
    if files or data is not None:
        reading_plan: Any = import_module("metajudge.benchmarks.live.folder").read_run(folder).plan
        candidates, _ = _candidates(files or [], data, benchmark, judge or [], reading, labelling)
        sampling: Any = import_module("metajudge.benchmarks.live.sampling")
        sample = reading_plan.sample
        items = sampling.draw(candidates, sample.questions, sample.per_question, sample.seed)
    if signer is not None and signers is None:
        raise ConfigurationError("--signer is a name in the file of --signers: give it, too")
    checks = verifying.verify(folder, signers=signers, identity=signer, items=items)
    for one in checks:
        state = {True: "holds", False: "DOES NOT HOLD", None: "not checked"}[one.holds]
        typer.echo(f"{one.name}: {state}. {one.words}.")
    if any(one.holds is False for one in checks):
        raise typer.Exit(ExitCode.INCOMPLETE)


@app.command()
@takes("outputs", Outputs)
def merge(
    folders: Annotated[list[Path], typer.Argument(help="Results of one plan, models aside.", metavar="FOLDER...")],
    *,
    outputs: Outputs,
) -> None:
    """Pool several results by question, with the differences between them."""
    outputs.check()
    merging: Any = import_module("metajudge.benchmarks.live.merging")
    found = merging.merge(merging.open_folders(folders))
    for line in merging.merged_lines(found):
        typer.echo(line)
    outputs.write(lambda: found.model_dump_json(indent=1) + "\n", lambda: merging.merged_report(found))


def _plan_of(path: Path) -> Any:
    records: Any = import_module("metajudge.benchmarks.live.records")
    return records.read_record(path, import_module("metajudge.benchmarks.live.plan").LivePlan)


def _candidates(
    files: list[str], data: Path | None, benchmark: str, judges: list[str], reading: Reading, labelling: Labelling
) -> Any:
    """What can be drawn from: files of one's own, a benchmark's records, or the shipped sample."""
    experiment: Any = import_module("metajudge.benchmarks.live.experiment")
    if files and data is not None:
        raise typer.BadParameter("give files of your own or --data, not both")
    if data is not None:
        return experiment.read_candidates(None, benchmark=benchmark, data=data, judges=judges, rule=labelling.rule)
    if not files:
        say("no judgments are given: the shipped sample is used, a trial of 16 made questions that proves nothing")
        files = [str(package_files("metajudge.benchmarks.sample").joinpath("judgments.jsonl"))]
    source = reading.open(files, labelling=labelling)
    found = experiment.read_candidates(source, judges=judges, rule=labelling.rule)
    if source.rejects:
        say(f"{source.rejects:,} lines cannot be read and are left out; `metajudge inspect FILE` shows why")
    return found
