"""What a clash costs beyond the models' latency: wall time over the ideal of its dependency graph.

    python benchmarks/clash_overhead.py BASE_URL [--latency-ms 200] [--items 100] [--rounds 3] [--json OUT]

BASE_URL is a server that speaks OpenAI's chat completions and Anthropic's messages and answers schemas after a fixed
latency. Three judges of both protocols judge given responses to 100 items, with criteria named for each: criteria
first, then the judges at once. With C calls in flight at most and n items, the ideal is the larger of the critical
path (two latencies) and the work, ``ceil(4 n / C)`` latencies. Measured by ``metajudge clash --json``, from the first
request sent to the last record written; everything is on (rendering, schemas, parsing, store, file of attempts). The
median of several rounds is printed, because a busy machine only ever adds time; and the floor, the same graph of
requests of like size sent by aiohttp alone, taking turns with the command, says how busy it was.
"""

import asyncio
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

CONCURRENCY = 64
JUDGES = ("one=openai:gpt-4o", "two=anthropic:claude-sonnet-4-5", "three=openai:gpt-4o-mini")
CRITERIA = "openai:gpt-4o-mini"
TEXT = "The steps are checked one after the other, and each is compared with the question. "


def write_items(path: Path, count: int) -> None:
    """Writes items with two responses of ordinary length each."""
    with path.open("w", encoding="utf-8") as stream:
        for number in range(count):
            responses = {"first": f"{TEXT * 12}({number})", "second": f"{TEXT * 10}({number}, too)"}
            item = {"id": f"i{number}", "question": f"Is step {number} right? {TEXT}", "responses": responses}
            stream.write(json.dumps(item) + "\n")


def measure(base_url: str, items: int, latency_s: float, rounds: int) -> dict[str, Any]:
    """Runs the command several times, each with a store and a file of its own."""
    ideal = latency_s * max(2, math.ceil(items * (1 + len(JUDGES)) / CONCURRENCY))
    runs, floors = [], []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "items.jsonl"
        write_items(source, items)
        for number in range(rounds):
            runs.append(one_run(source, Path(folder) / str(number), base_url))
            floors.append(asyncio.run(floor(base_url, items)))
    walls = [run["wall_s"] for run in runs]
    return {
        "items": items,
        "calls": runs[0]["calls"],
        "fallbacks": runs[0]["fallbacks"],
        "ideal_s": ideal,
        "wall_s": walls,
        "wall_over_ideal": statistics.median(walls) / ideal,
        "best_wall_over_ideal": min(walls) / ideal,
        "floor_s": floors,
        "floor_over_ideal": statistics.median(floors) / ideal,
        "wall_over_floor": statistics.median(walls) / statistics.median(floors),
        "cpu_ms_per_call": statistics.median(run["cpu_s"] / run["calls"] * 1000 for run in runs),
    }


async def floor(base_url: str, items: int) -> float:
    """Wall seconds of the same graph by aiohttp alone: for each item one request, then one for each judge at once."""
    import aiohttp

    slots = asyncio.Semaphore(CONCURRENCY)
    connector = aiohttp.TCPConnector(limit=CONCURRENCY)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(text: str) -> None:
            body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}]}
            async with slots, session.post(f"{base_url}/v1/chat/completions", json=body) as response:
                await response.json()

        async def evaluate(number: int) -> None:
            await ask(f"{number} " + TEXT)
            await asyncio.gather(*(ask(f"{number} {judge} " + TEXT * 60) for judge in JUDGES))

        start = time.monotonic()
        await asyncio.gather(*(evaluate(number) for number in range(items)))
        return time.monotonic() - start


def one_run(source: Path, folder: Path, base_url: str) -> dict[str, Any]:
    """The command's summary, and the CPU seconds of the whole process, start-up included."""
    folder.mkdir()
    judges = [part for judge in JUDGES for part in ("--judge", f"{judge}@{base_url}")]
    command = [
        *(sys.executable, "-m", "metajudge", "clash", str(source), "--responses", "given", *judges),
        *("--criteria-model", f"{CRITERIA}@{base_url}", "--concurrency", str(CONCURRENCY), "--json", "-"),
        *("--out", str(folder / "clash.jsonl"), "--store", str(folder / "store.duckdb")),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    summary: dict[str, Any] = json.loads(text)["summary"]
    return {**summary, "cpu_s": usage.ru_utime + usage.ru_stime}


def main(
    base_url: str,
    latency_ms: Annotated[float, typer.Option(help="the server's latency")] = 200.0,
    items: int = 100,
    rounds: int = 3,
    out: Annotated[Path | None, typer.Option("--json", help="write the figures here as well")] = None,
) -> None:
    """Measures and prints."""
    figures = measure(base_url.rstrip("/"), items, latency_ms / 1000, rounds)
    for name, value in figures.items():
        print(f"{name:22} {value:.3f}" if isinstance(value, float) else f"{name:22} {value}")
    if out:
        out.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
