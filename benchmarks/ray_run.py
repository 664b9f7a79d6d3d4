"""A run spread by Ray against the same run in one process, and with a worker killed in the middle.

    python -m metajudge.benchmarks.ray_run [INPUT] [--judgments 100000] [--workers 4] [--json OUT]
    python -m metajudge.benchmarks.ray_run --base-url URL [--judgments 5000] [--workers 2] [--concurrency 64]

Without a URL no model is asked: strategy ``signals`` with a calibration and a policy, over the first judgments of INPUT
(judgments with labels, a file that ``vet`` reads; made here where none is given). The calibration is fitted on every
tenth question beforehand. Printed are CPU seconds of the command with all its processes, wall seconds, and whether
every assessment equals that of one process.

With a URL one agent is asked there: a server that speaks OpenAI's chat completions and answers schemas after a fixed
latency; for the counts of repeated calls it also offers ``GET /stats`` with ``requests`` and ``POST /reset``. Printed
are wall seconds from the first call to the last result (start-up of Ray and Python aside) and of the whole command,
whether the results are equal, and what a killed worker cost.
"""

import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from metajudge.readers import open_judgments
from metajudge.readers.jsonl import to_line
from metajudge.types import Judgment, digest, text_digest

from .overhead import write_input

LOREM = "It weighs what was said, and asks what would follow if it were not so; then it compares. "

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
    judged: Annotated[Path | None, typer.Argument(metavar="[INPUT]")] = None,
    base_url: Annotated[str | None, typer.Option()] = None,
    judgments: int = 100_000,
    workers: int = 4,
    concurrency: int = 64,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Runs the comparison and prints it."""
    given = SimpleNamespace(**ctx.params)
    with tempfile.TemporaryDirectory() as scratch:
        found = compare_free(given, Path(scratch)) if base_url is None else compare(given, Path(scratch))
    text = json.dumps(found, indent=2)
    sys.stdout.write(text + "\n")
    if out is not None:
        out.write_text(text)


def compare_free(given: SimpleNamespace, scratch: Path) -> dict[str, Any]:
    """Free evidence, calibration and policy: one process, Ray, and Ray with a worker killed."""
    judged, fitted, file = scratch / "judgments.jsonl", scratch / "fitted.jsonl", scratch / "calibration.json"
    count = _write_some(given, judged, fitted)
    metajudge = [sys.executable, "-m", "metajudge"]
    _timed([*metajudge, "calibrate", "fit", "--data", str(fitted), "--out", str(file)])
    vet = [*metajudge, "vet", str(judged), "--strategy", "signals", "--json"]
    vet += ["--calibration", str(file), "--policy", "verdict"]
    spread = [*vet, "--engine", "ray", "--workers", str(given.workers), "--out"]
    lines = scratch / "local.jsonl"
    runs = {
        "local": _timed([*vet, "--store", str(scratch / "store.duckdb"), "--out", str(lines)]),
        "ray": _timed([*spread, str(scratch / "ray")]),
        "ray_with_a_worker_killed": _timed([*spread, str(scratch / "killed")], kill_after=scratch / "killed"),
    }
    return {
        "judgments": count,
        "workers": given.workers,
        "machine": f"{os.cpu_count()} CPUs, Python {platform.python_version()}",
        **runs,
        "results_equal": _equal(scratch / "ray", lines),
        "results_equal_with_a_worker_killed": _equal(scratch / "killed", lines),
    }


def _write_some(given: SimpleNamespace, judged: Path, fitted: Path) -> int:
    """Writes the judgments to vet and those to fit on, of other questions; returns how many are to be vetted."""
    made = labelled_pairs(2 * given.judgments)
    source: Iterable[Judgment] = made if given.judged is None else open_judgments([given.judged])
    count = 0
    with judged.open("wb") as rest, fitted.open("wb") as some:
        for judgment in source:
            held_out = int(text_digest(judgment.item.opening)[:8], 16) % 10 == 0
            (some if held_out else rest).write(to_line(judgment))
            count += not held_out
            if count == given.judgments:
                break
    return count


def labelled_pairs(count: int, seed: int = 0) -> Iterator[Judgment]:
    """Judgments of five judges in both orders, right more often than not, with labels."""
    rng, judges = random.Random(seed), ("owl", "fox", "cat", "elk", "jay")
    skill = dict(zip(judges, (0.9, 0.8, 0.75, 0.7, 0.6), strict=True))
    for number in range(count):
        pair, place = divmod(number, 2 * len(judges))
        judge, order = judges[place // 2], ("A", "B") if place % 2 == 0 else ("B", "A")
        right = "A" if pair % 2 else "B"
        choice = right if rng.random() < skill[judge] else {"A": "B", "B": "A"}[right]
        verdict = f"{choice}>{'B' if choice == 'A' else 'A'}"
        item = {
            "id": f"item-{pair}",
            "question": f"Question {pair}: {LOREM}",
            "responses": {"A": f"{pair} {LOREM * 3}", "B": f"{pair + 1} {LOREM * 4}"},
            "label": f"{right}>{'B' if right == 'A' else 'A'}",
            "category": f"field-{pair % 4}",
        }
        said = {"judge": judge, "order": list(order), "verdict": verdict}
        text = f"{LOREM * 2} Therefore [[{verdict}]]."
        yield Judgment.model_validate({"id": f"j{number}", "item": item, "rationale": text, **said})


def _timed(command: list[str], kill_after: Path | None = None) -> dict[str, Any]:
    """Runs a command to its end: CPU seconds of all its processes, wall seconds, and workers killed."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    killed, cpu = 0, dict[int, float]()
    while process.poll() is None:
        if kill_after is not None and not killed and any(kill_after.glob("part-*")):  # some batches are done
            for worker in _workers(process.pid)[:1]:
                os.kill(worker, signal.SIGKILL)
                killed += 1
        cpu |= _cpu_below(process.pid)
        time.sleep(0.1)
    _, said = process.communicate()
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {said[-2000:]}")
    wall = time.monotonic() - started
    return {"cpu_s": round(sum(cpu.values()), 1), "wall_s": round(wall, 1), "workers_killed": killed}


def _cpu_below(pid: int) -> dict[int, float]:
    """CPU seconds so far of a process and of those below it."""
    parents, spent = dict[int, int](), dict[int, float]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = stat.read_text().rpartition(")")[2].split()
            one = int(stat.parent.name)
            parents[one] = int(fields[1])
            spent[one] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    below = {pid}
    for _ in range(6):  # driver, raylet, worker, and some to spare
        below |= {one for one, parent in parents.items() if parent in below}
    return {one: spent[one] for one in below if one in spent}


def _equal(folder: Path, lines: Path) -> bool:
    """Whether a folder has every assessment of a file once, numbers equal after rounding to 1e-9."""
    from metajudge.distributed.folder import ResultsFolder

    found: dict[int, Any] = {}
    for index, assessment in ResultsFolder(folder).assessments():
        if index in found:
            return False
        found[index] = digest(_plain(assessment.model_dump(mode="json")))
    with lines.open("rb") as file:
        expected = {index: digest(_plain(json.loads(line))) for index, line in enumerate(file)}
    return found == expected


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
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return round(value, 9) if isinstance(value, float) else value


if __name__ == "__main__":
    typer.run(main)
