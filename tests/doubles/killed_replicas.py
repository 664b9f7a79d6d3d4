"""Two replicas of the service on one PostgreSQL database, of which one after the other is killed again and again.

The load is vets under idempotency keys from several clients, sent again to the next replica until they are answered,
people who claim and decide the reviews that the vets' policy opens, and a job. Then everything that was answered is
asked for again and counted in the database:

- lost: answered vets, decisions and job items that the store does not have;
- twice: assessments, decisions, results or answers that there are two of.
"""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psycopg

from tests.api.service_process import free_port

GIVE_UP_S = 60.0
POLICY = "verdict"
PEOPLE = 3
RETRIED = (409, 429, 500, 502, 503, 504)
SECONDS, KILL_EVERY_S, CLIENTS, LATENCY_MS, JOB_ITEMS = 30.0, 8.0, 6, 100.0, 100


def judgment(name: str) -> dict[str, Any]:
    """A judgment; different names ask models anew."""
    return {
        "id": name,
        "item": {
            "id": name,
            "question": f"Question {name}: which is larger, 9.11 or 9.9?",
            "responses": {"A": "9.11, because 11 is larger than 9.", "B": "9.9, because .90 is larger."},
        },
        "judge": "example-judge",
        "verdict": "B>A",
        "rationale": f"Assistant B compares the decimals correctly ({name}).",
        "order": ["A", "B"],
    }


@dataclass(slots=True)
class Process:
    """A process that listens on a port, through kills and restarts."""

    command: list[str]
    port: int
    log: Path
    environ: dict[str, str] = field(default_factory=dict)
    running: "subprocess.Popen[bytes] | None" = None
    kills: int = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts it, without waiting."""
        with self.log.open("ab") as stream:
            environ = {**os.environ, **self.environ}
            self.running = subprocess.Popen(self.command, stdout=stream, stderr=stream, env=environ)

    def wait(self) -> None:
        """Waits until it listens.

        Raises:
            SystemExit: it does not.
        """
        deadline = time.monotonic() + 150
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            if self.running is None or self.running.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{' '.join(self.command[1:4])} does not listen:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.1)

    def end(self, how: signal.Signals) -> None:
        """Sends a signal and waits for the end."""
        if self.running is not None and self.running.poll() is None:
            self.running.send_signal(how)
            self.running.wait(30)


@contextlib.contextmanager
def processes(folder: Path, database: str) -> Iterator[list[Process]]:
    """Two replicas in front of a server of models."""
    port = free_port()
    script = str(Path(__file__).parents[2] / "benchmarks" / "perf" / "upstream.py")
    command = [sys.executable, script, str(port), str(LATENCY_MS)]
    models = Process(command, port, folder / "upstream.log")
    models.start()
    agent = f"--agent=gpt-4o-mini=openai:gpt-4o-mini@http://127.0.0.1:{port}/v1"
    replicas = []
    for number in range(2):
        port = free_port()
        command = [sys.executable, "-m", "metajudge", "serve", "--port", str(port), agent]
        environ = {"OPENAI_API_KEY": "none", "METAJUDGE_STORE": database}
        replicas.append(Process(command, port, folder / f"replica{number}.log", environ))
    try:
        models.wait()
        for one in replicas:
            one.start()
        for one in replicas:
            one.wait()
        yield replicas
    finally:
        for one in (*replicas, models):
            one.end(signal.SIGTERM)


@dataclass(slots=True)
class Load:
    """What was sent and what came back."""

    session: aiohttp.ClientSession
    replicas: list[Process]
    prefix: str
    answers: dict[str, bytes] = field(default_factory=dict)
    decided: dict[str, str] = field(default_factory=dict)
    given_up: int = 0
    stopped: bool = False
    _next: Iterator[int] = field(default_factory=itertools.count)

    async def ask(self, method: str, path: str, start: int, **options: Any) -> tuple[int, bytes] | None:
        """Asks one replica after the other until one answers for good; None where none does for long."""
        deadline = time.monotonic() + GIVE_UP_S
        for number in itertools.count(start):
            url = self.replicas[number % len(self.replicas)].url
            with contextlib.suppress(aiohttp.ClientError):
                async with self.session.request(method, url + path, **options) as answer:
                    if answer.status not in RETRIED:
                        return answer.status, await answer.read()
            if time.monotonic() > deadline:
                self.given_up += 1
                return None
            await asyncio.sleep(0.1)
        raise AssertionError

    async def vet(self, number: int) -> None:
        """One vet under a key of its own."""
        name = f"{self.prefix}{number}"
        found = await self.asked(name, number)
        if found is not None and found[0] == 200:
            self.answers[name] = found[1]

    async def asked(self, name: str, number: int) -> tuple[int, bytes] | None:
        """What a vet of that name is answered."""
        body = {"judgment": judgment(name), "policy": POLICY}
        return await self.ask("POST", "/v1/vet", number, json=body, headers={"idempotency-key": name})

    async def client(self) -> None:
        """Vets until stopped."""
        while not self.stopped:
            await self.vet(next(self._next))

    async def person(self, name: str, number: int) -> None:
        """Claims and decides reviews until stopped."""
        while not self.stopped:
            found = await self.ask("GET", f"/v1/reviews?status=open&limit={10 * PEOPLE}", number)
            open_ones = json.loads(found[1])["reviews"] if found and found[0] == 200 else []
            for one in open_ones[number::PEOPLE] or open_ones[:1]:
                await self.decide(name, number, one["review"]["review_id"])
            await asyncio.sleep(0.2)

    async def decide(self, name: str, number: int, review: str) -> None:
        """Claims one review and decides it; another reviewer may be faster."""
        url = f"{self.replicas[number % len(self.replicas)].url}/v1/reviews/{review}"
        with contextlib.suppress(aiohttp.ClientError):
            async with self.session.post(f"{url}/claim", json={"reviewer": name}) as answer:
                if answer.status != 200:
                    return
            decision = {"reviewer": name, "outcome": "approve"}
            found = await self.ask("POST", f"/v1/reviews/{review}/decide", number, json=decision)
            if found is not None and found[0] == 200:
                self.decided[review] = name


async def run(load: Load) -> None:
    """Keeps up a load for a time."""
    tasks = [asyncio.create_task(load.client()) for _ in range(CLIENTS)]
    tasks += [asyncio.create_task(load.person(f"person{n}", n)) for n in range(PEOPLE)]
    await asyncio.sleep(SECONDS)
    load.stopped = True
    await asyncio.gather(*tasks)


async def kill_in_turn(replicas: list[Process]) -> None:
    """Kills one replica after the other and starts it again."""
    due = time.monotonic()
    for one in itertools.cycle(replicas):
        due += KILL_EVERY_S
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        one.end(signal.SIGKILL)
        one.kills += 1
        one.start()
        await asyncio.to_thread(one.wait)


async def job(load: Load) -> str:
    """Sends a job; its place."""
    lines = "\n".join(json.dumps(judgment(f"{load.prefix}job{number}")) for number in range(JOB_ITEMS))
    headers = {"content-type": "application/x-ndjson", "idempotency-key": f"{load.prefix}job"}
    found = await load.ask("POST", "/v1/vet/batch", 0, data=lines.encode(), headers=headers)
    assert found is not None, "the job was not taken"
    assert found[0] == 202, found
    return f"/v1/jobs/{json.loads(found[1])['job_id']}"


async def ended(load: Load, place: str) -> dict[str, Any]:
    """A job once it has ended, or as it is after a while."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = await load.ask("GET", place, 1)
        status: dict[str, Any] = json.loads(found[1]) if found else {"state": "unknown", "done": 0}
        if status["state"] in ("done", "failed", "cancelled") or time.monotonic() > deadline:
            return status
        await asyncio.sleep(0.5)


async def checked(load: Load, place: str, status: dict[str, Any], database: str) -> dict[str, Any]:
    """Asks for everything again, and counts in the database."""
    again = 0
    for name, before in load.answers.items():
        found = await load.asked(name, again)
        again += found is not None and found[1] != before
    found = await load.ask("GET", f"{place}/results", 0, headers={"accept": "application/x-ndjson"})
    results = Counter(json.loads(line)["item"] for line in (found[1] if found else b"").splitlines())
    with psycopg.connect(database) as connection:

        def column(query: str) -> list[Any]:
            return [row[0] for row in connection.execute(query.encode()).fetchall()]

        kept = set(column(f"SELECT judgment_id FROM assessments WHERE judgment_id LIKE '{load.prefix}%'"))
        # A vet's scores have one key, what the policy made of them another.
        assessed = Counter(column(f"SELECT key FROM assessments WHERE judgment_id LIKE '{load.prefix}%'"))
        decisions = Counter(column("SELECT review_id FROM review_decisions"))
    return {
        "vets_answered": len(load.answers),
        "vets_lost": sum(name not in kept for name in load.answers),
        "vets_decided_twice": sum(count > 1 for count in assessed.values()),
        "answers_changed": again,
        "given_up": load.given_up,
        "decisions_acknowledged": len(load.decided),
        "decisions_lost": sum(review not in decisions for review in load.decided),
        "decisions_twice": sum(count > 1 for count in decisions.values()),
        "job_state": status["state"],
        "job_items_lost": JOB_ITEMS - len(results),
        "job_items_twice": sum(count > 1 for count in results.values()),
    }


async def killed(database: str, folder: Path) -> dict[str, Any]:
    """What was answered, lost and done twice while replicas were killed."""
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
        with processes(folder, database) as replicas:
            load = Load(session, replicas, "killed")
            place = await job(load)
            killing = asyncio.create_task(kill_in_turn(replicas))
            await run(load)
            status = await ended(load, place)
            killing.cancel()
            await asyncio.gather(killing, return_exceptions=True)
            for one in replicas:
                await asyncio.to_thread(one.wait)
            found = await checked(load, place, status, database)
    return {"kills": sum(one.kills for one in replicas), **found}
