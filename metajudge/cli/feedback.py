"""``metajudge feedback``: compare a policy with people's decisions; propose changes of it, and draft instructions."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, TypeVar

import typer

from metajudge.cli import feedback_report as told
from metajudge.cli import options
from metajudge.cli.loop import run, say, with_store
from metajudge.cli.sending import BudgetUsdOption, Spending, SpendingOnCases, print_estimate
from metajudge.decision import DEFAULT_CASE_POLICY
from metajudge.errors import ConfigurationError, InputError
from metajudge.feedback.backtest import Backtest
from metajudge.feedback.cases import DecidedCase, Direction
from metajudge.feedback.changes import Activation, Comparison, Draft, Proposal
from metajudge.feedback.drafting import DraftBook, write_draft
from metajudge.feedback.loop import Report
from metajudge.feedback.metrics import Advice
from metajudge.feedback.metrics import disagreements as disagreements_of
from metajudge.feedback.rejudging import Record, estimate_rejudging, held_out_records, rejudge
from metajudge.runs.estimate import Estimate
from metajudge.runs.exit_codes import ExitCode
from metajudge.runs.loop import RunEnd
from metajudge.session import Session
from metajudge.store import Store

T = TypeVar("T")
DEFAULT = "verdict"
"""The policy where the store has none."""

app = typer.Typer(
    help="Compare a policy with people's decisions, propose a better one; a person activates it.", no_args_is_help=True
)

PolicyOption = Annotated[
    str | None,
    typer.Option(help="The policy's name. Default: those that people's decisions are about.", metavar="NAME"),
]
OnlyPolicyOption = Annotated[str | None, typer.Option(help="Only this policy.", metavar="NAME")]
CasePolicyOption = Annotated[str, typer.Option(help="The policy's name; one over cases.", metavar="NAME")]
ProposalArgument = Annotated[str, typer.Argument(metavar="PROPOSAL")]
DraftArgument = Annotated[str, typer.Argument(metavar="DRAFT")]


@app.command()
def report(
    policy: PolicyOption = None,
    save: Annotated[bool, typer.Option("--save", help="Keep a snapshot in the store.")] = False,
    seed: options.ResamplingSeedOption = 0,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Metrics against people's decisions, with intervals: accuracy, false approvals and rejections, reviews."""

    async def main(loop: DraftBook) -> list[Report]:
        names = [policy] if policy is not None else await loop.policies() or [DEFAULT]
        for name in names if save else ():
            await loop.snapshot(name)
        return [await loop.report(name) for name in names]

    found = _with_book(store, seed, main)
    first, *more = [one.model_dump(mode="json") for one in found]
    _tell(as_json, {**first, **({"further": more} if more else {})}, lambda: told.print_reports(found))


@app.command()
def disagreements(
    policy: PolicyOption = None,
    direction: Annotated[Direction | None, typer.Option(help="Only disagreements of this direction.")] = None,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """List the cases in which people and the policy disagree.

    too_lenient: approved, but people found it wrong; too_strict: rejected, but people found it right;
    needless_review: sent to people, who changed nothing.
    """

    async def main(loop: DraftBook) -> dict[Direction, list[DecidedCase]]:
        return disagreements_of(await loop.cases(await _one_policy(loop, policy)))

    found = {way: cases for way, cases in _with_book(store, 0, main).items() if direction in (None, way)}
    rows = told.disagreement_rows(found) if as_json else []
    _tell(as_json, {"disagreements": rows}, lambda: told.print_disagreements(found))


@app.command()
def snapshots(
    policy: OnlyPolicyOption = None, store: options.StoreOption = None, as_json: options.JsonOption = False
) -> None:
    """List the reports kept with `report --save`, oldest first; --json prints them in full."""
    found = _with_book(store, 0, lambda loop: loop.snapshots(policy))
    rows = [{"entry_id": one.entry_id, "recorded_at": one.recorded_at, **one.payload} for one in found]
    _tell(as_json, {"snapshots": rows}, lambda: told.print_snapshots(found))


@app.command()
def propose(
    policy: PolicyOption = None,
    every: Annotated[int | None, typer.Option(help="Only after this many new disagreements.", min=1)] = None,
    seed: options.ResamplingSeedOption = 0,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Find patterns in disagreements, fit changes of the policy, and backtest each on held-out cases.

    Exit code 1: no change is better, or there are too few new disagreements (--every).
    """

    async def main(loop: DraftBook) -> tuple[list[Proposal], list[Advice]] | None:
        name = await _one_policy(loop, policy)
        if every is not None and not await loop.due(name, every):
            return None
        return await loop.propose(name), await loop.advice(name)

    found = _with_book(store, seed, main)
    if found is None:
        typer.echo(f"Fewer than {every} new disagreements since the last search for patterns: nothing was done.")
        raise typer.Exit(ExitCode.INCOMPLETE)
    proposals, advice = found
    data = {"proposals": [one.model_dump(mode="json") for one in proposals]}
    _tell(as_json, data, lambda: told.print_proposals(proposals, advice))
    raise typer.Exit(ExitCode.DONE if any(one.status == "proposed" for one in proposals) else ExitCode.INCOMPLETE)


@app.command()
def backtest(
    proposal: ProposalArgument,
    seed: options.ResamplingSeedOption = 0,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Backtest a proposal again on all cases decided so far. Exit code 1: it is not better."""
    _judged(_with_book(store, seed, lambda loop: loop.backtest(proposal)), as_json)


@app.command()
def activate(
    proposal: ProposalArgument,
    by: Annotated[str, typer.Option(help="Who activates it.", metavar="NAME")],
    reason: Annotated[str, typer.Option(help="Reason, as free text.")] = "",
    store: options.StoreOption = None,
) -> None:
    """Activate a proposal's or a draft's policy; earlier decisions keep the version they were made with."""
    found = _with_book(store, 0, lambda book: book.activate(proposal, by=by, reason=reason))
    typer.echo(f"{found.name}: version {found.digest[:12]} is in force, activated by {found.by}.")


@app.command()
def history(
    policy: OnlyPolicyOption = None, store: options.StoreOption = None, as_json: options.JsonOption = False
) -> None:
    """List proposals and activations, each with its evidence."""

    async def main(loop: DraftBook) -> tuple[list[Proposal], list[Activation]]:
        return await loop.proposals(policy), await loop.activations(policy)

    proposals, activations = _with_book(store, 0, main)
    data = {
        "proposals": [one.model_dump(mode="json") for one in proposals],
        "activations": [one.model_dump(mode="json") for one in activations],
    }
    _tell(as_json, data, lambda: told.print_history(proposals, activations))


@app.command("draft")
def draft(
    policy: CasePolicyOption = DEFAULT_CASE_POLICY,
    criterion: Annotated[
        str | None, typer.Option(help="Draft for this criterion; default: each that is significantly corrected.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A model that writes the instruction in place of a template.", metavar="SPEC")
    ] = None,
    budget_usd: BudgetUsdOption = None,
    seed: options.ResamplingSeedOption = 0,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Draft instructions to judges that answer people's corrections, on half of the records; nothing is changed.

    The text is a template filled with people's reasons, or written by --model (for one --criterion). Read a draft
    (--json), then: metajudge feedback rejudge DRAFT
    """

    async def written(session: Session) -> list[Draft]:
        async with session:
            (writer,) = session.models()
            found = await write_draft(_book(session.store, seed), writer.model, policy, str(criterion))
            await session.finish(RunEnd.FINISHED.value, {"drafts": 1, "calls": session.meter.sent})
        return [found]

    if model is None:
        found = _with_book(store, seed, lambda book: book.draft(policy, criterion=criterion), maker="case")
    elif criterion is None:
        raise ConfigurationError("--model writes for one criterion: name it with --criterion")
    else:
        where = options.store_path(store)
        found = run(written(Session([model], store=where, budget_usd=budget_usd, notify=say, command="feedback")))
    data = {"drafts": [one.model_dump(mode="json") for one in found]}
    _tell(as_json, data, lambda: told.print_drafts([(one, None) for one in found]))


@app.command("drafts")
def drafts(
    policy: OnlyPolicyOption = None, store: options.StoreOption = None, as_json: options.JsonOption = False
) -> None:
    """List drafts with their newest comparison, oldest first."""

    async def main(book: DraftBook) -> list[tuple[Draft, Comparison | None]]:
        return [(one, await book.comparison(one.draft_id)) for one in await book.drafts(policy)]

    found = _with_book(store, 0, main, maker="case")
    rows = [
        {"draft": one.model_dump(mode="json"), "comparison": None if known is None else known.model_dump()}
        for one, known in found
    ]
    _tell(as_json, {"drafts": rows}, lambda: told.print_drafts(found))


@app.command("rejudge")
@options.takes("spending", SpendingOnCases)
@options.takes("judges", options.Judges)
def rejudge_draft(
    draft: DraftArgument,
    *,
    judges: options.Judges,
    spending: Spending,
    seed: options.ResamplingSeedOption = 0,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
    dry_run: options.DryRunOption = False,
) -> None:
    """Try a draft on the reviewed records held out of it, and compare with people before and after.

    Look at the price first (--dry-run). Replies are kept, so an interrupted run continues. No decision is changed.

    Exit code 1: the draft is not better.
    """
    where = options.store_path(store)
    panel = judges.panel()

    async def estimated(book: DraftBook) -> tuple[list[Record], dict[str, int], Estimate]:
        found = await book.to_try(draft)
        records, left_out = await held_out_records(book, found, now=time.time())
        base = await book.active(found.name)
        return records, dict(left_out), estimate_rejudging(panel, base, found, records)

    async def compared(session: Session) -> Comparison:
        async with session:
            book = _book(session.store, seed)
            found = await book.to_try(draft)
            comparison = await rejudge(session, book, found, seed=seed, now=time.time())
            await session.finish(RunEnd.FINISHED.value, {"draft": draft, "calls": session.meter.sent})
        return comparison

    if dry_run:
        records, left_out, found = _with_book(store, seed, estimated, maker="case")
        work = f"{len(records)} held-out records, at most {found.calls} calls"
        counts = {"records": len(records), "left_out": left_out}
        print_estimate(found, work, panel, "feedback rejudge", as_json, counts)
        return
    with spending.session(panel, where, "feedback") as session:
        comparison = run(compared(session))
    _judged(comparison, as_json)


@app.command("compare")
def compare(draft: DraftArgument, store: options.StoreOption = None, as_json: options.JsonOption = False) -> None:
    """Show a draft's newest comparison with people's decisions. Exit code 1: it is not better."""

    async def main(book: DraftBook) -> Comparison:
        await book.get(draft)
        found = await book.comparison(draft)
        if found is None:
            raise InputError(f"draft {draft} was not compared yet: metajudge feedback rejudge {draft}")
        return found

    _judged(_with_book(store, 0, main, maker="case"), as_json)


def _tell(as_json: bool, data: Mapping[str, object], printed: Callable[[], None]) -> None:
    if as_json:
        options.echo_json(data)
    else:
        printed()


def _judged(found: Backtest | Comparison, as_json: bool) -> None:
    """Shows what a change was tried with; exit code 1 where it is not better."""
    _tell(as_json, found.model_dump(mode="json"), lambda: told.print_test(found))
    raise typer.Exit(ExitCode.DONE if found.better else ExitCode.INCOMPLETE)


async def _one_policy(loop: DraftBook, given: str | None) -> str:
    """The policy given, else the one that people's decisions are about.

    Raises:
        ConfigurationError: they are about several.
    """
    names = [given] if given is not None else await loop.policies() or [DEFAULT]
    if len(names) > 1:
        raise ConfigurationError(f"people's decisions are about several policies: give --policy {' or '.join(names)}")
    return names[0]


def _with_book(
    store: str | None, seed: int, use: Callable[[DraftBook], Awaitable[T]], maker: str = "vet --policy ..."
) -> T:
    return with_store(store, lambda opened: use(_book(opened, seed)), maker=maker)


def _book(store: Store | None, seed: int) -> DraftBook:
    assert store is not None, "a place was given"
    return DraftBook(store, clock=time.time, seed=seed)
