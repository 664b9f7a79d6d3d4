"""``metajudge feedback``: what people's decisions say about a policy, and what they would change about it."""

import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import typer

from metajudge.cli.options import JsonOption, StoreOption, store_path
from metajudge.runs.exit_codes import ExitCode

T = TypeVar("T")

app = typer.Typer(
    help="Compare a policy with people's decisions, propose a better one; a person activates it.",
    no_args_is_help=True,
)

PolicyOption = Annotated[str, typer.Option("--policy", help="The policy's name.", metavar="NAME")]
SeedOption = Annotated[int, typer.Option(help="Of folds and resampling.")]
ProposalArgument = Annotated[str, typer.Argument(metavar="PROPOSAL")]


@app.command()
def report(
    policy: PolicyOption = "verdict",
    save: Annotated[bool, typer.Option("--save", help="Keep a snapshot in the store.")] = False,
    seed: SeedOption = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Metrics against people's decisions, with intervals: accuracy, false approvals and rejections, reviews."""

    async def main(loop: Any) -> Any:
        if save:
            await loop.snapshot(policy)
        return await loop.report(policy)

    found = _with_loop(store, seed, main)
    if as_json:
        _print_json(found.to_json())
    else:
        from metajudge.cli.feedback_report import print_report

        print_report(found)


@app.command()
def disagreements(
    policy: PolicyOption = "verdict",
    direction: Annotated[
        str | None, typer.Option(help="too_lenient, too_strict or needless_review; default: all.", metavar="WAY")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the cases in which people and the policy disagree, with people's reasons.

    too_lenient: approved, and held wrong; too_strict: rejected, and held right; needless_review: nothing to change.
    """
    from metajudge.cli.feedback_report import disagreement_rows, print_disagreements
    from metajudge.errors import InputError
    from metajudge.feedback.cases import Direction

    if direction is not None and direction not in list(Direction):
        raise InputError(f"no such direction {direction!r}: {', '.join(Direction)}")

    async def main(loop: Any) -> Any:
        return await loop.disagreements(policy)

    found = {way: cases for way, cases in _with_loop(store, 0, main).items() if direction in (None, way)}
    if as_json:
        _print_json(disagreement_rows(found))
    else:
        print_disagreements(found)


@app.command()
def snapshots(
    policy: Annotated[str | None, typer.Option("--policy", help="Only this policy.", metavar="NAME")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the reports kept with `report --save`, oldest first; --json has them whole."""

    async def main(loop: Any) -> Any:
        return await loop.snapshots(policy)

    found = _with_loop(store, 0, main)
    if as_json:
        _print_json([{"entry_id": one.entry_id, "recorded_at": one.recorded_at, **one.payload} for one in found])
    else:
        from metajudge.cli.feedback_report import print_snapshots

        print_snapshots(found)


@app.command()
def propose(
    policy: PolicyOption = "verdict",
    every: Annotated[
        int | None, typer.Option(help="Only when so many disagreements have come since the last time.", min=1)
    ] = None,
    seed: SeedOption = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look for patterns in disagreements, fit changes of the policy, and backtest each on cases it was not fitted on.

    Exit code 1: no change is better, or it is not time yet.
    """

    async def main(loop: Any) -> Any:
        if every is not None and not await loop.due(policy, every):
            return None
        return await loop.propose(policy), await loop.advice(policy)

    found = _with_loop(store, seed, main)
    if found is None:
        typer.echo(f"Fewer than {every} disagreements since patterns were last looked for: nothing was done.")
        raise typer.Exit(ExitCode.INCOMPLETE)
    proposals, advice = found
    if as_json:
        _print_json([one.model_dump(mode="json") for one in proposals])
    else:
        from metajudge.cli.feedback_report import print_advice, print_proposals

        print_proposals(proposals)
        print_advice(advice)
    raise typer.Exit(ExitCode.DONE if any(one.status == "proposed" for one in proposals) else ExitCode.INCOMPLETE)


@app.command()
def backtest(
    proposal: ProposalArgument, seed: SeedOption = 0, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Test a proposal anew on all cases decided by now. Exit code 1: it is not better."""

    async def main(loop: Any) -> Any:
        return await loop.backtest(proposal)

    found = _with_loop(store, seed, main)
    if as_json:
        _print_json(found.model_dump(mode="json"))
    else:
        from metajudge.cli.feedback_report import print_backtest

        print_backtest(found)
    raise typer.Exit(ExitCode.DONE if found.better else ExitCode.INCOMPLETE)


@app.command()
def activate(
    proposal: ProposalArgument,
    by: Annotated[str, typer.Option(help="Who puts it in force.", metavar="NAME")],
    reason: Annotated[str, typer.Option(help="Why, in your words.")] = "",
    store: StoreOption = None,
) -> None:
    """Put a proposal's policy in force; what was decided before keeps the version it was decided with."""

    async def main(loop: Any) -> Any:
        return await loop.activate(proposal, by=by, reason=reason)

    found = _with_loop(store, 0, main)
    typer.echo(f"{found.name}: version {found.digest[:12]} is in force, put there by {found.by}.")


@app.command()
def history(
    policy: Annotated[str | None, typer.Option("--policy", help="Only this policy.", metavar="NAME")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List proposals and activations, each with its evidence."""

    async def main(loop: Any) -> Any:
        return await loop.proposals(policy), await loop.activations(policy)

    proposals, activations = _with_loop(store, 0, main)
    if as_json:
        _print_json(
            {
                "proposals": [one.model_dump(mode="json") for one in proposals],
                "activations": [one.model_dump(mode="json") for one in activations],
            }
        )
    else:
        from metajudge.cli.feedback_report import print_history

        print_history(proposals, activations)


def _print_json(data: Any) -> None:
    import orjson

    typer.echo(orjson.dumps(data).decode())


def _with_loop(store: str | None, seed: int, main: Callable[[Any], Awaitable[T]]) -> T:
    from metajudge.cli.loop import run
    from metajudge.errors import StoreError
    from metajudge.feedback.loop import FeedbackLoop
    from metajudge.store import open_store

    path = store_path(store)
    if not path.exists():
        raise StoreError(f"{path}: no such store; name it with --store, or make one with `metajudge vet --policy ...`")

    async def opened() -> T:
        found = await open_store(path)
        try:
            return await main(FeedbackLoop(found, clock=time.time, seed=seed))
        finally:
            await found.close()

    return run(opened())
