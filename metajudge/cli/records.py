"""``metajudge show``, ``runs`` and ``forget``: the records of a store."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import orjson
import typer

from metajudge.cli.options import JsonOption, StoreOption, echo_json
from metajudge.cli.stored import with_store
from metajudge.runs.exit_codes import ExitCode


def show(
    name: Annotated[
        str,
        typer.Argument(
            help="The id of a judgment, item, run, case, review or proposal; or a policy's name.", metavar="ID"
        ),
    ],
    store: StoreOption = None,
) -> None:
    """Print what is stored under an id or a name, as JSON.

    "assessments" contains the current version of each judgment and panel: the panel's assessment with its newest
    probability and decision. "history" contains the other versions.
    """
    found = with_store(store, lambda opened: opened.show(name))
    if found is None:
        typer.echo(
            f"metajudge: the store has no judgment, item, run, case, review, proposal or policy {name!r}", err=True
        )
        raise typer.Exit(ExitCode.USAGE)
    typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2, default=str).decode())


def runs(
    store: StoreOption = None,
    as_json: JsonOption = False,
    limit: Annotated[int, typer.Option(help="Maximum number of runs.", min=1)] = 20,
) -> None:
    """List runs, newest first."""
    found = with_store(store, lambda opened: opened.runs(limit))
    if as_json:
        echo_json([asdict(one) for one in found], indent=True)
        return
    for one in found:
        started = datetime.fromtimestamp(one.started_at, UTC).strftime("%Y-%m-%d %H:%M:%S")
        summary = one.summary or {}
        counts = ", ".join(
            f"{summary[key]} {key}" for key in ("assessed", "accepted", "unscored", "failed", "calls") if key in summary
        )
        typer.echo(f"{one.run_id}  {started}  {one.command:<8} {one.status:<12} {counts}")


def forget(
    item: Annotated[str, typer.Argument(help="An item's or a case's id.", metavar="ITEM")], store: StoreOption = None
) -> None:
    """Redact the texts of an item or a case; digests and numbers are kept.

    The texts of its judgments, verdicts and replies are also redacted.
    """
    count = with_store(store, lambda opened: opened.forget(item))
    if count == 0:
        typer.echo(f"metajudge: the store has no text of an item {item!r}", err=True)
        raise typer.Exit(ExitCode.USAGE)
    typer.echo(f"{item}: {count} records redacted. Copies of the store and exported files are not changed.")
