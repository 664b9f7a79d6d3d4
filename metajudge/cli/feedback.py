"""``metajudge feedback``: compare a policy with people's decisions; propose changes of it, and draft instructions."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from metajudge.cli.feedback_report import (
    disagreement_rows,
    print_advice,
    print_backtest,
    print_comparison,
    print_disagreements,
    print_drafts,
    print_history,
    print_proposals,
    print_report,
    print_snapshots,
)
from metajudge.cli.loop import run, say
from metajudge.cli.options import (
    ConcurrencyOption,
    DryRunOption,
    JsonOption,
    JudgeOption,
    ResamplingSeedOption,
    StoreOption,
    echo_json,
    need_judges,
    panel_from,
    store_path,
)
from metajudge.cli.sending import BudgetUsdOption, Spending, print_estimate, takes_budget
from metajudge.cli.stored import with_store
from metajudge.decision import DEFAULT_CASE_POLICY
from metajudge.errors import ConfigurationError, InputError
from metajudge.feedback.cases import DecidedCase, Direction
from metajudge.feedback.comparison import Comparison
from metajudge.feedback.drafting import DraftBook
from metajudge.feedback.drafts import Draft
from metajudge.feedback.loop import FeedbackLoop, Report
from metajudge.feedback.patterns import Advice
from metajudge.feedback.proposals import Activation, Proposal
from metajudge.feedback.rejudging import HeldOut, estimate_rejudging, held_out_records, rejudge
from metajudge.feedback.writing import write_draft
from metajudge.panels.config import PanelConfig
from metajudge.runs.estimate import Estimate
from metajudge.runs.exit_codes import ExitCode
from metajudge.runs.loop import RunEnd
from metajudge.session import Session
from metajudge.store import Store
from metajudge.types.location import StoreLocation

CasePolicyOption = Annotated[str, typer.Option("--policy", help="The policy's name; one over cases.", metavar="NAME")]
DraftArgument = Annotated[str, typer.Argument(metavar="DRAFT")]


def draft(
    policy: CasePolicyOption = DEFAULT_CASE_POLICY,
    criterion: Annotated[
        str | None, typer.Option(help="Draft for this criterion; default: each that is significantly corrected.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", help="A model that writes the instruction in place of a template.", metavar="SPEC"),
    ] = None,
    budget_usd: BudgetUsdOption = None,
    seed: ResamplingSeedOption = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draft instructions to judges that answer people's corrections, on half of the records; nothing is changed.

    The text is a template filled with people's reasons, or written by --model (for one --criterion). Read a draft
    (--json), then: metajudge feedback rejudge DRAFT
    """
    if model is None:
        found = with_store(store, lambda opened: _book(opened, seed).draft(policy, criterion=criterion), maker="case")
    else:
        found = run(_written(model, policy, criterion, store_path(store), budget_usd, seed))
    if as_json:
        echo_json({"drafts": [one.model_dump(mode="json") for one in found]})
    else:
        print_drafts(found, {})


def drafts(
    policy: Annotated[str | None, typer.Option("--policy", help="Only this policy.", metavar="NAME")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List drafts with their newest comparison, oldest first."""

    async def main(opened: Store) -> tuple[list[Draft], dict[str, Comparison | None]]:
        book = _book(opened, 0)
        found = await book.drafts(policy)
        return found, {one.draft_id: await book.comparison(one.draft_id) for one in found}

    found, compared = with_store(store, main, maker="case")
    if as_json:
        rows = [
            {"draft": one.model_dump(mode="json"), "comparison": None if known is None else known.model_dump()}
            for one in found
            for known in (compared[one.draft_id],)
        ]
        echo_json({"drafts": rows})
    else:
        print_drafts(found, compared)


def compare(draft: DraftArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show a draft's newest comparison with people's decisions. Exit code 1: it is not better."""
    found = with_store(store, lambda opened: _compared(opened, draft), maker="case")
    _show(found, as_json)


@takes_budget
def rejudge_draft(
    draft: DraftArgument,
    judge: JudgeOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="Panel file (TOML) whose agents judge.", metavar="FILE")
    ] = None,
    concurrency: ConcurrencyOption = 16,
    *,
    spending: Spending,
    seed: ResamplingSeedOption = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Try a draft on the reviewed records held out of it, and compare with people before and after.

    Look at the price first (--dry-run). Replies are kept, so an interrupted run continues. No decision is changed.

    Exit code 1: the draft is not better.
    """
    where = store_path(store)
    panel = panel_from(config, judge, seed=None)
    if dry_run:
        held, found = with_store(store, lambda opened: _estimate(opened, draft, panel, seed), maker="case")
        work = f"{len(held.records)} held-out records, at most {found.calls} calls"
        print_estimate(found, work, as_json, {"records": len(held.records), "left_out": dict(held.left_out)})
        return
    with spending.session(panel, where, "feedback", concurrency) as session:
        comparison = run(_rejudged(session, draft, seed))
    _show(comparison, as_json)


def _show(found: Comparison, as_json: bool) -> None:
    if as_json:
        echo_json(found.model_dump(mode="json"))
    else:
        print_comparison(found)
    raise typer.Exit(ExitCode.DONE if found.better else ExitCode.INCOMPLETE)


async def _compared(store: Store, draft: str) -> Comparison:
    book = _book(store, 0)
    await book.get(draft)
    found = await book.comparison(draft)
    if found is None:
        raise InputError(f"draft {draft} was not compared yet: metajudge feedback rejudge {draft}")
    return found


async def _estimate(store: Store, draft: str, panel: PanelConfig, seed: int) -> tuple[HeldOut, Estimate]:
    book = _book(store, seed)
    found = await book.to_try(draft)
    need_judges(panel)
    held = await held_out_records(store, book, found, now=time.time())
    return held, estimate_rejudging(panel, await book.loop.active(found.name), found, held.records)


async def _rejudged(session: Session, draft: str, seed: int) -> Comparison:
    async with session:
        assert session.store is not None, "a place was given"
        book = _book(session.store, seed)
        found = await book.to_try(draft)
        need_judges(session.config)
        comparison = await rejudge(session, book, found, seed=seed, now=time.time())
        await session.finish(RunEnd.FINISHED.value, {"draft": draft, "calls": session.meter.sent})
    return comparison


async def _written(
    model: str, policy: str, criterion: str | None, where: StoreLocation, budget_usd: float | None, seed: int
) -> list[Draft]:
    if criterion is None:
        raise ConfigurationError("--model writes for one criterion: name it with --criterion")
    session = Session([model], store=where, budget_usd=budget_usd, notify=say, command="feedback")
    async with session:
        assert session.store is not None, "a place was given"
        (writer,) = session.models()
        book = _book(session.store, seed)
        found = await write_draft(book, writer.model, policy, criterion)
        await session.finish(RunEnd.FINISHED.value, {"drafts": 1, "calls": session.meter.sent})
    return [found]


def _book(store: Store, seed: int) -> DraftBook:
    return DraftBook(store, clock=time.time, seed=seed)


T = TypeVar("T")
DEFAULT = "verdict"
"""The policy where the store has none."""

app = typer.Typer(
    help="Compare a policy with people's decisions, propose a better one; a person activates it.", no_args_is_help=True
)

PolicyOption = Annotated[
    str | None,
    typer.Option(
        "--policy", help="The policy's name. Default: those that people's decisions are about.", metavar="NAME"
    ),
]
ProposalArgument = Annotated[str, typer.Argument(metavar="PROPOSAL")]


@app.command()
def report(
    policy: PolicyOption = None,
    save: Annotated[bool, typer.Option("--save", help="Keep a snapshot in the store.")] = False,
    seed: ResamplingSeedOption = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Metrics against people's decisions, with intervals: accuracy, false approvals and rejections, reviews."""

    async def main(loop: FeedbackLoop) -> list[Report]:
        names = [policy] if policy is not None else await loop.policies() or [DEFAULT]
        for name in names if save else ():
            await loop.snapshot(name)
        return [await loop.report(name) for name in names]

    found = _with_loop(store, seed, main)
    if as_json:
        first, *more = [one.to_json() for one in found]
        echo_json({**first, **({"further": more} if more else {})})
        return
    for number, one in enumerate(found):
        if number:
            typer.echo("")
        print_report(one)


@app.command()
def disagreements(
    policy: PolicyOption = None,
    direction: Annotated[Direction | None, typer.Option(help="Only disagreements of this direction.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the cases in which people and the policy disagree.

    too_lenient: approved, but people found it wrong; too_strict: rejected, but people found it right;
    needless_review: sent to people, who changed nothing.
    """

    async def found_in(loop: FeedbackLoop) -> dict[Direction, list[DecidedCase]]:
        return await loop.disagreements(await _one_policy(loop, policy))

    found = {way: cases for way, cases in _with_loop(store, 0, found_in).items() if direction in (None, way)}
    if as_json:
        echo_json({"disagreements": disagreement_rows(found)})
    else:
        print_disagreements(found)


@app.command()
def snapshots(
    policy: Annotated[str | None, typer.Option("--policy", help="Only this policy.", metavar="NAME")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the reports kept with `report --save`, oldest first; --json prints them in full."""
    found = _with_loop(store, 0, lambda loop: loop.snapshots(policy))
    if as_json:
        rows = [{"entry_id": one.entry_id, "recorded_at": one.recorded_at, **one.payload} for one in found]
        echo_json({"snapshots": rows})
    else:
        print_snapshots(found)


@app.command()
def propose(
    policy: PolicyOption = None,
    every: Annotated[int | None, typer.Option(help="Only after this many new disagreements.", min=1)] = None,
    seed: ResamplingSeedOption = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find patterns in disagreements, fit changes of the policy, and backtest each on held-out cases.

    Exit code 1: no change is better, or there are too few new disagreements (--every).
    """

    async def main(loop: FeedbackLoop) -> tuple[list[Proposal], list[Advice]] | None:
        name = await _one_policy(loop, policy)
        if every is not None and not await loop.due(name, every):
            return None
        return await loop.propose(name), await loop.advice(name)

    found = _with_loop(store, seed, main)
    if found is None:
        typer.echo(f"Fewer than {every} new disagreements since the last search for patterns: nothing was done.")
        raise typer.Exit(ExitCode.INCOMPLETE)
    proposals, advice = found
    if as_json:
        echo_json({"proposals": [one.model_dump(mode="json") for one in proposals]})
    else:
        print_proposals(proposals)
        print_advice(advice)
    raise typer.Exit(ExitCode.DONE if any(one.status == "proposed" for one in proposals) else ExitCode.INCOMPLETE)


@app.command()
def backtest(
    proposal: ProposalArgument, seed: ResamplingSeedOption = 0, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Backtest a proposal again on all cases decided so far. Exit code 1: it is not better."""
    found = _with_loop(store, seed, lambda loop: loop.backtest(proposal))
    if as_json:
        echo_json(found.model_dump(mode="json"))
    else:
        print_backtest(found)
    raise typer.Exit(ExitCode.DONE if found.better else ExitCode.INCOMPLETE)


@app.command()
def activate(
    proposal: ProposalArgument,
    by: Annotated[str, typer.Option(help="Who activates it.", metavar="NAME")],
    reason: Annotated[str, typer.Option(help="Reason, as free text.")] = "",
    store: StoreOption = None,
) -> None:
    """Activate a proposal's or a draft's policy; earlier decisions keep the version they were made with."""
    found = with_store(store, lambda opened: _activated(opened, proposal, by, reason), maker="vet --policy ...")
    typer.echo(f"{found.name}: version {found.digest[:12]} is in force, activated by {found.by}.")


@app.command()
def history(
    policy: Annotated[str | None, typer.Option("--policy", help="Only this policy.", metavar="NAME")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List proposals and activations, each with its evidence."""

    async def main(loop: FeedbackLoop) -> tuple[list[Proposal], list[Activation]]:
        return await loop.proposals(policy), await loop.activations(policy)

    proposals, activations = _with_loop(store, 0, main)
    if as_json:
        echo_json(
            {
                "proposals": [one.model_dump(mode="json") for one in proposals],
                "activations": [one.model_dump(mode="json") for one in activations],
            }
        )
    else:
        print_history(proposals, activations)


app.command("draft")(draft)
app.command("drafts")(drafts)
app.command("rejudge")(rejudge_draft)
app.command("compare")(compare)


async def _activated(store: Store, name: str, by: str, reason: str) -> Activation:
    book = DraftBook(store, clock=time.time)
    if any(one.draft_id == name for one in await book.drafts()):
        return await book.activate(name, by=by, reason=reason)
    return await book.loop.activate(name, by=by, reason=reason)


async def _one_policy(loop: FeedbackLoop, given: str | None) -> str:
    """The policy given, else the one that people's decisions are about.

    Raises:
        ConfigurationError: they are about several.
    """
    names = [given] if given is not None else await loop.policies() or [DEFAULT]
    if len(names) > 1:
        raise ConfigurationError(f"people's decisions are about several policies: give --policy {' or '.join(names)}")
    return names[0]


def _with_loop(store: str | None, seed: int, use: Callable[[FeedbackLoop], Awaitable[T]]) -> T:
    return with_store(
        store, lambda opened: use(FeedbackLoop(opened, clock=time.time, seed=seed)), maker="vet --policy ..."
    )
