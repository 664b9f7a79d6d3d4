"""``metajudge peers``: models rank each other's answers, and the consensus of their rankings."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli import options
from metajudge.cli.peers_report import alignment_table, domain_tables, overview, report_of, self_table, standings_table
from metajudge.cli.sending import Spending, print_estimate, takes_budget
from metajudge.files.output import check_apart
from metajudge.installation import __version__
from metajudge.judging.ranking_replies import written as order_text
from metajudge.peers import Ballot, Options, analyse, read_ballots, read_human_rankings
from metajudge.peers.figures import MEASURES
from metajudge.peers.findings import IncludeSelf, PeerFindings
from metajudge.peers.influence import Influence
from metajudge.peers.run import PeersResult, PeersTotals, estimate_peers, run_peers
from metajudge.reading.containers.lines import Reject
from metajudge.reading.questions import read_questions
from metajudge.report.tables import table_to_text
from metajudge.runs.exit_codes import RunCounts, exit_code
from metajudge.runs.loop import Stop
from metajudge.runs.progress import Progress
from metajudge.runs.totals import in_words
from metajudge.session import Session


@takes_budget
@options.takes("asking", options.Asking)
def peers(
    questions: Annotated[
        Path | None, typer.Option(help="Questions (JSONL: id, question, and domain where known).", metavar="FILE")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model that answers and ranks: [NAME=]PROVIDER:MODEL[@BASE_URL]. Repeat.", metavar="SPEC"),
    ] = None,
    rankings: Annotated[
        Path | None,
        typer.Option(
            help="Existing rankings (JSONL: question_id, evaluator, ranking); no model is asked.", metavar="FILE"
        ),
    ] = None,
    *,
    asking: options.Asking,
    rule: Annotated[str, typer.Option(help="The voting rule of the consensus; the others are compared.")] = "kemeny",
    human: Annotated[
        list[str] | None,
        typer.Option(
            help="A ranking by people: a JSON file (ranking or scores), or 'm1 > m2 = m3'. Repeatable.",
            metavar="RANKING",
        ),
    ] = None,
    top_k: Annotated[
        list[int] | None, typer.Option(help="Also analyse ballots cut to the K best. Repeatable.", metavar="K")
    ] = None,
    include_self: Annotated[
        IncludeSelf, typer.Option(help="Consensus with models' own ballots, without, or both.")
    ] = "both",
    evaluator: Annotated[
        list[str] | None,
        typer.Option(
            help="A model that ranks the answers and gives none: [NAME=]PROVIDER:MODEL[@BASE_URL]. Repeat.",
            metavar="SPEC",
        ),
    ] = None,
    without: Annotated[
        str | None,
        typer.Option(
            help="Evaluators whose influence is shown together, with commas between: the consensus without them, and "
            "with their worst ballots. Each one's own is always shown.",
            metavar="NAME,NAME",
        ),
    ] = None,
    quorum: Annotated[
        int | None, typer.Option(help="Minimum ballots per question; default: more than half of those requested.")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of display orders and resamples; sent to models that support one.")
    ] = 0,
    resamples: Annotated[int, typer.Option(help="Bootstrap draws for intervals; 0 for none.")] = 2000,
    limit: Annotated[int | None, typer.Option(help="Only the first N questions.", min=1)] = None,
    store: options.StoreOption = None,
    spending: Spending,
    out: Annotated[
        Path | None,
        typer.Option(help="Append every attempt to this file (JSONL); required with --questions.", metavar="BALLOTS"),
    ] = None,
    as_json: options.JsonOption = False,
    json_out: options.JsonFileOption = None,
    report: options.ReportOption = None,
    strict: options.StrictOption = False,
    dry_run: options.DryRunOption = False,
) -> None:
    """Rank models by their own judgment: each answers every question, and ranks all answers blind.

    With --rankings no model is asked. With --questions every reply is kept in the store and every attempt in the file
    of ballots: run the same command again to resume after an interruption and to retry failed calls.

    Exit code 1: an answer or a ballot is missing.
    """
    outputs = options.Outputs(json_out, report, as_json)
    check_apart(
        [one for one in (questions, rankings, asking.config) if one is not None], [json_out, out, *(report or ())]
    )
    outputs.check()
    how = Options(
        rule=rule,
        include_self=include_self,
        quorum=quorum,
        top_k=tuple(dict.fromkeys(top_k or ())),
        resamples=resamples,
        seed=seed,
        without=tuple(name.strip() for name in (without or "").split(",") if name.strip()),
    )
    how.check()
    humans = read_human_rankings(human or ())
    if (rankings is None) == (questions is None):
        raise typer.BadParameter("give either --rankings FILE, or --questions FILE with a --model for each model")
    if rankings is not None:
        if model or evaluator or asking.config is not None or out is not None or dry_run:
            raise typer.BadParameter(
                "--rankings asks no model: leave out --model, --evaluator, --config, --out and --dry-run"
            )
        ballots, provenance, code = _read(rankings, limit, strict)
    else:
        assert questions is not None
        panel, judges = asking.of(model, seed=seed), replace(asking, config=None).of(evaluator).agents
        asked = read_questions(questions, limit)
        _print_rejects(asked.rejects, questions, "questions and are not asked")
        options.refuse_bad_lines(asked.rejects, strict)
        estimate = estimate_peers(panel, asked.items, judges)  # rejects invalid combinations of models
        if dry_run:
            every = panel.model_copy(update={"agents": (*panel.agents, *judges)})
            print_estimate(estimate, f"{len(asked.items)} questions, {estimate.calls} calls", every, "peers")
            return
        if out is None:
            raise typer.BadParameter("give --out BALLOTS.jsonl: every attempt is kept there")

        async def ranked(session: Session, stop: Stop, progress: Progress) -> PeersResult:
            return await run_peers(
                session,
                asked,
                evaluators=judges,
                out=out,
                seed=seed,
                totals=totals,
                stop=stop,
                on_result=lambda _found, _reused: progress.update(),
            )

        totals = PeersTotals(bad_lines=len(asked.rejects))
        steps = (2 * len(panel.agents) + len(judges)) * len(asked.items)
        found = spending.run(ranked, totals, steps, panel, options.store_path(store), "peers")
        for line in summary_lines(found.totals, out):
            typer.echo(line, err=as_json)
        ballots, provenance, code = found.ballots, found.provenance, found.totals.exit_code
        if not any(one.status == "ok" for one in ballots):
            typer.echo(f"metajudge: there are no ballots to analyse yet; see {out}", err=True)
            raise typer.Exit(code)
    findings = analyse(ballots, how, humans).model_copy(update={"provenance": provenance})
    options.echo_lines(print_findings(findings) if not outputs.as_json else ())
    outputs.write(lambda: findings.model_dump_json(indent=2) + "\n", lambda: report_of(findings))
    raise typer.Exit(code)


def _print_rejects(rejects: Sequence[Reject], path: Path, what: str) -> None:
    for reject in rejects[:5]:
        typer.echo(f"metajudge: {reject}", err=True)
    if rejects:
        typer.echo(f"metajudge: {len(rejects)} lines of {path} are no {what}", err=True)


def _read(path: Path, limit: int | None, strict: bool) -> tuple[tuple[Ballot, ...], dict[str, str], int]:
    """Ballots of a file, where they come from, and the exit code."""
    found = read_ballots(path)
    options.refuse_bad_lines(found.rejects, strict)
    _print_rejects(found.rejects, path, "ballots and do not count")
    ballots = found.ballots
    if limit is not None:
        names = list(dict.fromkeys(one.question_id for one in ballots))[:limit]
        ballots = tuple(one for one in ballots if one.question_id in set(names))
    lost = sum(one.status == "failed" for one in ballots)
    counts = RunCounts(done=len(ballots), without_verdict=lost, bad_lines=len(found.rejects))
    return ballots, {"ballots": str(path), "metajudge": __version__}, exit_code(counts, strict=strict)


def summary_lines(totals: PeersTotals, out: Path) -> Iterable[str]:
    """Calls and cost of a run, what is missing, and how to resume."""
    asked = f"{totals.questions} questions: {totals.answers} answers, {totals.ballots} ballots in {out}"
    yield f"{asked} ({totals.reused} from earlier runs)."
    yield totals.blinding.sentence()
    for model, kinds in totals.lost_by_model.items():
        yield f"Missing from {model}: {in_words(kinds)}. Run the same command again to retry the failed calls."
    cost = f"${totals.known_cost_usd:.4f}"
    if totals.cost_usd is None:
        why = "a price or the usage is unknown: give each agent its price in a panel file (--config)"
        cost = f"at least {cost}, {why}" if totals.known_cost_usd else f"cost unknown ({why})"
    usage = totals.usage
    yield f"{totals.calls} calls, {usage.input_tokens:,} input and {usage.output_tokens:,} output tokens, {cost}."
    if totals.reused and totals.all_attempts_usd is not None:
        yield f"All attempts in the files, earlier runs included: ${totals.all_attempts_usd:.4f}."
    if totals.end.next_step is not None:
        yield totals.end.next_step
    yield ""


def print_findings(findings: PeerFindings) -> Iterable[str]:
    """What the command prints: overview, places, agreement with every human ranking, cautions."""
    yield overview(findings)
    yield ""
    yield table_to_text(standings_table(findings))
    yield ""
    yield table_to_text(self_table(findings))
    for one in findings.references:
        yield ""
        if one.absent is not None:
            yield one.absent
            continue
        for measure in MEASURES:
            yield table_to_text(alignment_table(one, measure, findings.published, rows_of_paper=False))
            yield ""
    for table in domain_tables(findings.domains, findings) if findings.domains else ():
        yield ""
        yield table_to_text(table)
    if findings.influence is not None:
        yield ""
        yield from influence_lines(findings.influence)
    for caution in findings.cautions:
        yield ""
        yield f"Caution: {caution.message}."


def influence_lines(found: Influence) -> list[str]:
    """What the screen says: who changes the order when left out, and who could change the first place."""
    moves = [left for left in found.left_out if left.moved and left.absent is None]
    lines = []
    for left in moves:
        first = "; the first place changes" if left.winner_changes else ""
        lines.append(f"Without {', '.join(left.without)}: {order_text(left.order)}{first}.")
    if not moves:
        lines.append("Leaving any one evaluator out changes no place in the order by mean places.")
    strong: dict[tuple[str, ...], list[str]] = {}
    for one in found.worst:
        if one.can_win:
            strong.setdefault(one.can_win, []).append(" with ".join(one.who))
    lines += [
        f"With other ballots {', '.join(who)} could{' each' if len(who) > 1 else ''} put first: {', '.join(models)}."
        for models, who in strong.items()
    ]
    if found.worst and not strong:
        lines.append("No single evaluator could put another model first by voting against the consensus.")
    if found.worst_absent is not None:
        lines.append(f"The worst ballots were not looked for: {found.worst_absent}.")
    return lines
