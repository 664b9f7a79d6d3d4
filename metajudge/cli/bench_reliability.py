"""``metajudge bench reliability``: a panel of judges over labelled pairs, several times."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from metajudge.clashes.run import ClashTotals
from metajudge.cli.options import (
    DryRunOption,
    Judges,
    StoreOption,
    StrictOption,
    echo_lines,
    refuse_bad_lines,
    store_path,
    takes,
)
from metajudge.cli.outputs import Outputs
from metajudge.cli.sending import Spending, say_where_texts_go, takes_budget
from metajudge.errors import InputError
from metajudge.readers.human_preferences import read_preferences
from metajudge.report.tables import table_to_text
from metajudge.runs.exit_codes import exit_code
from metajudge.runs.loop import Stop
from metajudge.runs.progress import Progress
from metajudge.session import Session


@takes("outputs", Outputs)
@takes_budget
@takes("judges", Judges)
def reliability(
    data: Annotated[
        Path | None,
        typer.Option(
            help="Labelled pairs (items as JSONL, MT-Bench human judgments, Arena-100k), or records of `clash`.",
            metavar="FILE",
        ),
    ] = None,
    *,
    judges: Judges,
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
    store: StoreOption = None,
    strict: StrictOption = False,
    dry_run: DryRunOption = False,
    spending: Spending,
    outputs: Outputs,
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
    refuse_bad_lines(study.pairs.rejects, strict)
    if dry_run:
        say_where_texts_go(study.panel.agents)
        typer.echo(study.price())
        return
    totals = ClashTotals(bad_lines=len(study.pairs.rejects))

    async def asked(session: Session, stop: Stop, progress: Progress) -> Any:
        return await study.run(session, records, totals=totals, stop=stop, update=progress.update)

    steps = runs * len(study.items)
    done = spending.run(asked, totals, steps, study.panel, store_path(store), "bench reliability")
    _write(done.records, f"{data} ({study.pairs.kind})", outputs, runs, done.third)
    if records is not None:
        outputs.tell(f"Written: {records} (every attempt; run the same command again to resume)")
    if totals.end.next_step is not None:
        outputs.tell(totals.end.next_step)
    raise typer.Exit(exit_code(totals.counts, strict=strict))


def _write(records: list[object], source: str, outputs: Outputs, runs: int | None = None, third: object = None) -> None:
    analysing = import_module("metajudge.benchmarks.reliability.analysis")
    reporting = import_module("metajudge.benchmarks.reliability.report")
    found = analysing.analyse_records(records, runs, third)
    table = table_to_text(reporting.terminal_table(found.figures))
    echo_lines((table, *reporting.sentences(found.figures), *found.summary) if not outputs.as_json else ())
    outputs.write(
        lambda: str(import_module("metajudge.benchmarks.figure").to_json(found.figures)),
        lambda: reporting.report_of(
            found.figures,
            title="Reliability of a judge panel",
            summary=found.summary,
            provenance={"data": source, **found.provenance},
        ),
    )
