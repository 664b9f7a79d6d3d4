"""What the HTTP service adds to the models' latency, and what it does when asked for more than it can do.

    python benchmarks/service.py BASE_URL [--latency-ms 200] [--requests 2000] [--json OUT]

BASE_URL is a server that speaks OpenAI's chat completions, answers schemas and holds every answer back for a fixed
latency. Starts ``metajudge serve`` with a panel of two agents and a store in a temporary folder, and sends vets from
this process, which takes its share of the same cores. Prints

- open loop: vets sent at fixed times (``--rate`` a second), each a different judgment; what is added to the
  latency, from the time a request was due, as median and 99th percentile;
- cached: the same judgments again from 16 connections, vets a second;
- memory: resident memory over ``--memory-requests`` vets, at the first and the last tenth;
- overload: four times the rate; which statuses came, and the accepted requests' 99th percentile against open loop's.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

CLIENTS = 16


@dataclass(slots=True)
class Answers:
    """What came back: seconds of the accepted ones, statuses of all."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def quantile(self, share: float) -> float:
        """A quantile of the accepted requests' seconds."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def record(name: str) -> bytes:
    """A judgment as a pipeline would send it; different names ask models anew."""
    judgment = {
        "id": name,
        "item": {
            "id": name,
            "question": f"Question {name}: which is larger, 9.11 or 9.9?",
            "responses": {"A": "9.11, because 11 is larger than 9. " * 10, "B": "9.9, because .90 is larger. " * 10},
        },
        "judge": "example-judge",
        "verdict": "B>A",
        "rationale": f"Assistant B compares the decimals correctly ({name}). " * 5,
        "order": ["A", "B"],
    }
    return json.dumps(judgment).encode()


@contextlib.contextmanager
def serving(base_url: str, folder: Path) -> Iterator[tuple[int, str]]:
    """A service in a process of its own: process id and URL."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    agents = [f"--agent={name}=openai:{name}@{base_url}" for name in ("gpt-4o-mini", "gpt-4o")]
    command = [sys.executable, "-m", "metajudge", "serve", "--port", str(port), "--store", str(folder / "s.duckdb")]
    environ = {**os.environ, "OPENAI_API_KEY": "none"}
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen([*command, "--concurrency", "256", *agents], stderr=log, env=environ)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.2)
        yield process.pid, f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


async def send(session: aiohttp.ClientSession, url: str, name: str, due: float, answers: Answers) -> None:
    """Sends one vet and notes how long after it was due the answer was there."""
    headers = {"content-type": "application/json"}
    async with session.post(f"{url}/v1/vet", data=record(name), headers=headers) as answer:
        body = await answer.read()
    answers.statuses[answer.status] += 1
    if answer.status == 200:
        assert b'"status":"assessed"' in body, body[:500]
        answers.seconds.append(time.perf_counter() - due)


async def open_loop(session: aiohttp.ClientSession, url: str, prefix: str, rate: float, count: int) -> Answers:
    """Sends vets at fixed times, whatever the answers do."""
    answers, tasks = Answers(), set[asyncio.Task[None]]()
    start = time.perf_counter()
    for number in range(count):
        due = start + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        task = asyncio.create_task(send(session, url, f"{prefix}{number}", due, answers))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    return answers


async def closed_loop(session: aiohttp.ClientSession, url: str, names: list[str], clients: int) -> float:
    """Sends vets from so many connections as fast as answers come; vets a second."""
    answers, waiting, start = Answers(), iter(names), time.perf_counter()

    async def one() -> None:
        for name in waiting:
            await send(session, url, name, time.perf_counter(), answers)

    await asyncio.gather(*(one() for _ in range(clients)))
    assert set(answers.statuses) == {200}, answers.statuses
    return len(names) / (time.perf_counter() - start)


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def measure(pid: int, url: str, asked: argparse.Namespace) -> dict[str, Any]:
    """All of it, in order."""
    found: dict[str, Any] = {}
    latency = asked.latency_ms / 1000
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=120)) as session:
        await open_loop(session, url, "warm", asked.rate / 2, 100)
        calm = await open_loop(session, url, "open", asked.rate, asked.requests)
        found["open_loop"] = {
            "rate": asked.rate,
            "n": asked.requests,
            "statuses": dict(calm.statuses),
            "added_p50_ms": round(1000 * (statistics.median(calm.seconds) - latency), 1),
            "added_p99_ms": round(1000 * (calm.quantile(0.99) - latency), 1),
        }
        names = [f"open{number}" for number in range(asked.requests)]
        cached = [await closed_loop(session, url, names, CLIENTS) for _ in range(3)]
        found["cached_per_s"] = {"median": round(statistics.median(cached)), "n": 3 * len(names)}
        before, sent, sizes = resident_mb(pid), 0, []
        while sent < asked.memory_requests:
            names = [f"memory{sent + number}" for number in range(500)]
            await closed_loop(session, url, names, 48)
            sent += 500
            sizes.append(resident_mb(pid))
        tenth = max(1, len(sizes) // 10)
        if sizes:
            first, last = statistics.mean(sizes[:tenth]), statistics.mean(sizes[-tenth:])
            found["memory_mb"] = {"before": before, "first_tenth": first, "last_tenth": last, "n": sent}
        flood = await open_loop(session, url, "flood", 4 * asked.rate, 4 * asked.rate * 10)
        found["overload"] = {
            "rate": 4 * asked.rate,
            "statuses": dict(flood.statuses),
            "accepted_p99_ms": round(1000 * flood.quantile(0.99), 1),
            "of_calm_p99": round(flood.quantile(0.99) / calm.quantile(0.99), 2),
        }
    return found


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base_url")
    parser.add_argument("--latency-ms", type=float, default=200)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--memory-requests", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="metajudge-service-") as folder,
        serving(asked.base_url, Path(folder)) as (pid, url),
    ):
        found = asyncio.run(measure(pid, url, asked))
    print(json.dumps(found, indent=2))
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
