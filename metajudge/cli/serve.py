"""``metajudge serve``: the HTTP service."""

from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.options import AgentOption, StoreOption, panel_from, store_path


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.", min=0, max=65535)] = 8080,
    agent: AgentOption = None,
    config: Annotated[
        list[Path] | None,
        typer.Option("--config", help="Panel file (TOML); repeat to offer several by name.", metavar="FILE"),
    ] = None,
    store: StoreOption = None,
    calibration: Annotated[
        Path | None, typer.Option(help="A file of `calibrate fit`: adds probabilities.", metavar="FILE")
    ] = None,
    concurrency: Annotated[int, typer.Option(help="Calls to models in flight at most.", min=1)] = 64,
    max_body_mb: Annotated[float, typer.Option(help="Largest request body, in megabytes.", min=0.001)] = 4.0,
) -> None:
    """Serve vetting over HTTP: POST /v1/vet, documented at /docs.

    A panel is offered under its file's name, the first one by default; agents given here replace the default one's.
    Away from loopback the service demands a key: set METAJUDGE_API_KEY.
    """
    from importlib import import_module

    files = config or []
    panels = {file.stem: panel_from(file, None) for file in files[1:]}
    first = files[0] if files else None
    panels = {first.stem if first else "default": panel_from(first, agent), **panels}
    # Mapped into the package from another folder, which type checkers cannot follow.
    server = import_module("metajudge.api.server")
    server.run(
        panels,
        host=host,
        port=port,
        store=store_path(store),
        concurrency=concurrency,
        max_body_bytes=int(max_body_mb * 1_000_000),
        calibration=calibration,
    )
