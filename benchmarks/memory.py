"""Whether vetting uses more memory the longer it runs.

    python -m metajudge.benchmarks.memory BASE_URL [--judgments 300000] [--json OUT]

BASE_URL is a server that speaks OpenAI's chat completions and Anthropic's messages. One ``metajudge vet`` by two agents
over so many judgments, store and output file included, whose resident memory (VmRSS) is read four times a second, until
the process ends. Given for each tenth of the judgments are the median of its readings, the median of the last tenth of
them (its end), and the highest; the peaks include temporary work such as a checkpoint.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from .overhead import MODELS, write_input

TENTHS = 10


def main(
    base_url: str,
    judgments: int = 300000,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(base_url, judgments, Path(scratch))
    text = json.dumps(found, indent=2)
    sys.stdout.write(text + "\n")
    if out is not None:
        out.write_text(text + "\n")


def measure(base_url: str, judgments: int, scratch: Path) -> dict[str, Any]:
    """Runs the command and watches it."""
    write_input(scratch / "judgments.jsonl", judgments, 400)
    command = [sys.executable, "-m", "metajudge", "vet", "judgments.jsonl", "--json", "--store", "store.duckdb"]
    command += ["--out", "out.jsonl", "--no-early-exit"]
    command += [part for model in MODELS for part in ("--agent", f"{model}@{base_url}")]
    partial = scratch / "out.jsonl.partial"
    line_bytes = 0
    readings: list[list[float]] = [[] for _ in range(TENTHS)]
    done, started = 0.0, time.monotonic()
    with (scratch / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, cwd=scratch, stdout=log, stderr=log)
    while process.poll() is None:
        time.sleep(0.25)
        size = partial.stat().st_size if partial.exists() else 0
        if not line_bytes and size > 200_000:
            with partial.open("rb") as lines:
                line_bytes = sum(len(next(lines)) for _ in range(50)) // 50
        done = max(done, size / line_bytes if line_bytes else 0.0)  # the file has its final name before the end
        resident = _resident_mb(process.pid)
        if done and resident:  # importing and opening are not vetting yet
            readings[min(int(done / judgments * TENTHS), TENTHS - 1)].append(resident)
    if process.returncode != 0:
        raise SystemExit(f"vet ended with {process.returncode}: {(scratch / 'log.txt').read_text()[-500:]}")
    return {
        "judgments": judgments,
        "machine": f"{os.cpu_count()} CPUs, Python {platform.python_version()}",
        **growth(readings),
        "seconds": round(time.monotonic() - started, 1),
    }


def growth(readings: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Medians, ends and peaks of the tenths, and how far these are above the first tenth's.

    Args:
        readings: MB, those of each tenth in the order of time, at least one.

    Returns:
        ``end_mb``: the median of the last tenth of each tenth's readings. ``growth_at_the_end``: the last of these over
        the first, less 1. ``growth_of_the_median`` and ``growth_of_the_peak``: the highest of the later tenths over the
        first, less 1.
    """
    medians, peaks = [median(one) for one in readings], [max(one) for one in readings]
    ends = [median(one[-max(1, len(one) // 10) :]) for one in readings]
    return {
        "median_mb": [round(one, 1) for one in medians],
        "end_mb": [round(one, 1) for one in ends],
        "peak_mb": [round(one, 1) for one in peaks],
        "growth_at_the_end": round(ends[-1] / ends[0] - 1, 4),
        "growth_of_the_median": round(max(medians[1:]) / medians[0] - 1, 4),
        "growth_of_the_peak": round(max(peaks[1:]) / peaks[0] - 1, 4),
    }


def _resident_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):  # it has just ended
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    typer.run(main)
