"""``metajudge peers``: models judge each other's answers, and what their rankings say together."""

import contextlib
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from metajudge.cli.loop import run, say, stop_on_interrupt
from metajudge.cli.options import (
    ConfigOption,
    StoreOption,
    StrictOption,
    panel_from,
    refuse_bad_lines,
    store_path,
)
from metajudge.types.location import StoreLocation


class IncludeSelf(StrEnum):
    """Whether the consensus counts the ballots of a model about itself."""

    BOTH = "both"
    YES = "yes"
    NO = "no"


def peers(
    questions: Annotated[
        Path | None, typer.Option(help="Questions (JSONL: id, question, and domain where known).", metavar="FILE")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", help="A model that answers and ranks: [NAME=]PROVIDER:MODEL[@BASE_URL]. Repeat.", metavar="SPEC"
        ),
    ] = None,
    rankings: Annotated[
        Path | None,
        typer.Option(
            help="Rankings collected already (JSONL: question_id, evaluator, ranking): nothing is asked.",
            metavar="FILE",
        ),
    ] = None,
    config: ConfigOption = None,
    rule: Annotated[str, typer.Option(help="The voting rule of the consensus; the others are compared.")] = "kemeny",
    human: Annotated[
        list[str] | None,
        typer.Option(
            help="A ranking by people: a JSON file (ranking or scores), or 'm1 > m2 = m3'. Repeatable.",
            metavar="RANKING",
        ),
    ] = None,
    top_k: Annotated[
        list[int] | None, typer.Option("--top-k", help="Also with ballots cut to the K best. Repeatable.", metavar="K")
    ] = None,
    include_self: Annotated[
        IncludeSelf, typer.Option(help="Consensus with models' own ballots, without, or both.")
    ] = IncludeSelf.BOTH,
    quorum: Annotated[
        int | None, typer.Option(help="Ballots a question needs; default: more than half of those asked for.")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Of the orders shown, the resamples and subsamples; sent to models that take one.")
    ] = 0,
    resamples: Annotated[int, typer.Option(help="Bootstrap draws for intervals; 0 for none.")] = 2000,
    sweep: Annotated[
        bool, typer.Option("--sweep/--no-sweep", help="Subsamples of fewer evaluators and questions.")
    ] = True,
    limit: Annotated[int | None, typer.Option(help="Only the first N questions.", min=1)] = None,
    store: StoreOption = None,
    concurrency: Annotated[int, typer.Option(help="Calls in flight at most.", min=1)] = 64,
    budget_usd: Annotated[float | None, typer.Option(help="Stop before spending more than this.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Append every attempt to this file (JSONL); needed with --questions.", metavar="BALLOTS"),
    ] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write everything found.", metavar="OUT.json")] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(help="Write a report: .html, .md or .json by its name. Repeatable.", metavar="OUT.html"),
    ] = None,
    strict: StrictOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate calls, tokens and dollars; send nothing.")
    ] = False,
) -> None:
    """Rank models by their own judgment: each answers every question, and ranks all answers without knowing whose.

    With --rankings nothing is asked. With --questions every reply is kept in the store and every attempt in the file
    of ballots: after an interruption the same command goes on where it stopped, and asks again whoever could not be
    asked.

    Exit code 1: an answer or a ballot is missing.
    """
    from metajudge.peers import Options, read_human_rankings

    _check_outputs(json_out, report or [], out, [questions, rankings, config])
    options = Options(
        rule=rule,
        include_self=include_self.value,
        quorum=quorum,
        top_k=tuple(dict.fromkeys(top_k or ())),
        resamples=resamples,
        seed=seed,
    )
    if not sweep:
        options = replace(options, sweep_evaluators=(), sweep_questions=())
    options.check()
    humans = read_human_rankings(human or ())
    if (rankings is None) == (questions is None):
        raise typer.BadParameter("give either --rankings FILE, or --questions FILE with a --model for each model")
    if rankings is not None:
        if model or config is not None or out is not None or dry_run:
            raise typer.BadParameter("--rankings asks no model: leave out --model, --config, --out and --dry-run")
        ballots, provenance, code = _read(rankings, limit, strict)
    else:
        assert questions is not None
        panel = _panel(config, model, seed)
        found = _questions(questions, limit)
        refuse_bad_lines(found[1], strict)
        if dry_run:
            _print_estimate(panel, found)
            return
        if out is None:
            raise typer.BadParameter("give --out BALLOTS.jsonl: every attempt is kept there")
        where = store_path(store)
        ballots, provenance, code = run(_ask(panel, found, where, out, seed, concurrency, budget_usd))
        if not any(one.status == "ok" for one in ballots):
            typer.echo(f"metajudge: there is no ballot to analyse yet; see {out}", err=True)
            raise typer.Exit(code)
    _analyse(ballots, options, humans, provenance, json_out, report or [])
    raise typer.Exit(code)


def _panel(config: Path | None, models: list[str] | None, seed: int) -> Any:
    """The models as a panel whose agents are asked each on its own."""
    from metajudge.errors import ConfigurationError

    panel = panel_from(config, models, seed=seed)
    if len(panel.agents) < 2:
        raise ConfigurationError("peers judge each other: give at least two models, --model PROVIDER:MODEL each")
    discussion = type(panel.discussion)()
    return panel.model_copy(update={"strategy": "rejudge", "routes": {}, "quorum": None, "discussion": discussion})


def _questions(path: Path, limit: int | None) -> Any:
    """Questions, and lines that are none, which are told at once."""
    from metajudge.peers.questions import read_questions

    found = read_questions(path, limit)
    for reject in found[1][:5]:
        typer.echo(f"metajudge: {reject}", err=True)
    if found[1]:
        typer.echo(f"metajudge: {len(found[1])} lines of {path} are no questions and are not asked", err=True)
    return found


async def _ask(
    panel: Any, questions: Any, store: StoreLocation, out: Path, seed: int, concurrency: int, budget_usd: float | None
) -> tuple[Any, dict[str, str], int]:
    """Asks what is still to be asked; all ballots in the file, their provenance, and the exit code."""
    from metajudge.cli.peers_report import summary_lines
    from metajudge.peers.run import PeersProgress, PeersRun
    from metajudge.runs.exit_codes import exit_code
    from metajudge.runs.loop import RunEnd, Stop
    from metajudge.vetting.engine import Engine

    stop = Stop()
    engine = Engine(
        panel=panel, store=store, command="peers", notify=say, concurrency=concurrency, budget_usd=budget_usd
    )
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(engine)
        stop_on_interrupt(stop, RunEnd.INTERRUPTED)
        peers_run = PeersRun(engine, questions[0], out, seed)
        summary = peers_run.summary
        summary.bad_lines = len(questions[1])
        progress = stack.enter_context(PeersProgress(summary, engine, 2 * len(questions[0]) * len(panel.agents)))
        await peers_run.run(workers=concurrency, stop=stop, progress=progress.update)
    for line in summary_lines(summary, out):
        typer.echo(line)
    return peers_run.counted(), peers_run.provenance(out), exit_code(summary.counts)


def _print_estimate(panel: Any, questions: Any) -> None:
    from metajudge.peers.estimate import estimate_peers

    estimate = estimate_peers(panel, questions[0])
    cost = "unknown" if estimate.cost_usd is None else f"${estimate.cost_usd:.4f}"
    typer.echo(
        f"Dry run, nothing sent: {len(questions[0])} questions, {estimate.calls} calls, about "
        f"{estimate.input_tokens:,} input and {estimate.output_tokens:,} output tokens, cost {cost}"
    )
    if estimate.unpriced:
        typer.echo(f"No price is known for {', '.join(estimate.unpriced)}: give a price in a panel file.")


def _check_outputs(json_out: Path | None, reports: list[Path], out: Path | None, inputs: list[Path | None]) -> None:
    """Refuses what cannot be written before any work is done."""
    if json_out is None and out is None and not reports:
        return
    from metajudge.report.files import check_apart, check_report_path, check_writable

    check_apart([one for one in inputs if one is not None], [json_out, out, *reports])
    if json_out is not None:
        check_writable(json_out)
    for path in reports:
        check_report_path(path)


def _read(path: Path, limit: int | None, strict: bool) -> tuple[Any, dict[str, str], int]:
    """Ballots of a file, where they come from, and the exit code."""
    from metajudge import __version__
    from metajudge.peers import read_ballots
    from metajudge.runs.exit_codes import RunCounts, exit_code

    found = read_ballots(path)
    refuse_bad_lines(found.rejects, strict)
    for reject in found.rejects[:5]:
        typer.echo(f"metajudge: {reject}", err=True)
    if found.rejects:
        typer.echo(f"metajudge: {len(found.rejects)} lines of {path} are no ballots and do not count", err=True)
    ballots = found.ballots
    if limit is not None:
        names = list(dict.fromkeys(one.question_id for one in ballots))[:limit]
        ballots = tuple(one for one in ballots if one.question_id in set(names))
    lost = sum(one.status == "failed" for one in ballots)
    counts = RunCounts(done=len(ballots), without_verdict=lost, bad_lines=len(found.rejects))
    return ballots, {"ballots": str(path), "metajudge": __version__}, exit_code(counts, strict=strict)


def _analyse(
    ballots: Any, options: Any, humans: Any, provenance: dict[str, str], json_out: Path | None, reports: list[Path]
) -> None:
    from metajudge.cli.peers_report import print_findings, report_of
    from metajudge.peers import analyse
    from metajudge.report.files import write_report, write_text

    findings = analyse(ballots, options, humans).model_copy(update={"provenance": provenance})
    for line in print_findings(findings):
        typer.echo(line)
    if json_out is not None:
        write_text(json_out, findings.model_dump_json(indent=2) + "\n")
    for path in reports:
        write_report(report_of(findings), path)
