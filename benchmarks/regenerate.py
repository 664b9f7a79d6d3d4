"""Makes every figure of these benchmarks again, with where and when it was made, and a page of plots.

    python -m metajudge.benchmarks.regenerate [NAME ...] [--data DIR] [--postgres URL] [--out benchmarks/results]

DATA_DIR contains the recorded judgments (``judgebench/``, ``llmbar/``, ``agent_clash/``); figures that need it, or a
PostgreSQL database, or a checkout, are named and left as they are where it is not given. Each figure is one script of
this folder in a process of its own, against servers started here; its file contains the command, the machine, versions,
date and seconds beside what was measured. The plots (``index.html``) are drawn from the files that are there, so a
single figure can be made again. All of them take an hour or two on two cores; a machine in other use spoils the times.
"""

import json
import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

from .results_page import write_page

PACKAGES = ("metajudge-vet", "numpy", "scikit-learn", "scipy", "duckdb", "openai", "anthropic", "aiohttp", "ray")


@dataclass(frozen=True, slots=True)
class FigureScript:
    """One script and how it is called.

    Attributes:
        arguments: ``{data}``, ``{postgres}``, ``{scratch}`` and ``{models:MS}`` (a server of models that takes so many
            milliseconds) are filled in.
    """

    name: str
    script: str
    arguments: tuple[str, ...] = ()


FIGURES = (
    FigureScript("overhead", "overhead", ("{models:200}", "--repeat", "5")),
    FigureScript("clash-overhead", "clash_overhead", ("{models:200}",)),
    FigureScript("service", "service"),
    FigureScript("memory", "memory", ("{models:5}",)),
    FigureScript("ray", "ray_run", ("{models:200}",)),
    FigureScript("replicas", "replicas", ("{postgres}",)),
    FigureScript("voting", "voting"),
    FigureScript("manipulation", "manipulation"),
    FigureScript("fuzz-replies", "fuzz_replies"),
    FigureScript("faults", "faults"),
    FigureScript("calibration", "calibration_study", ("{data}", "--seeds", "5")),
    FigureScript("guarantee", "guarantee_rivals", ("--data", "{data}", "--splits", "8", "--redraws", "5")),
    FigureScript("feedback", "feedback_study", ("{data}/judgebench", "--overconfident")),
    FigureScript("preference-precision", "preference_study", ("{data}/llmbar",)),
    FigureScript("preference-scale", "preferences", ("{scratch}",)),
    FigureScript("downstream", "downstream", ("{data}",)),
    FigureScript("live", "live.study"),
    FigureScript("protocol", "protocol.study", ("{data}",)),
    FigureScript("adversaries", "adversaries", ("--data", "{data}", "--trials", "100")),
    FigureScript("transfer", "transfer", ("--data", "{data}")),
)


@dataclass(frozen=True, slots=True)
class Places:
    """What figures are made from; None where it was not given."""

    data: Path | None
    postgres: str | None
    scratch: Path


class NotGivenError(Exception):
    """A figure needs something that was not given."""


@contextmanager
def filled(arguments: Sequence[str], places: Places) -> Iterator[list[str]]:
    """The arguments with their places filled in, and the servers they name running.

    Raises:
        NotGivenError: with what is missing.
    """
    found, servers = list[str](), list[subprocess.Popen[bytes]]()
    try:
        for argument in arguments:
            if argument.startswith("{models:"):
                url, server = models(float(argument.removeprefix("{models:").removesuffix("}")))
                servers.append(server)
                found.append(url)
                continue
            if "{data}" in argument and places.data is None:
                raise NotGivenError("give --data")
            if "{postgres}" in argument and places.postgres is None:
                raise NotGivenError("give --postgres")
            known = {"data": str(places.data), "postgres": str(places.postgres), "scratch": str(places.scratch)}
            found.append(argument.format(**known))
        yield found
    finally:
        for server in servers:
            server.terminate()
            server.wait(10)


def models(latency_ms: float) -> tuple[str, "subprocess.Popen[bytes]"]:
    """Starts a server of models; its URL and process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "metajudge.benchmarks.upstream", "--port", str(port)]
    server = subprocess.Popen([*command, "--latency-ms", str(latency_ms)])
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return f"http://127.0.0.1:{port}", server
        time.sleep(0.1)
    server.kill()
    raise SystemExit("the server of models did not start")


def make(figure: FigureScript, places: Places, out: Path) -> None:
    """Makes one figure and writes its file.

    Raises:
        NotGivenError: something it needs was not given.
        RuntimeError: the script failed; an earlier file stays.
    """
    raw = places.scratch / f"{figure.name}.json"
    module = "benchmarks" if figure.script == "faults" else "metajudge.benchmarks"
    with filled(figure.arguments, places) as arguments:
        command = [sys.executable, "-m", f"{module}.{figure.script}", *arguments, "--json", str(raw)]
        started = time.monotonic()
        environment = {**os.environ, "OPENAI_API_KEY": "key", "ANTHROPIC_API_KEY": "key"}
        ended = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    if not raw.exists():
        raise RuntimeError(f"{figure.name}: {figure.script} ended with {ended.returncode} and wrote nothing")
    result = {
        "name": figure.name,
        "command": " ".join([f"python -m {module}.{figure.script}", *map(named, figure.arguments)]),
        "exit_code": ended.returncode,
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(time.monotonic() - started, 1),
        "machine": machine(),
        "versions": versions(),
        "figures": json.loads(without_places(raw.read_text(), places)),
    }
    (out / f"{figure.name}.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def named(argument: str) -> str:
    """An argument with the names of its places in capitals."""
    return re.sub(r"\{([a-z]+)(?::\d+)?\}", lambda place: place[1].upper(), argument)


def without_places(text: str, places: Places) -> str:
    """A figure's text without the folders of the machine it was made on."""
    for path, name in ((places.data, "DATA"), (places.scratch, "SCRATCH")):
        if path is not None:
            text = text.replace(str(path), name)
    return text


def machine() -> dict[str, Any]:
    """What the figures were made on."""
    return {
        "cpus": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "load_at_the_end": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """Of Python and of the packages that matter."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def main(
    names: Annotated[
        list[str] | None, typer.Argument(help=", ".join(one.name for one in FIGURES), metavar="NAME")
    ] = None,
    data: Path | None = None,
    postgres: Annotated[str | None, typer.Option(envvar="METAJUDGE_TEST_POSTGRES")] = None,
    out: Path = Path("benchmarks/results"),
) -> None:
    """Makes the figures asked for, then the page; exit code 1 where one failed."""
    unknown = set(names or ()) - {one.name for one in FIGURES}
    if unknown:
        known = ", ".join(f.name for f in FIGURES)
        raise typer.BadParameter(f"no such figure: {', '.join(sorted(unknown))}; there are {known}")
    out.mkdir(parents=True, exist_ok=True)
    failed = False
    with tempfile.TemporaryDirectory(prefix="metajudge-figures-") as scratch:
        places = Places(data, postgres, Path(scratch))
        for figure in FIGURES:
            if names and figure.name not in names:
                continue
            sys.stderr.write(f"{figure.name} ...\n")
            try:
                make(figure, places, out)
            except NotGivenError as missing:
                sys.stderr.write(f"{figure.name}: left as it is ({missing})\n")
            except RuntimeError as error:
                failed = True
                sys.stderr.write(f"{error}\n")
    write_page(out)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    typer.run(main)
