"""``metajudge clash``: candidates answer, a blind panel ranks the answers, the rankings are counted."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from metajudge.cli.loop import run
from metajudge.cli.options import ConfigOption, StoreOption, StrictOption, refuse_bad_lines, store_path
from metajudge.types.location import StoreLocation

STARTED = time.monotonic()
SPEC = "[NAME=]PROVIDER:MODEL[@BASE_URL]"


class Responses(StrEnum):
    """Where the answers come from."""

    GENERATE = "generate"
    GIVEN = "given"


def clash(
    prompt: Annotated[
        str,
        typer.Argument(
            help="A prompt, or a file of them (JSONL: id, question, and responses where they are given).",
            metavar="PROMPT",
        ),
    ],
    candidate: Annotated[
        list[str] | None,
        typer.Option("--candidate", help=f"A model that answers: {SPEC}. Repeat.", metavar="SPEC"),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", help=f"A judge of the panel: {SPEC}. Repeat; odd panels tie less.", metavar="SPEC"),
    ] = None,
    config: ConfigOption = None,
    criteria_model: Annotated[
        str | None,
        typer.Option(help="Names criteria for each prompt; without it the generic four are scored.", metavar="SPEC"),
    ] = None,
    responses: Annotated[
        Responses, typer.Option(help="Have the candidates answer, or judge the responses given in the file.")
    ] = Responses.GENERATE,
    observers: Annotated[
        bool, typer.Option("--observers", help="Candidates rank all answers, too; shown beside, never counted.")
    ] = False,
    voters: Annotated[
        bool, typer.Option("--voters", help="Candidates rank all answers, and count: 1 against 2 for a judge.")
    ] = False,
    judge_weight: Annotated[
        float | None, typer.Option(help="Weight of each judge; default 1, with --voters 2.")
    ] = None,
    candidate_weight: Annotated[
        float | None, typer.Option(help="With --voters: weight of each candidate's vote; default 1.")
    ] = None,
    quorum: Annotated[
        int | None, typer.Option(help="Judges that have to give a ranking; default more than half of the panel.")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Judge the same answers N times, under fresh labels.", min=1)] = 1,
    cycles: Annotated[int, typer.Option(help="With --regenerate: N times, with answers made anew.", min=1)] = 1,
    regenerate: Annotated[bool, typer.Option("--regenerate", help="Make the answers anew in every cycle.")] = False,
    ties: Annotated[bool, typer.Option("--ties", help="Judges may leave responses tied.")] = False,
    with_reference: Annotated[
        bool, typer.Option("--with-reference", help="Judges see an item's reference answer.")
    ] = False,
    keep_names: Annotated[
        bool, typer.Option("--keep-names", help="Leave models' and providers' names in responses readable.")
    ] = False,
    temperature: Annotated[float | None, typer.Option(help="Of the candidates' answers.", min=0, max=2)] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Length limit of the candidates' answers.", min=1)] = None,
    criteria_temperature: Annotated[float, typer.Option(help="Of the criteria.", min=0, max=2)] = 0.3,
    criteria_max_tokens: Annotated[int, typer.Option(help="Length limit of the criteria.", min=1)] = 150,
    seed: Annotated[int, typer.Option(help="Of the labels; recorded.")] = 0,
    attempts: Annotated[
        int, typer.Option(help="Attempts at an evaluation in which somebody could not be asked, over all runs.", min=1)
    ] = 3,
    limit: Annotated[int | None, typer.Option(help="Only the first N prompts.", min=1)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Append every attempt to this file (JSONL); needed for a file of prompts.", metavar="FILE"),
    ] = None,
    judgments: Annotated[
        Path | None, typer.Option(help="Write the rankings as judgments (JSONL) that `vet` reads.", metavar="FILE")
    ] = None,
    json_out: Annotated[
        Path | None,
        typer.Option("--json", help="Write summary, standings and verdicts; - for standard output.", metavar="OUT"),
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(help="Write a report: .html, .md or .json by its name. Repeatable.", metavar="OUT.html"),
    ] = None,
    store: StoreOption = None,
    concurrency: Annotated[int, typer.Option(help="Calls in flight at most.", min=1)] = 64,
    budget_usd: Annotated[float | None, typer.Option(help="Stop before spending more than this.")] = None,
    strict: StrictOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate calls, tokens and dollars; send nothing.")
    ] = False,
) -> None:
    """Compare models' answers: every judge ranks all of them without knowing whose they are; Borda points decide.

    A tie is a result. Judges are told nothing but the question, the criteria and the answers under neutral labels, in
    an order drawn for each judge. A judge that is lost is missing in every denominator, never left out of it. Replies
    are kept in the store and every attempt in --out: the same command goes on where it stopped.

    Exit code 1: some verdict, candidate or judge is missing.
    """
    from metajudge.clashes.files import check_outputs, open_questions
    from metajudge.cli.clash_setup import Settings
    from metajudge.report.files import check_apart

    given = responses is Responses.GIVEN
    settings = Settings(
        candidates=tuple(candidate or ()),
        judges=tuple(judge or ()),
        config=config,
        criteria_model=criteria_model,
        given=given,
        observers=observers,
        voters=voters,
        judge_weight=judge_weight,
        candidate_weight=candidate_weight,
        quorum=quorum,
        repeats=repeats,
        cycles=cycles,
        regenerate=regenerate,
        ties=ties,
        with_reference=with_reference,
        hide_names=not keep_names,
        temperature=temperature,
        max_tokens=max_tokens,
        criteria_temperature=criteria_temperature,
        criteria_max_tokens=criteria_max_tokens,
        seed=seed,
        attempts=attempts,
    )
    settings.check()
    check_outputs(json_out, judgments, report or [], out)
    questions = open_questions(prompt, given=given, limit=limit)
    refuse_bad_lines(questions.rejects, strict)
    check_apart(
        [prompt] if questions.from_file else [],
        [out, judgments, None if str(json_out) == "-" else json_out, *(report or [])],
    )
    if dry_run:
        _print_estimate(settings, questions)
        return
    if questions.from_file and out is None:
        raise typer.BadParameter("a file of prompts needs --out FILE: every attempt is kept there", param_hint="--out")
    code = run(
        _run(settings, questions, store_path(store), out, judgments, json_out, report or [], concurrency, budget_usd)
    )
    raise typer.Exit(code)


def _print_estimate(settings: Any, questions: Any) -> None:
    from metajudge.clashes.estimate import estimate_clash

    estimate = estimate_clash(settings, questions.items)
    cost = "unknown" if estimate.cost_usd is None else f"${estimate.cost_usd:.4f}"
    typer.echo(
        f"Dry run, nothing sent: {len(questions.items)} prompts, {estimate.judgments} evaluations, at most "
        f"{estimate.calls} calls, about {estimate.input_tokens:,} input and {estimate.output_tokens:,} output tokens, "
        f"cost {cost}"
    )
    if estimate.unpriced:
        typer.echo(f"No price is known for {', '.join(estimate.unpriced)}: judges may have one in a panel file.")


async def _run(
    settings: Any,
    questions: Any,
    store: StoreLocation,
    out: Path | None,
    judgments: Path | None,
    json_out: Path | None,
    reports: list[Path],
    concurrency: int,
    budget_usd: float | None,
) -> int:
    from metajudge.cli.clash_run import ClashSummary, hold
    from metajudge.runs.exit_codes import exit_code

    summary = ClashSummary(bad_lines=len(questions.rejects))
    records = await hold(
        settings, questions, summary, store=store, out=out, concurrency=concurrency, budget_usd=budget_usd
    )
    summary.total_s = time.monotonic() - STARTED
    _write(records, summary, questions, out, judgments, json_out, reports)
    return exit_code(summary.counts)


def _write(
    records: Any,
    summary: Any,
    questions: Any,
    out: Path | None,
    judgments: Path | None,
    json_out: Path | None,
    reports: list[Path],
) -> None:
    from metajudge.clashes.files import write_judgments
    from metajudge.cli.clash_report import print_clash, report_of, summary_json
    from metajudge.report.files import write_report, write_text

    cycles, table = _cycle_figures(records)
    if judgments is not None:
        summary.judgments_written = write_judgments(judgments, records)
    for reject in questions.rejects[:5]:
        typer.echo(f"metajudge: {reject}", err=True)
    if json_out is not None and str(json_out) == "-":
        typer.echo(summary_json(records, summary, cycles), nl=False)
    else:
        if json_out is not None:
            write_text(json_out, summary_json(records, summary, cycles))
        print_clash(records, summary, out=out, judgments=judgments, cycles=table)
    for path in reports:
        write_report(report_of(records, summary), path)


def _cycle_figures(records: Any) -> tuple[dict[str, Any], Any]:
    """What several cycles show of the winners' stability, as data and as a table; nothing for one cycle."""
    if len({record.cycle for record in records}) < 2:
        return {}, None
    from importlib import import_module

    # Mapped into the package from another folder, which type checkers cannot follow.
    figures = import_module("metajudge.benchmarks.reliability.cycles").cycle_figures(records)
    table = import_module("metajudge.benchmarks.reliability.report").figure_table("Over cycles", figures)
    return {name: figure.entry() for name, figure in figures.items()}, table
