"""Whether vetting holds more memory the longer it runs.

    python -m metajudge.benchmarks.memory BASE_URL [--judgments 100000] [--json OUT]

BASE_URL is a server that speaks OpenAI's chat completions. One ``metajudge vet`` over so many judgments, store and
output file included, whose resident memory is read while it runs: after the first tenth of the judgments, and its
highest value after that.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .overhead import write_input


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("base_url")
    parser.add_argument("--judgments", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(given.base_url, given.judgments, Path(scratch))
    text = json.dumps(found, indent=2)
    sys.stdout.write(text + "\n")
    if given.json is not None:
        given.json.write_text(text + "\n")


def measure(base_url: str, judgments: int, scratch: Path) -> dict[str, Any]:
    """Runs the command and watches it."""
    write_input(scratch / "judgments.jsonl", judgments, 400)
    command = [sys.executable, "-m", "metajudge", "vet", "judgments.jsonl", "--json", "--store", "store.duckdb"]
    command += ["--out", "out.jsonl", "--agent", f"openai:gpt-4o-mini@{base_url}"]
    partial = scratch / "out.jsonl.partial"
    line_bytes, early, peak_later = 0, 0.0, 0.0
    started = time.monotonic()
    with (scratch / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, cwd=scratch, stdout=log, stderr=log)
    while process.poll() is None:
        time.sleep(0.25)
        size = partial.stat().st_size if partial.exists() else 0
        if not line_bytes and size > 200_000:
            with partial.open("rb") as lines:
                line_bytes = sum(len(next(lines)) for _ in range(50)) // 50
        done = size / line_bytes if line_bytes else 0.0
        resident = _resident_mb(process.pid)
        if done < judgments / 10:
            early = max(early, resident)
        else:
            peak_later = max(peak_later, resident)
    if process.returncode != 0:
        raise SystemExit(f"vet ended with {process.returncode}: {(scratch / 'log.txt').read_text()[-500:]}")
    return {
        "judgments": judgments,
        "machine": f"{os.cpu_count()} CPUs, Python {platform.python_version()}",
        "peak_mb_in_the_first_tenth": round(early, 1),
        "peak_mb_after_it": round(peak_later, 1),
        "growth": round(peak_later / early - 1, 4),
        "seconds": round(time.monotonic() - started, 1),
    }


def _resident_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):  # it has just ended
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
