"""``metajudge show``, ``runs`` and ``forget``: what the store keeps."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from metajudge.cli.loop import run
from metajudge.cli.options import JsonOption, StoreOption, store_path
from metajudge.exit_codes import ExitCode
from metajudge.types.location import StoreLocation


def show(
    name: Annotated[
        str,
        typer.Argument(
            help="The id of a judgment, item, run, case, review or proposal; or a policy's name.", metavar="ID"
        ),
    ],
    store: StoreOption = None,
) -> None:
    """Print everything kept about a judgment, an item, a run, a case, a proposal or a policy, as JSON.

    "assessments" holds the current version of each judgment and panel: what the panel found with its newest
    probability and decision. "history" holds the other versions.
    """
    import orjson

    found = run(_show(_existing(store), name))
    if found is None:
        typer.echo(
            f"metajudge: the store knows no judgment, item, run, case, review, proposal or policy {name!r}", err=True
        )
        raise typer.Exit(ExitCode.USAGE)
    typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2, default=str).decode())


def runs(store: StoreOption = None, as_json: JsonOption = False, limit: int = 20) -> None:
    """List runs, newest first."""
    import orjson

    found = run(_runs(_existing(store), limit))
    if as_json:
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
        return
    for one in found:
        started = datetime.fromtimestamp(one["started_at"], UTC).strftime("%Y-%m-%d %H:%M:%S")
        summary = one["summary"] or {}
        counts = ", ".join(
            f"{summary[key]} {key}" for key in ("assessed", "accepted", "unscored", "failed", "calls") if key in summary
        )
        typer.echo(f"{one['run_id']}  {started}  {one['command']:<8} {one['status']:<12} {counts}")


def forget(
    item: Annotated[str, typer.Argument(help="An item's or a case's id.", metavar="ITEM")], store: StoreOption = None
) -> None:
    """Redact the texts of an item or a case and of all that was said about it; digests and numbers stay."""
    count = run(_forget(_existing(store), item))
    if count == 0:
        typer.echo(f"metajudge: the store keeps no text of an item {item!r}", err=True)
        raise typer.Exit(ExitCode.USAGE)
    typer.echo(f"{item}: {count} records redacted. Copies of the store and exported files are not reached.")


def _existing(store: str | None) -> StoreLocation:
    from metajudge.errors import StoreError

    path = store_path(store)
    if not path.exists():
        raise StoreError(f"{path}: no such store; name it with --store, or make one with `metajudge vet`")
    return path


async def _show(path: StoreLocation, name: str) -> dict[str, Any] | None:
    from metajudge.store import open_store

    store = await open_store(path)
    try:
        return await store.show(name)
    finally:
        await store.close()


async def _runs(path: StoreLocation, limit: int) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from metajudge.store import open_store

    store = await open_store(path)
    try:
        return [asdict(run) for run in await store.runs(limit)]
    finally:
        await store.close()


async def _forget(path: StoreLocation, item: str) -> int:
    from metajudge.store import open_store

    store = await open_store(path)
    try:
        return await store.forget(item)
    finally:
        await store.close()
