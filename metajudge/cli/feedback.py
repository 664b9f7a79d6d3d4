"""``metajudge feedback``: compare a policy with people's decisions, and propose changes."""

import time
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer

from metajudge.cli import feedback_draft
from metajudge.cli.feedback_report import (
    disagreement_rows,
    print_advice,
    print_backtest,
    print_disagreements,
    print_history,
    print_proposals,
    print_report,
    print_snapshots,
)
from metajudge.cli.options import JsonOption, ResamplingSeedOption, StoreOption, echo_json
from metajudge.cli.stored import with_store
from metajudge.errors import ConfigurationError
from metajudge.feedback.cases import DecidedCase, Direction
from metajudge.feedback.drafting import DraftBook
from metajudge.feedback.loop import FeedbackLoop, Report
from metajudge.feedback.patterns import Advice
from metajudge.feedback.proposals import Activation, Proposal
from metajudge.runs.exit_codes import ExitCode
from metajudge.store import Store

T = TypeVar("T")
DEFAULT = "verdict"
"""The policy where the store has none."""

app = typer.Typer(
    help="Compare a policy with people's decisions, propose a better one; a person activates it.",
    no_args_is_help=True,
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


app.command("draft")(feedback_draft.draft)
app.command("drafts")(feedback_draft.drafts)
app.command("rejudge")(feedback_draft.rejudge_draft)
app.command("compare")(feedback_draft.compare)


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
