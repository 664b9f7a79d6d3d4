"""``metajudge data``: public benchmark data, checked before it is used."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from metajudge.files.command_line import command

app = typer.Typer(help="Fetch public benchmark data.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _root() -> None:
    """Keeps ``fetch`` a subcommand although it is the only one."""


@app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="A benchmark of `metajudge bench list`.", metavar="NAME")],
    out: Annotated[Path, typer.Option("--out", help="A new or empty folder.", metavar="DIR")],
    source: Annotated[
        str | None, typer.Option(help="Another copy of the repository: a URL or a path.", metavar="URL")
    ] = None,
    timeout_s: Annotated[float, typer.Option(help="Timeout of the download in seconds.", min=1)] = 1800.0,
) -> None:
    """Download a benchmark from its public repository, at the commit whose checksum is built in.

    The download is checked before the folder is created; an incomplete one leaves nothing behind. Needs git.
    """
    catalogue = import_module("metajudge.benchmarks.catalogue")
    fetching = import_module("metajudge.benchmarks.fetch")
    card = catalogue.benchmark_named(name).card
    count = fetching.fetch(card, out, source=source, timeout_s=timeout_s)
    typer.echo(f"{out}: {count} files of {card.title} at commit {card.commit}, every object checked.")
    typer.echo(f"Licence: {card.licence}.")
    if card.layout:
        typer.echo(f"Its layout is not read as it is: {card.layout}.")
    typer.echo(f"Use it: {command('bench', card.name, '--data', str(out))}")
