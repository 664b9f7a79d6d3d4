"""``metajudge feedback draft | drafts | rejudge | compare``: drafted changes of how cases are judged."""

import contextlib
import time
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.estimates import print_estimate
from metajudge.cli.feedback_report import print_comparison, print_drafts
from metajudge.cli.loop import run, say
from metajudge.cli.options import (
    ConcurrencyOption,
    DryRunOption,
    JsonOption,
    JudgeOption,
    ResamplingSeedOption,
    StoreOption,
    echo_json,
    panel_from,
    store_path,
)
from metajudge.cli.sending import BudgetUsdOption, Spending, takes_budget
from metajudge.cli.stored import with_store
from metajudge.decision import DEFAULT_CASE_POLICY
from metajudge.errors import ConfigurationError, InputError
from metajudge.feedback.comparison import Comparison
from metajudge.feedback.drafting import DraftBook
from metajudge.feedback.drafts import Draft
from metajudge.feedback.rejudging import HeldOut, estimate_rejudging, held_out_records, rejudge
from metajudge.feedback.writing import write_draft
from metajudge.panels.config import PanelConfig
from metajudge.providers.budget import Budget
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
    with contextlib.closing(spending.budget()) as budget:
        comparison = run(_rejudged(draft, panel, where, budget, concurrency, seed))
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
    _need_judges(panel)
    held = await held_out_records(store, book, found, now=time.time())
    return held, estimate_rejudging(panel, await book.loop.active(found.name), found, held.records)


async def _rejudged(
    draft: str, panel: PanelConfig, where: StoreLocation, budget: Budget, concurrency: int, seed: int
) -> Comparison:
    session = Session(panel=panel, store=where, command="feedback", notify=say, concurrency=concurrency, budget=budget)
    async with session:
        assert session.store is not None, "a place was given"
        book = _book(session.store, seed)
        found = await book.to_try(draft)
        _need_judges(panel)
        comparison = await rejudge(session, book, found, seed=seed, now=time.time())
        await session.finish(RunEnd.FINISHED.value, {"draft": draft, "calls": session.meter.sent})
    return comparison


async def _written(
    model: str,
    policy: str,
    criterion: str | None,
    where: StoreLocation,
    budget_usd: float | None,
    seed: int,
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


def _need_judges(panel: PanelConfig) -> None:
    if not panel.agents:
        raise ConfigurationError("no judge: give --judge PROVIDER:MODEL, or a --config with agents")


def _book(store: Store, seed: int) -> DraftBook:
    return DraftBook(store, clock=time.time, seed=seed)
