"""``metajudge bench perf``: what metajudge costs, how it stands up to faults, and how its own figures came about."""

from importlib import import_module
from typing import Annotated

import typer

MEASUREMENTS = {
    "overhead": "metajudge.benchmarks.perf.overhead",
    "million": "metajudge.benchmarks.perf.million",
    "service": "metajudge.benchmarks.perf.service",
    "start": "metajudge.benchmarks.perf.start",
    "faults": "metajudge.benchmarks.perf.faults",
    "fuzz": "metajudge.benchmarks.perf.fuzz",
    "voting": "metajudge.benchmarks.perf.voting",
    "free-evidence": "metajudge.benchmarks.free_evidence",
    "shrink": "metajudge.benchmarks.shrink",
}
"""Name -> module; its ``main`` is the command."""


def perf(
    name: Annotated[str, typer.Argument(help=f"What to measure: {', '.join(MEASUREMENTS)}.", metavar="NAME")],
    args: Annotated[
        list[str] | None,
        typer.Argument(help="Its own arguments; NAME --help lists them.", metavar="ARGS", show_default=False),
    ] = None,
) -> None:
    """Measure what metajudge costs, how it stands up to faults, or how its own figures came about.

    overhead: time and CPU beside the models' own; million: vetting a large file; service: the HTTP service under load;
    start: starting a command; faults: failing models, networks, disks and processes; fuzz: broken replies through every
    parser; voting: the voting rules beside other libraries; free-evidence: what verdicts kept without labels are worth;
    shrink: the two numbers of the shipped default.
    """
    if name not in MEASUREMENTS:
        raise typer.BadParameter(f"no {name!r}; there are {', '.join(MEASUREMENTS)}", param_hint="NAME")
    command_of(name)(args or [], prog_name=f"metajudge bench perf {name}")


def command_of(name: str) -> typer.Typer:
    """The command of a measurement."""
    command = typer.Typer(add_completion=False, rich_markup_mode=None)
    command.command(name)(import_module(MEASUREMENTS[name]).main)
    return command
