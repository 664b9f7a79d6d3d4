"""``metajudge judge``: which of two responses is better, or how good is each? Judgments for ``metajudge vet``."""

import contextlib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import orjson
import typer
from rich.console import Console
from rich.table import Table

from metajudge.cli import options
from metajudge.cli.inputs import Reading, reads_items
from metajudge.cli.sending import Sending, print_estimate
from metajudge.errors import InputError
from metajudge.files.command_line import command
from metajudge.files.output import check_apart
from metajudge.judging.judges import Game, Grading
from metajudge.judging.records import Rule, judgment_of
from metajudge.judging.run import JudgeTotals, estimate_judging, grade_items, judge_items, was_asked
from metajudge.reading.jsonl import to_line
from metajudge.runs.exit_codes import exit_code
from metajudge.runs.loop import Stop
from metajudge.runs.outputs import OrderedFile, write_lines
from metajudge.runs.progress import Progress
from metajudge.runs.totals import in_words
from metajudge.session import Session
from metajudge.types import Judgment


def print_report(totals: JudgeTotals) -> None:
    """Prints verdicts by judge, calls and cost, and the next step."""
    console = Console(highlight=False)
    console.print(f"Judged {totals.items} items: {totals.judgments} judgments", soft_wrap=True, markup=False)
    console.print(_counts(totals))
    vetting = command("vet", str(totals.out), "--agent", "PROVIDER:MODEL")
    following = totals.end.next_step or (f"Vet them: {vetting}" if totals.judgments else None)
    for line in (*_problems(totals), totals.took, *filter(None, [following])):
        console.print(line, soft_wrap=True, markup=False)


def _counts(totals: JudgeTotals) -> Table:
    table = Table(box=None)
    table.add_column("judge", overflow="fold")
    graded = any(count.grades for count in totals.by_judge.values())
    for heading in (*(["grades"] if graded else ["preferences", "ties"]), "no verdict", "not asked"):
        table.add_column(heading, justify="right")
    for name, count in totals.by_judge.items():
        given = (count.grades,) if graded else (count.preferences, count.ties)
        numbers = (*given, count.no_verdict, count.failed)
        table.add_row(name, *(str(number) for number in numbers))
    return table


def _problems(totals: JudgeTotals) -> list[str]:
    lines = []
    if totals.combined is not None:
        lines.append(f"{totals.combined} verdicts were combined from the games of both orders.")
    if totals.no_verdict:
        lines.append(f"Without a verdict, recorded with the reason: {in_words(totals.no_verdict)}.")
    if totals.failures:
        lines.append(
            f"Failed calls: {in_words(totals.failures)}; see {totals.out}.failures.jsonl. "
            "Run the same command again to retry them."
        )
    if totals.bad_lines:
        lines.append(f"{totals.bad_lines} lines could not be judged; the reasons are in {totals.out}.rejects.jsonl")
    return lines


@reads_items
@options.takes("sending", Sending)
@options.takes("judges", options.Judges)
def judge(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Items (JSONL: id, question, responses; or a table with --map question=...,responses.A=...), or files "
            "or folders of judgments, whose items are judged.",
            metavar="INPUT...",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Write one judgment per line (JSONL), readable by `vet`.", metavar="FILE")],
    judges: options.Judges,
    orders: Annotated[
        Literal["both", "given"], typer.Option(help="Show each pair in both orders, as two judgments, or as given.")
    ] = "both",
    grade: Annotated[
        bool, typer.Option("--grade", help="Grade every response alone from 1 to 10, instead of comparing two.")
    ] = False,
    with_reference: Annotated[
        bool, typer.Option("--with-reference", help="Show judges an item's reference answer, if it has one.")
    ] = False,
    combined: Annotated[
        Path | None,
        typer.Option(help="Also write one judgment per pair and judge, combined from both orders.", metavar="FILE"),
    ] = None,
    rule: Annotated[
        Rule | None,
        typer.Option(
            help="With --combined: both orders must agree (default), or the sum of wins or of strengths decides."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Judge only the first N items.", min=1)] = None,
    store: options.StoreOption = None,
    seed: options.SeedOption = None,
    as_json: options.JsonOption = False,
    dry_run: options.DryRunOption = False,
    *,
    sending: Sending,
    reading: Reading,
) -> None:
    """Judge pairs of responses, or grade them: each judge answers the question itself, then judges.

    A refusal, or an answer without a verdict, is recorded as a judgment without a verdict. A failed call (a time-out,
    a wrong key) gives no judgment: it is counted, listed in FILE.failures.jsonl and retried by the next run. Replies
    are kept in the store: run the same command again to resume.

    Exit code 1: a call failed.
    """
    panel = judges.panel(seed=seed)
    if combined is not None and (grade or orders != "both"):
        raise typer.BadParameter(
            "needs both games of a pair: leave out --grade and --orders given", param_hint="--combined"
        )
    if rule is not None and combined is None:
        raise typer.BadParameter("applies to --combined FILE only: give both, or leave it out", param_hint="--rule")
    check_apart([*inputs, *([judges.config] if judges.config else [])], [out, combined])
    source = reading.open_items(inputs, responses=None if grade else 2, limit=limit)
    if not sum(1 for _ in source):  # all items are read before anything is sent
        reason = f": {source.rejects[0]}" if source.rejects else ""
        raise InputError(f"the input has no item with two responses{reason}")
    options.refuse_bad_lines(source.rejects, reading.strict)
    if dry_run:
        found = estimate_judging(panel, source, orders, grade=grade, with_reference=with_reference)
        work = f"{source.items} items, {found.judgments} judgments, as many calls"
        print_estimate(found, work, panel, "judge --grade" if grade else "judge", as_json, {"items": source.items})
        return
    where = options.store_path(store)
    batches = sending.batches(where)
    rejects = source.rejects
    totals = JudgeTotals(items=source.items, bad_lines=len(rejects))
    shown = source.responses if grade else source.items * (2 if orders == "both" else 1)

    async def judged(session: Session, stop: Stop, progress: Progress) -> None:
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(OrderedFile(out))
            pairs = None if combined is None else stack.enter_context(OrderedFile(combined))

            def on_game(index: int, game: Game | Grading) -> None:
                file.write(index, to_line(judgment_of(game)) if was_asked(game) else b"")
                progress.update()

            def on_combined(index: int, judgment: Judgment) -> None:
                assert pairs is not None
                pairs.write(index, to_line(judgment))

            if grade:
                await grade_items(
                    session, source, with_reference=with_reference, totals=totals, stop=stop, on_game=on_game
                )
                return
            await judge_items(
                session,
                source,
                orders=orders,
                with_reference=with_reference,
                rule=None if pairs is None else rule or "agree",
                totals=totals,
                stop=stop,
                on_game=on_game,
                on_combined=on_combined,
            )

    sending.run(judged, totals, shown * len(panel.agents), panel, where, "judge", batch=batches)
    write_lines(Path(f"{out}.rejects.jsonl"), (asdict(reject) for reject in rejects))
    write_lines(Path(f"{out}.failures.jsonl"), totals.failed_games)
    totals.store, totals.out = str(where), str(out)
    if as_json:
        typer.echo(orjson.dumps(totals.to_json()).decode())
    else:
        print_report(totals)
    raise typer.Exit(exit_code(totals.counts, strict=reading.strict))
