"""What the HTTP service adds to the models' latency, and what it does when asked for more than it can do.

    metajudge bench perf service [--upstream URL] [--latency-ms 200] [--requests 2000] [--json-out OUT]

``--upstream`` is a server that speaks OpenAI's chat completions, answers schemas and delays every answer by the
latency; without it one is started (:mod:`upstream`). Starts ``metajudge serve`` with a panel of two agents and a
store in a temporary folder, and sends vets from this process: both take their share of the same processors, so CPU
seconds of the service are printed beside the times. Prints

- open loop: vets sent at fixed times (``--rate`` a second), each a different judgment; what is added to the
  latency, from the time a request was due, as median and 99th percentile; CPU milliseconds a vet;
- cached: the same judgments again from 16 connections, vets a second, and CPU milliseconds a vet;
- sustainable: the highest of a few rates at which nothing is refused and the 99th percentile stays within twice that
  of the open loop;
- overload: four times that rate; which statuses came, and the accepted requests' 99th percentile against that at the
  sustainable rate;
- memory: resident memory over ``--memory-requests`` vets, after the first and after the last tenth.
"""

import asyncio
import contextlib
import json
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import aiohttp
import typer

from .measuring import METAJUDGE, JsonOut, free_port, keep, listening

CLIENTS = 16
MEMORY_CLIENTS = 48
RATES = (1.0, 1.25, 1.5, 2.0, 2.5)
"""Of ``--rate``: what is tried to find the sustainable one."""


@dataclass(slots=True)
class Answers:
    """What came back: seconds of the accepted ones, statuses of all."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def quantile(self, share: float) -> float:
        """A quantile of the accepted requests' seconds.

        Raises:
            ValueError: nothing was accepted.
        """
        if not self.seconds:
            raise ValueError(f"nothing was accepted: {dict(self.statuses)}")
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
def upstream(given: str | None, latency_ms: float, folder: Path) -> Iterator[str]:
    """The base URL of the server of models: the given one, or one of our own."""
    if given is not None:
        yield given
        return
    port = free_port()
    words = ["-m", "metajudge.benchmarks.perf.upstream", str(port), str(latency_ms)]
    with listening(words, port, folder / "upstream.log"):
        yield f"http://127.0.0.1:{port}/v1"


@contextlib.contextmanager
def serving(base_url: str, folder: Path) -> Iterator[tuple[int, str]]:
    """A service in a process of its own: process id and URL."""
    port = free_port()
    agents = [f"--agent={name}=openai:{name}@{base_url}" for name in ("gpt-4o-mini", "gpt-4o")]
    words = [*METAJUDGE, "serve", "--port", str(port), "--store", str(folder / "s.db"), "--concurrency", "256"]
    key = {"OPENAI_API_KEY": "none"}
    with listening([*words, *agents], port, folder / "serve.log", environment=key) as process:
        yield process.pid, f"http://127.0.0.1:{port}"


async def send(session: aiohttp.ClientSession, url: str, name: str, due: float, answers: Answers) -> None:
    """Sends one vet and notes how long after it was due the answer was there."""
    headers = {"content-type": "application/json"}
    async with session.post(f"{url}/v1/vet", data=record(name), headers=headers) as answer:
        body = await answer.read()
    answers.statuses[answer.status] += 1
    if answer.status == 200:
        assert b'"status":"assessed"' in body, body[:500]
        answers.seconds.append(time.perf_counter() - due)
    elif answer.status in (429, 503):
        assert "retry-after" in answer.headers, answer.headers


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


def cpu_s(pid: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Bench:
    """One running service under measurement."""

    session: aiohttp.ClientSession
    pid: int
    url: str
    asked: SimpleNamespace

    def cpu_ms(self, before: float, vets: int) -> float:
        """Processor milliseconds a vet since a time when the service had taken so many seconds."""
        return round(1000 * (cpu_s(self.pid) - before) / vets, 2)

    async def calm(self) -> tuple[dict[str, Any], Answers]:
        """The open loop at the given rate."""
        before, rate, n, latency_ms = cpu_s(self.pid), self.asked.rate, self.asked.requests, self.asked.latency_ms
        answers = await open_loop(self.session, self.url, "open", rate, n)
        found = {
            "rate": rate,
            "n": n,
            "statuses": dict(answers.statuses),
            "added_p50_ms": round(1000 * statistics.median(answers.seconds) - latency_ms, 1),
            "added_p99_ms": round(1000 * answers.quantile(0.99) - latency_ms, 1),
            "cpu_ms_per_vet": self.cpu_ms(before, n),
        }
        return found, answers

    async def cached(self) -> dict[str, Any]:
        """The same judgments again."""
        before, n = cpu_s(self.pid), self.asked.requests
        names = [f"open{number}" for number in range(n)]
        rates = [await closed_loop(self.session, self.url, names, CLIENTS) for _ in range(3)]
        return {"per_s": round(statistics.median(rates)), "n": 3 * n, "cpu_ms_per_vet": self.cpu_ms(before, 3 * n)}

    async def overload(self, calm: Answers) -> dict[str, Any]:
        """Finds the sustainable rate and asks for four times as much."""
        sustained, at_it, seconds = float(self.asked.rate), calm, self.asked.seconds
        for rate in [share * sustained for share in RATES]:
            tried = await open_loop(self.session, self.url, f"rate{rate:g}-", rate, int(rate * seconds))
            if set(tried.statuses) != {200} or tried.quantile(0.99) > 2 * calm.quantile(0.99):
                break
            sustained, at_it = rate, tried
        flood = await open_loop(self.session, self.url, "flood", 4 * sustained, int(4 * sustained * seconds))
        return {
            "sustainable_rate": sustained,
            "sustainable_p99_ms": round(1000 * at_it.quantile(0.99), 1),
            "rate": 4 * sustained,
            "statuses": dict(flood.statuses),
            "accepted_p50_ms": round(1000 * statistics.median(flood.seconds), 1),
            "accepted_p99_ms": round(1000 * flood.quantile(0.99), 1),
            "of_sustainable_p99": round(flood.quantile(0.99) / at_it.quantile(0.99), 2),
        }

    async def memory(self, requests: int) -> dict[str, Any]:
        """Resident memory over many different vets."""
        sent, sizes, step = 0, [], max(1, min(500, requests // 20))
        before = cpu_s(self.pid)
        while sent < requests:
            names = [f"memory{sent + number}" for number in range(step)]
            await closed_loop(self.session, self.url, names, MEMORY_CLIENTS)
            sent += step
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
            sizes.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
        tenth = max(1, len(sizes) // 10)
        first, last = statistics.mean(sizes[:tenth]), statistics.mean(sizes[-tenth:])
        return {
            "first_tenth_mb": round(first, 1),
            "last_tenth_mb": round(last, 1),
            "last_of_first": round(last / first, 3),
            "n": sent,
            "cpu_ms_per_vet": self.cpu_ms(before, sent),
        }


async def measure(pid: int, url: str, asked: SimpleNamespace) -> dict[str, Any]:
    """All of it, in order."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=120)) as session:
        bench = Bench(session, pid, url, asked)
        await open_loop(session, url, "warm", asked.rate / 2, 100)
        found, calm = await bench.calm()
        found = {"open_loop": found, "cached": await bench.cached(), "overload": await bench.overload(calm)}
        if asked.memory_requests:
            found["memory"] = await bench.memory(asked.memory_requests)
        return found


def main(
    ctx: typer.Context,
    upstream_url: Annotated[str | None, typer.Option("--upstream", metavar="URL")] = None,
    latency_ms: float = 200,
    rate: int = 100,
    requests: int = 2000,
    seconds: Annotated[float, typer.Option(help="that each rate of the overload is kept up")] = 8,
    memory_requests: int = 20000,
    out: JsonOut = None,
) -> None:
    """Runs the benchmark."""
    asked = SimpleNamespace(**ctx.params)
    with tempfile.TemporaryDirectory(prefix="metajudge-service-") as name:
        folder = Path(name)
        with upstream(upstream_url, latency_ms, folder) as base_url, serving(base_url, folder) as (pid, url):
            found = asyncio.run(measure(pid, url, asked))
    print(json.dumps(found, indent=2))
    keep(found, out)
