"""Options that several commands share, and the panel they make together."""

from pathlib import Path
from typing import Annotated

import typer

from metajudge.panel_file import PanelConfig, load_panel_file, with_flags
from metajudge.types.location import StoreLocation, store_location

AGENT_HELP = "A meta-judge: [NAME=]PROVIDER:MODEL[@BASE_URL], e.g. openai:gpt-4o-mini. Repeat for a panel."

AgentOption = Annotated[list[str] | None, typer.Option("--agent", help=AGENT_HELP, metavar="SPEC")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Panel file (TOML); flags win over it.", metavar="FILE")
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="Store: a file, or postgresql://USER:PASSWORD@HOST/DATABASE; default METAJUDGE_STORE, else "
        "./metajudge.duckdb.",
        metavar="PATH|URL",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def panel_from(
    config: Path | None,
    agents: list[str] | None,
    *,
    rubric: str | None = None,
    strategy: str | None = None,
    threshold: float | None = None,
    seed: int | None = None,
    early_exit: bool | None = None,
    families: str | None = None,
) -> PanelConfig:
    """The panel file, if any, with the flags laid over it."""
    base = PanelConfig() if config is None else load_panel_file(config)
    return with_flags(
        base,
        agents or (),
        rubric=rubric,
        strategy=strategy,
        threshold=threshold,
        seed=seed,
        early_exit=early_exit,
        families=families,
    )


def rejects_path(out: Path | None, store: StoreLocation) -> Path:
    """Where lines that could not be used are written: beside the output, else beside the store's file, else here."""
    beside = store if isinstance(store, Path) else "metajudge"
    return Path(f"{out or beside}.rejects.jsonl")


def store_path(given: str | Path | None) -> StoreLocation:
    """The store to use: as given, else from the environment, else ``metajudge.duckdb`` here."""
    from metajudge.settings import Settings

    return store_location(given) if given is not None else Settings.load().store
