"""``metajudge judge``: which of two responses is better, or how good is each? Judgments for ``metajudge vet``."""

import contextlib
import time
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from metajudge.cli.inputs import AS_THEY_ARE, Reading, reads_judgments
from metajudge.cli.loop import run, say, stop_on_interrupt
from metajudge.cli.options import JsonOption, StoreOption, panel_from, refuse_bad_lines, store_path
from metajudge.cli.sending import (
    DEFAULT_POLL_S,
    BatchLiveBelowOption,
    BatchOption,
    BatchPollOption,
    BatchSizeOption,
    BatchWaitOption,
    BudgetCallsOption,
    BudgetFileOption,
    BudgetTokensOption,
    BudgetUsdOption,
    batches_of,
    budget_of,
)
from metajudge.types.location import StoreLocation

STARTED = time.monotonic()


class CombiningRule(StrEnum):
    """How the two games of a pair become one verdict."""

    AGREE = "agree"
    SUM = "sum"
    STRENGTH = "strength"


class Orders(StrEnum):
    """In which orders a pair is shown."""

    BOTH = "both"
    GIVEN = "given"


@reads_judgments
def judge(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Items (JSONL: id, question, responses; or a table with --map question=...,responses.A=...), or files "
            "or folders of judgments, whose items are judged.",
            metavar="INPUT...",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Write one judgment a line (JSONL), as `vet` reads it.", metavar="FILE")],
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", help="A judge: [NAME=]PROVIDER:MODEL[@BASE_URL]. Repeat for several.", metavar="SPEC"),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="Panel file (TOML) whose agents judge; --judge replaces them.", metavar="FILE"),
    ] = None,
    orders: Annotated[
        Orders, typer.Option(help="Show each pair in both orders, as two judgments, or as given.")
    ] = Orders.BOTH,
    grade: Annotated[
        bool, typer.Option("--grade", help="Grade every response alone from 1 to 10, instead of comparing two.")
    ] = False,
    with_reference: Annotated[
        bool, typer.Option("--with-reference", help="Judges see an item's reference answer, where it has one.")
    ] = False,
    combined: Annotated[
        Path | None,
        typer.Option(help="Write one judgment a pair and judge as well, made of both orders.", metavar="FILE"),
    ] = None,
    rule: Annotated[
        CombiningRule | None,
        typer.Option(help="With --combined: both must agree (default), the sum of wins decides, or that of strengths."),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Judge only the first N items.", min=1)] = None,
    store: StoreOption = None,
    concurrency: Annotated[int, typer.Option(help="Calls in flight at most.", min=1)] = 64,
    budget_usd: BudgetUsdOption = None,
    budget_calls: BudgetCallsOption = None,
    budget_tokens: BudgetTokensOption = None,
    budget_file: BudgetFileOption = None,
    batch: BatchOption = False,
    batch_wait: BatchWaitOption = None,
    batch_live_below: BatchLiveBelowOption = 0,
    batch_size: BatchSizeOption = None,
    batch_poll: BatchPollOption = DEFAULT_POLL_S,
    seed: Annotated[int | None, typer.Option(help="Sent to models that take one, and recorded.")] = None,
    as_json: JsonOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate calls, tokens and dollars; send nothing.")
    ] = False,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Judge pairs of responses, or grade them: each judge answers the question itself, then judges.

    A judge that refuses, or answers without a verdict, makes a judgment without one. One that cannot be asked
    (a time-out, a wrong key) makes none: it is counted, listed in FILE.failures.jsonl and asked again by the next
    run. Replies are kept in the store, so the same command again goes on where it stopped.

    Exit code 1: some judge could not be asked.
    """
    from metajudge.judging.run import JudgeSummary
    from metajudge.report.files import check_apart
    from metajudge.runs.exit_codes import exit_code
    from metajudge.runs.outputs import write_lines

    panel = _judges(config, judge, seed)
    if combined is not None and (grade or orders is not Orders.BOTH):
        raise typer.BadParameter(
            "it needs both games of a pair: leave out --grade and --orders given", param_hint="--combined"
        )
    if rule is not None and combined is None:
        raise typer.BadParameter("it says how --combined FILE is made: name the file, too", param_hint="--rule")
    check_apart([*inputs, *([config] if config else [])], [out, combined])
    source = reading.open_items(inputs, responses=None if grade else 2, limit=limit)
    _require_items(source)
    refuse_bad_lines(source.rejects, reading.strict)
    if dry_run:
        _print_estimate(panel, source, orders, as_json, grade=grade, with_reference=with_reference)
        return
    where = store_path(store)
    batches = batches_of(
        where, batch, wait_s=batch_wait, live_below=batch_live_below, size=batch_size, poll_s=batch_poll
    )
    rejects = source.rejects
    summary = JudgeSummary(items=source.items, bad_lines=len(rejects))
    with contextlib.closing(budget_of(budget_usd, budget_calls, budget_tokens, budget_file)) as budget:
        run(
            _run(
                panel,
                source,
                orders,
                where,
                out,
                summary,
                asking={"concurrency": concurrency, "budget": budget, "batch": batches},
                grade=grade,
                with_reference=with_reference,
                combined=combined,
                rule=rule or CombiningRule.AGREE,
            )
        )
    write_lines(Path(f"{out}.rejects.jsonl"), (asdict(reject) for reject in rejects))
    write_lines(Path(f"{out}.failures.jsonl"), summary.failed_games)
    summary.store, summary.out = str(where), str(out)
    summary.total_s = time.monotonic() - STARTED
    _print_summary(summary, as_json)
    raise typer.Exit(exit_code(summary.counts, strict=reading.strict))


def _judges(config: Path | None, judges: list[str] | None, seed: int | None) -> Any:
    """The judges as a panel that rejudges: agents without rubric or role, each asked on its own."""
    from metajudge.errors import ConfigurationError

    panel = panel_from(config, judges, seed=seed)
    if not panel.agents:
        raise ConfigurationError("no judge: give --judge PROVIDER:MODEL, or a --config with agents")
    discussion = type(panel.discussion)()
    return panel.model_copy(update={"strategy": "rejudge", "routes": {}, "quorum": None, "discussion": discussion})


def _require_items(source: Any) -> None:
    """Reads all items once, before anything is sent: contradictions end the run here."""
    from metajudge.errors import InputError

    if sum(1 for _ in source) == 0:
        reason = f": {source.rejects[0]}" if source.rejects else ""
        raise InputError(f"the input holds no item with two responses{reason}")


async def _run(
    panel: Any,
    source: Any,
    orders: Orders,
    store: StoreLocation,
    out: Path,
    summary: Any,
    *,
    asking: dict[str, Any],
    grade: bool,
    with_reference: bool,
    combined: Path | None,
    rule: CombiningRule,
) -> None:
    from metajudge.judging.run import PairedGames, judge_items
    from metajudge.runs.loop import RunEnd, Stop
    from metajudge.runs.outputs import OrderedFile
    from metajudge.runs.progress import Progress
    from metajudge.vetting.engine import Engine

    stop = Stop()
    shown = source.responses if grade else source.items * (2 if orders is Orders.BOTH else 1)
    total = shown * len(panel.agents)
    engine = Engine(panel=panel, store=store, command="judge", notify=say, **asking)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(engine)
        stop_on_interrupt(stop, RunEnd.INTERRUPTED)
        file = stack.enter_context(OrderedFile(out))
        paired = None
        if combined is not None:
            summary.combined = 0
            paired = PairedGames(stack.enter_context(OrderedFile(combined)), rule.value, summary)
        progress = stack.enter_context(Progress(summary, engine, total))
        await judge_items(
            engine,
            source,
            orders=orders.value,
            file=file,
            summary=summary,
            workers=engine.workers,
            progress=progress.update,
            stop=stop,
            grade=grade,
            with_reference=with_reference,
            paired=paired,
        )


def _print_estimate(
    panel: Any, source: Any, orders: Orders, as_json: bool, *, grade: bool, with_reference: bool
) -> None:
    import orjson

    from metajudge.judging.estimate import estimate_judging

    estimate = estimate_judging(panel, source, orders.value, grade=grade, with_reference=with_reference)
    if as_json:
        typer.echo(orjson.dumps({"items": source.items, **estimate.to_json()}).decode())
        return
    cost = "unknown" if estimate.cost_usd is None else f"${estimate.cost_usd:.4f}"
    typer.echo(
        f"Dry run, nothing sent: {source.items} items, {estimate.judgments} judgments, as many calls, about "
        f"{estimate.input_tokens:,} input and {estimate.output_tokens:,} output tokens, cost {cost}"
    )
    if estimate.unpriced:
        typer.echo(f"No price is known for {', '.join(estimate.unpriced)}: give a price in a panel file.")


def _print_summary(summary: Any, as_json: bool) -> None:
    if as_json:
        import orjson

        typer.echo(orjson.dumps(summary.to_json()).decode())
        return
    from metajudge.cli.judge_report import print_report

    print_report(summary)
