"""``metajudge store``: copy a whole store between a file and a PostgreSQL server."""

import sys
import time
from dataclasses import asdict
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
        str, typer.Argument(help="The store to copy: a file or postgresql://...", metavar="FROM", show_default=False)
    ],
    target: Annotated[str, typer.Argument(help="The target: a file or postgresql://..., empty or new.", metavar="TO")],
    as_json: JsonOption = False,
) -> None:
    """Copy a whole store into another one, and verify the copy.

    After an interruption run the same command again to resume; later runs add new records. A target with other
    content is refused and not changed. Jobs and idempotency keys of a service are not copied.
    """
    places = store_location(source), store_location(target)
    done = copy_store(*places, watch=_Progress())
    if as_json:
        echo_json({"from": str(places[0]), "to": str(places[1]), "tables": list(map(asdict, done))})
        return
    width = max(len(one.table) for one in done)
    for one in done:
        typer.echo(f"{one.table:<{width}}  {one.rows:>10,} rows, {one.added:,} of them new")
    typer.echo(f"{places[1]} contains all of {places[0]}.")


class _Progress:
    """Prints a progress line on standard error at intervals."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, table: str, done: int, total: int) -> None:
        if time.monotonic() - self._last >= PROGRESS_EVERY_S:
            self._last = time.monotonic()
            print(f"metajudge: {table}: {done:,} of {total:,} rows", file=sys.stderr)  # noqa: T201
