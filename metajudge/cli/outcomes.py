"""``metajudge outcomes``: what became of judgments, clashes and cases, decided by machines and by people."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.loop import say, with_store
from metajudge.cli.options import JsonOption, StoreOption, WebhookOption, takes, tell
from metajudge.errors import ConfigurationError, InputError
from metajudge.outcomes.model import (
    By,
    FinalOutcome,
    Kind,
    OutcomeCount,
    OutcomeFilter,
    OutcomeName,
    ReceiverState,
    utc,
    write_outcomes,
)
from metajudge.outcomes.sending import Sender, webhook_of
from metajudge.runs.exit_codes import ExitCode
from metajudge.settings import Settings
from metajudge.store import Store

MAKER = "vet --policy ..."

app = typer.Typer(
    help="List the outcomes of judgments, clashes and cases; send and export them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Options that say which outcomes."""

    kind: Annotated[Kind | None, typer.Option(help="Only outcomes of this kind.")] = None
    outcome: Annotated[OutcomeName | None, typer.Option(help="Only this outcome.")] = None
    by: Annotated[By | None, typer.Option(help="Only what a machine or people decided.")] = None
    policy: Annotated[str | None, typer.Option(help="Only outcomes of this policy: its name or digest.")] = None
    since: Annotated[
        str | None,
        typer.Option(help="Only outcomes since this date or time (UTC), such as 2026-11-01.", metavar="TIME"),
    ] = None
    history: Annotated[bool, typer.Option("--history", help="Also outcomes that later ones took the place of.")] = False

    def filter(self) -> OutcomeFilter:
        """The same for the store."""
        since, current = _time(self.since), not self.history
        return OutcomeFilter(
            kind=self.kind, outcome=self.outcome, by=self.by, policy=self.policy, since=since, current=current
        )


@app.command("list")
@takes("only", Wanted)
def list_outcomes(
    *,
    only: Wanted,
    limit: Annotated[int, typer.Option(help="Maximum number of outcomes.", min=1, max=100_000)] = 50,
    before: Annotated[int | None, typer.Option(help="Continue below this number; printed below each page.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the final outcome of everything that was decided, newest first, with counts."""
    wanted = only.filter()

    async def main(opened: Store) -> tuple[list[FinalOutcome], list[OutcomeCount]]:
        await _collect(opened)
        return await opened.outcomes.page(wanted, before=before, limit=limit), await opened.outcomes.counts(wanted)

    found, counts = with_store(store, main, maker=MAKER)
    more = found[-1].number if len(found) == limit else None
    rows = [one.data | {"number": one.number, "current": one.is_current} for one in found]
    data = {"outcomes": rows, "counts": [one.model_dump(mode="json") for one in counts], "next_cursor": more}
    following = [] if more is None else [f"More: --before {more}"]
    tell(as_json, data, [*map(_line, found), *_count_lines(counts), *following])


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Id of a judgment, clash, case, item or event.", metavar="ID")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every outcome of one judgment, clash or case, oldest first, with its deliveries."""

    async def main(opened: Store) -> list[dict[str, object]]:
        await _collect(opened)
        about = await opened.outcomes.about(name)
        sent = {one.number: await opened.outcomes.deliveries(one.number) for one in about}
        return [
            one.data
            | {"number": one.number, "current": one.is_current}
            | {"deliveries": [tried.model_dump() for tried in sent[one.number]]}
            for one in about
        ]

    found = with_store(store, main, maker=MAKER)
    if not found:
        raise InputError(f"the store has no outcome of {name!r}: `metajudge outcomes list` shows all")
    tell(as_json, {"outcomes": found}, (line for one in found for line in _details(one)))


@app.command()
def send(
    webhook: WebhookOption = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="Also outcomes decided since this date or time (UTC) that the receiver never accepted, even from "
            "before it was known.",
            metavar="TIME",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Like --since, with every outcome of the store.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send what a receiver has not accepted yet: events that wait, and those that were given up.

    Exit code 1: some could not be delivered.
    """
    hook = webhook_of(Settings.load(), webhook)
    if hook is None:
        raise ConfigurationError("no receiver: give --webhook URL, or set METAJUDGE_WEBHOOK")
    start = _time(since)

    async def main(opened: Store) -> Sender:
        sender = Sender(opened, hook, say=say)
        await sender.start()
        if everything or start is not None:
            await sender.wish_since(start)
        await sender.resume()
        await sender.finish()
        return sender

    counts = with_store(store, main, maker=MAKER).counts
    said = f"{counts.delivered} delivered, {counts.known} accepted before, {counts.failed} failed."
    tell(as_json, asdict(counts), [said])
    raise typer.Exit(ExitCode.INCOMPLETE if counts.failed else ExitCode.DONE)


@app.command()
def receivers(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show every receiver: events accepted, waiting and given up, and the newest failure."""

    async def main(opened: Store) -> list[ReceiverState]:
        await _collect(opened)
        return await opened.outcomes.receivers()

    found = with_store(store, main, maker=MAKER)
    lines = [] if found else ["No receiver is known: `vet`, `case` and `outcomes send` take --webhook URL."]
    for one in found:
        waiting = one.behind + one.waiting + one.sending
        lines.append(
            f"{one.receiver}  {one.host}: {one.delivered} delivered, {waiting} waiting, {one.given_up} given up, "
            f"since {utc(one.registered_at)}"
        )
        if one.last_reason is not None:
            lines.append(f"  newest failure: {one.last_reason}; `metajudge outcomes send --webhook URL` tries at once")
    tell(as_json, {"receivers": [one.model_dump(mode="json") for one in found]}, lines)


@app.command("export")
@takes("only", Wanted)
def export_outcomes(
    out: Annotated[Path, typer.Option(help="A .csv or .jsonl file.", metavar="FILE")],
    *,
    only: Wanted,
    store: StoreOption = None,
) -> None:
    """Write outcomes to a file, oldest first: ids, numbers and names; no judged text."""
    wanted = only.filter()

    async def main(opened: Store) -> int:
        await _collect(opened)
        found: list[FinalOutcome] = []
        while page := await opened.outcomes.since(found[-1].number if found else 0, wanted, limit=2_000):
            found += page
        return write_outcomes(found, out)

    typer.echo(f"{with_store(store, main, maker=MAKER)} outcomes written to {out}.")


async def _collect(store: Store) -> None:
    """Makes outcomes of what was decided since the last time."""
    looked_at = 0
    while some := await store.outcomes.collect():
        if looked_at < 20_000 <= looked_at + some:
            say("reading the store's decisions for the first time; this is done once")
        looked_at += some


def _time(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"--since: {text!r} is no date or time: write 2026-11-01 or 2026-11-01T08:30:00") from None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()


def _line(one: FinalOutcome) -> str:
    who = ", ".join(person["reviewer"] for person in one.people) or one.policy or "panel"
    past = "" if one.is_current else "  (replaced)"
    amends = "" if one.amends is None else f"  amends {one.amends[:12]}"
    return (
        f"{utc(one.decided_at)[:16].replace('T', ' ')}  {one.kind:<8}  {one.outcome.value:<21}  {one.by:<7}  "
        f"{one.subject_id}  {who}{amends}{past}"
    )


def _count_lines(counts: Sequence[OutcomeCount]) -> list[str]:
    if not counts:
        return ["No outcomes: nothing that fits was decided by a policy, a panel or people."]
    total = sum(one.count for one in counts)
    lines = [f"  {one.kind:<8}  {one.outcome.value:<21}  by {one.by:<7}  {one.count}" for one in counts]
    return ["", f"{total} {'outcome' if total == 1 else 'outcomes'}:", *lines]


def _details(one: dict[str, object]) -> list[str]:
    shown = {name: value for name, value in one.items() if value not in (None, [], {}) and name != "deliveries"}
    if isinstance(at := shown["decided_at"], float):
        shown["decided_at"] = utc(at)
    lines = [f"{name}: {value}" for name, value in shown.items()]
    deliveries = one["deliveries"]
    for sent in deliveries if isinstance(deliveries, list) else ():
        how = f"delivered ({sent['status']})" if sent["delivered"] else f"failed: {sent['reason']}"
        lines.append(f"sent to {sent['receiver']} at {utc(sent['ended_at'])}: {how}, {sent['attempts']} requests")
    return [*lines, ""]
