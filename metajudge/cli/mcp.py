"""``metajudge mcp``: a server of the Model Context Protocol for assistants."""

from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.options import AgentOption, ConfigOption


def mcp(
    agent: AgentOption = None,
    config: ConfigOption = None,
    store: Annotated[
        str | None, typer.Option(help="Store to keep assessments in and to look them up; default the settings'.")
    ] = None,
    service: Annotated[
        str | None,
        typer.Option(help="URL of a running `metajudge serve`, in place of agents and a store; key METAJUDGE_API_KEY."),
    ] = None,
    folder: Annotated[Path, typer.Option(help="Files are read below this folder only.", metavar="DIR")] = Path(),
) -> None:
    """Serve assistants over MCP: vet a verdict, audit or rank a file, show an assessment.

    An assistant starts it and talks to it over standard input and output; docs/adapters.md has an example.
    """
    from metajudge.adapters.mcp import build_server
    from metajudge.adapters.vetting import Vetting

    if service is None:
        vetting = Vetting(agent or (), config=config, store=store)
    else:
        vetting = Vetting(agent or (), config=config, service=service)
    build_server(vetting, folder, store=store, service=service).run("stdio")
