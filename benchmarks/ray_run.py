"""A run spread by Ray against the same run in one process, and with a worker killed in the middle.

    python -m metajudge.benchmarks.ray_run BASE_URL [--judgments 5000] [--workers 2] [--concurrency 64] [--json OUT]

BASE_URL is a server that speaks OpenAI's chat completions and answers schemas after a fixed latency; for the counts
of repeated calls it also offers ``GET /stats`` with ``requests`` and ``POST /reset``. Prints wall seconds from the
first call to the last result (start-up of Ray and Python aside) and of the whole command, whether the results are
equal, and what a killed worker cost.
"""

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from .overhead import write_input

VARYING = frozenset({"latency_s", "calls", "cached_calls", "attempts", "cost_usd", "usage"})
"""Fields of an assessment in which equal runs differ."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished command: its summary, the time it took, the requests that reached the server."""

    summary: dict[str, Any]
    total_s: float
    requests: int


def main(
    ctx: typer.Context,
    base_url: str,
    judgments: int = 5000,
    workers: int = 2,
    concurrency: int = 64,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Runs the comparison and prints it."""
    given = SimpleNamespace(**ctx.params)
    with tempfile.TemporaryDirectory() as scratch:
        found = compare(given, Path(scratch))
    text = json.dumps(found, indent=2)
    sys.stdout.write(text + "\n")
    if out is not None:
        out.write_text(text)


def compare(given: SimpleNamespace, scratch: Path) -> dict[str, Any]:
    """The three runs, and what they say beside each other."""
    judgments = scratch / "judgments.jsonl"
    write_input(judgments, given.judgments, 400)
    vet = [sys.executable, "-m", "metajudge", "vet", str(judgments), "--json", "--no-early-exit"]
    vet += ["--agent", f"openai:gpt-4o-mini@{given.base_url}", "--concurrency", str(given.concurrency)]
    spread = [*vet, "--engine", "ray", "--workers", str(given.workers)]
    local = _run([*vet, "--store", str(scratch / "store.duckdb"), "--out", str(scratch / "local.jsonl")], given)
    ray = _run([*spread, "--out", str(scratch / "ray")], given)
    killed = _run([*spread, "--out", str(scratch / "killed")], given, kill_after=given.judgments // 3)
    expected = [_plain(json.loads(line)) for line in (scratch / "local.jsonl").read_text().splitlines()]
    return {
        "judgments": given.judgments,
        "workers": given.workers,
        "concurrency": given.concurrency,
        "machine": f"{os.cpu_count()} CPUs, Python {platform.python_version()}",
        "local": _times(local),
        "ray": _times(ray),
        "ray_with_a_worker_killed": _times(killed),
        "ratio_vetting": round(ray.summary["wall_s"] / local.summary["wall_s"], 3),
        "ratio_whole_command": round(ray.total_s / local.total_s, 3),
        "results_equal": _results(scratch / "ray") == expected,
        "results_equal_with_a_worker_killed": _results(scratch / "killed") == expected,
        "calls_asked_twice_after_the_kill": killed.requests - given.judgments,
    }


def _run(command: list[str], given: SimpleNamespace, kill_after: int | None = None) -> Run:
    _ask(given.base_url, "/reset", post=True)
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    while kill_after is not None and process.poll() is None:
        if _ask(given.base_url, "/stats")["requests"] >= kill_after:
            os.kill(_workers(process.pid)[0], signal.SIGKILL)
            break
        time.sleep(0.1)
    output, _ = process.communicate()
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    total = time.monotonic() - started
    return Run(json.loads(output), total, _ask(given.base_url, "/stats")["requests"])


def _ask(base_url: str, path: str, *, post: bool = False) -> Any:
    url = base_url.removesuffix("/").removesuffix("/v1") + path
    with urllib.request.urlopen(urllib.request.Request(url, method="POST" if post else "GET"), timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def _workers(pid: int) -> list[int]:
    """Processes of Ray that vet, below a process."""
    listing = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listing.splitlines()[1:]]
    below = {str(pid)}
    for _ in range(6):  # driver, raylet, worker, and some to spare
        below |= {row[0] for row in rows if row[1] in below}
    return [int(row[0]) for row in rows if row[0] in below and "VetWorker" in row[2]]


def _times(run: Run) -> dict[str, float]:
    return {
        "vetting_s": round(run.summary["wall_s"], 2),
        "whole_command_s": round(run.total_s, 2),
        "requests": run.requests,
    }


def _results(folder: Path) -> list[Any]:
    from metajudge.distributed.folder import ResultsFolder

    found = sorted(ResultsFolder(folder).assessments(), key=lambda one: one[0])
    return [_plain(assessment.model_dump(mode="json")) for _, assessment in found]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if name not in VARYING}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


if __name__ == "__main__":
    typer.run(main)
