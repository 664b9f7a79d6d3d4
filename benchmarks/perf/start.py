"""What it takes to start a command: CPU of imports and of one judgment, as ratios measured in one run.

    metajudge bench perf start [--repeat 5] [--json-out OUT]

Runs each command so often, one after the other in turn, with byte code kept from run to run, and takes the median of
CPU time (user and system). Given are

- ``help_over_packages``: ``metajudge --help`` over importing typer and rich;
- ``vet_over_packages``: ``metajudge vet FILE`` without agents, one judgment, over importing the packages it needs;
- ``agent_beyond_sdk_s``: seconds of ``vet FILE --agent openai:...``, one judgment by one agent, beyond
  ``import openai``, which metajudge itself does not need.
"""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from .measuring import METAJUDGE, JsonOut, finished, keep, machine
from .overhead import write_input
from .service import upstream

VET_NEEDS = "typer, rich.console, rich.table, pydantic, numpy, orjson, yaml, jinja2, uvloop, asyncio, sqlite3"
"""The packages of ``metajudge vet`` without agents."""


def main(
    repeat: Annotated[int, typer.Option(help="Runs of which the median is given.", min=1)] = 5, out: JsonOut = None
) -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as scratch, upstream(None, 0, Path(scratch)) as url:
        found = measure(Path(scratch), url, repeat)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    keep(found, out)


def measure(scratch: Path, base_url: str, repeat: int) -> dict[str, Any]:
    """Runs every command ``repeat`` times in turn, after one run that fills the cache of byte code."""
    write_input(scratch / "one.jsonl", 1, 400)
    vet = (*METAJUDGE, "vet", "one.jsonl", "--store", "store.db")
    commands: dict[str, Sequence[str]] = {
        "help": (*METAJUDGE, "--help"),
        "import_typer_and_rich": ("-c", "import typer, rich"),
        "vet": vet,
        "import_packages": ("-c", f"import {VET_NEEDS}"),
        "vet_by_one_agent": (*vet, "--agent", f"openai:gpt-4o-mini@{base_url}"),
        "import_openai": ("-c", "import openai"),
    }
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"PYTHONPYCACHEPREFIX": str(scratch / "cache"), "XDG_CONFIG_HOME": str(scratch / "config")}
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeat + 1):
        for name, words in commands.items():
            for left in scratch.glob("store.db*"):
                left.unlink()
            taken[name].append(finished(words, scratch, environment=environment).cpu_s)
    cpu = {name: median(values[1:]) for name, values in taken.items()}
    return {
        "machine": machine(),
        "repeat": repeat,
        "cpu_s": {name: round(value, 3) for name, value in cpu.items()},
        "help_over_packages": round(cpu["help"] / cpu["import_typer_and_rich"], 2),
        "vet_over_packages": round(cpu["vet"] / cpu["import_packages"], 2),
        "agent_beyond_sdk_s": round(cpu["vet_by_one_agent"] - cpu["import_openai"], 3),
    }
