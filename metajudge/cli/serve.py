"""``metajudge serve`` and ``metajudge mcp``: the HTTP service, and a server of the Model Context Protocol."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.options import AgentOption, Asking, ConfigOption, StoreOption, takes
from metajudge.errors import ConfigurationError
from metajudge.installation import install_command
from metajudge.panels.config import PanelConfig


@takes("asking", Asking, "config")
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; default 127.0.0.1.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; default 8080, 0 picks a free one.", min=0, max=65535)
    ] = None,
    agent: AgentOption = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            help="A service file (TOML with a table [service]: panels, keys, limits, store), or panel files to "
            "offer by name. Repeatable.",
            metavar="FILE",
        ),
    ] = None,
    store: StoreOption = None,
    calibration: Annotated[
        Path | None, typer.Option(help="A file of `calibrate fit`: adds probabilities.", metavar="FILE")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(help="Calls to models in flight; default 64.", min=1)] = None,
    budget_usd: Annotated[
        float | None,
        typer.Option(
            help="Dollars that may be spent a day (UTC), by all replicas on one PostgreSQL store.", min=0.000001
        ),
    ] = None,
    max_body_mb: Annotated[
        float | None, typer.Option(help="Largest request body in megabytes; default 4.", min=0.001)
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Additional host name accepted in requests, besides this machine's own. Repeatable.", metavar="HOST"
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Number of processes at one address; they share the store.", min=1)] = 1,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            help="Serve /metrics on this port as well, without a key; 0 picks a free one. Only this machine reaches "
            "it, unless --metrics-host says otherwise.",
            min=0,
            max=65535,
        ),
    ] = None,
    metrics_host: Annotated[str | None, typer.Option(help="Address of --metrics-port; default 127.0.0.1.")] = None,
    new_key: Annotated[
        str | None,
        typer.Option(help="Create a key with this name; print it and its lines for the file.", metavar="NAME"),
    ] = None,
    scope: Annotated[
        list[str] | None, typer.Option(help="Of --new-key: vet, read, review, admin. Repeatable; default all.")
    ] = None,
    *,
    asking: Asking,
) -> None:
    """Serve vetting over HTTP: POST /v1/vet, documented at /docs.

    Each panel is served under its file's name; the first one is the default, and agents given here replace its agents.
    On addresses other than loopback a key is required: set METAJUDGE_API_KEY, or give keys in a service file.
    """
    # Mapped into the package from another folder, which type checkers cannot follow.
    try:
        server = import_module("metajudge.api.server")
    except ImportError as error:
        raise ConfigurationError(f"the service needs extra packages ({error.name}): {install_command('api')}") from None
    if new_key is not None:
        key, lines = server.new_key_lines(new_key, scope or [])
        typer.echo(f"{key}\n\n{lines}")
        return

    def panel_of(file: Path | None, flags: bool) -> PanelConfig:
        return replace(asking if flags else Asking(), config=file).of(agent if flags else None)

    server.run(
        config or [],
        panel_of,
        host=host,
        port=port,
        store=store,
        concurrency=concurrency,
        budget_usd=budget_usd,
        max_body_mb=max_body_mb,
        calibration=calibration,
        workers=workers,
        allowed_hosts=allowed_host,
        metrics_port=metrics_port,
        metrics_host=metrics_host,
    )


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
