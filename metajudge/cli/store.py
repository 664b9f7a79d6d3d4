"""``metajudge store``: copy a whole store between a file and a PostgreSQL server."""

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.options import JsonOption, echo_json
from metajudge.store.copying import copy_store
from metajudge.types.location import store_location

PROGRESS_EVERY_S = 2.0

app = typer.Typer(help="Copy a whole store to another.", no_args_is_help=True)


@app.callback()
def _root() -> None:
    pass


@app.command("copy")
def copy(
    source: Annotated[
        str,
        typer.Argument(
            help="The store to copy: a file, of version 0.2 or earlier too, or postgresql://...",
            metavar="OLD",
            show_default=False,
        ),
    ],
    target: Annotated[str, typer.Argument(help="The copy: a file or postgresql://..., empty or new.", metavar="NEW")],
    rename: Annotated[
        bool, typer.Option("--rename", help="Once all is copied, name OLD (a file) OLD.old and give NEW its name.")
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            help="What the names of a service's own files of version 0.2 begin with, if not with OLD.",
            metavar="PREFIX",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Copy a whole store into another one, and verify the copy.

    OLD is not changed: a file of version 0.2 or earlier is read with what lies beside it (its log, and a service's
    jobs, answers and budget of the day). After an interruption run the same command again to resume; later runs add
    new records. A NEW with other content is refused and not changed.
    """
    places = store_location(source), store_location(target)
    done = copy_store(*places, state=state, rename=rename, watch=_Progress())
    if as_json:
        echo_json({"from": str(places[0]), "to": str(places[1]), "renamed": rename, "tables": list(map(asdict, done))})
        return
    width = max(len(one.table) for one in done)
    for one in (one for one in done if one.rows):
        typer.echo(f"{one.table:<{width}}  {one.rows:>10,} rows, {one.added:,} of them new")
    typer.echo(f"{places[1]} contains all of {places[0]}: counts and SHA-256 of every table are the same.")
    if rename:
        typer.echo(f"{places[0]} is {places[0]}.old now, with what lies beside it, and {places[1]} is {places[0]}.")


class _Progress:
    """Prints a progress line on standard error at intervals."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, table: str, done: int, total: int) -> None:
        if time.monotonic() - self._last >= PROGRESS_EVERY_S:
            self._last = time.monotonic()
            print(f"metajudge: {table}: {done:,} of {total:,} rows", file=sys.stderr)  # noqa: T201
