"""Replicas on one store, killed under load; several workers behind one address."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.api.service_process import free_port
from tests.doubles.judgments import judgment
from tests.doubles.killed_replicas import killed
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.postgres_server import PostgresServer
from tests.doubles.postgres_urls import stores_on_postgres
from tests.doubles.waiting import until

pytest.importorskip("psycopg_pool", reason="extra postgres is not installed")

pytestmark = pytest.mark.timeout(300)  # each starts whole services, which takes long where many do


@pytest.fixture
def url():
    with stores_on_postgres() as make:
        yield make()


@pytest.mark.slow
def test_of_two_replicas_one_killed_again_and_again_nothing_is_lost_and_nothing_decided_twice(url, tmp_path):
    found = asyncio.run(killed(url, tmp_path))
    wrong = {name: count for name, count in found.items() if name.endswith(("_lost", "_twice", "_changed")) and count}
    assert (wrong, found["given_up"]) == ({}, 0)
    assert found["kills"] >= 1
    assert found["vets_answered"] > 20
    assert found["decisions_acknowledged"] > 0
    assert found["job_state"] == "done"


def workers(url, tmp_path, count, port, *more):
    command = [sys.executable, "-m", "metajudge", "serve", "--port", str(port), "--workers", str(count), *more]
    environ = {**os.environ, "METAJUDGE_STORE": str(url), "OPENAI_API_KEY": "sk-test"}
    with (tmp_path / "serve.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environ, cwd=tmp_path)


def children(pid):
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def answers(port, within=150.0):
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx2.HTTPError):
            if httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=2).status_code == 200:
                return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
def test_two_workers_on_a_file_share_jobs_and_keys_and_one_killed_loses_nothing(tmp_path):
    port, text = free_port(), {"content-type": "application/x-ndjson"}
    records = [judgment(id=f"j{n}", rationale=f"Reason {n}.").model_dump(mode="json") for n in range(200)]
    body = "\n".join(map(json.dumps, records))
    with LLMServer(answer=score_answer(5), latency_s=0.3) as models:
        parent = workers(tmp_path / "s.db", tmp_path, 2, port, f"--agent=openai:m@{models.url}")
        try:
            assert answers(port), (tmp_path / "serve.log").read_text()[-2000:]
            until(lambda: len(children(parent.pid)) == 2)

            def ask(method, path, **options):  # each by a connection of its own, so that either worker may answer
                return httpx2.request(method, f"http://127.0.0.1:{port}{path}", timeout=60, **options)

            sent = [
                ask("POST", "/v1/vet/batch", content=body, headers={**text, "idempotency-key": "k"}) for _ in range(6)
            ]
            (place,) = {one.headers["location"] for one in sent}
            until(lambda: ask("GET", place).json()["done"] > 20)
            os.kill(children(parent.pid)[0], signal.SIGKILL)
            found = until(lambda: ended(place, port), within=90)
        finally:
            parent.send_signal(signal.SIGTERM)
            assert parent.wait(30) == 0
    assert sorted(one["item"] for one in found) == list(range(200))
    assert {one["assessment"]["status"] for one in found} == {"assessed"}


def ended(place, port):
    """The results of a job that has ended, else None; a worker may be killed meanwhile."""
    with (
        contextlib.suppress(httpx2.HTTPError),
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        if client.get(place).json()["state"] == "done":
            return client.get(f"{place}/results", params={"limit": 1000}).json()["results"]
    return None


@pytest.mark.slow
def test_a_store_that_cannot_be_opened_ends_all_workers_with_the_reason(tmp_path):
    parent = workers("postgresql://u:s3cret@127.0.0.1:1/db", tmp_path, 2, free_port())
    assert parent.wait(110) == 2
    said = (tmp_path / "serve.log").read_text()
    assert "cannot be reached" in said
    assert "s3cret" not in said


@pytest.fixture
def database():
    folder = Path(tempfile.mkdtemp(prefix="metajudge-test-postgres-"))
    one = PostgresServer(folder)
    yield one
    one.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_a_database_killed_under_the_service_is_503_meanwhile_and_its_job_is_finished_after(database, tmp_path):
    port, text = free_port(), {"content-type": "application/x-ndjson"}
    records = [judgment(id=f"j{n}", rationale=f"Reason {n}.").model_dump(mode="json") for n in range(120)]
    with LLMServer(answer=score_answer(5), latency_s=0.3) as models:
        service = workers(database.url, tmp_path, 1, port, f"--agent=openai:m@{models.url}")
        try:
            assert answers(port), (tmp_path / "serve.log").read_text()[-2000:]
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
                sent = client.post("/v1/vet/batch", content="\n".join(map(json.dumps, records)), headers=text)
                place = sent.headers["location"]
                time.sleep(1.0)
                database.kill()
                refused = client.get(place)
                assert refused.status_code == 503
                assert "cannot be reached" in refused.json()["detail"]
                assert "metajudge:" not in refused.text.replace("metajudge:***@", "")
                database.start()
                deadline = time.monotonic() + 60
                while (found := client.get(place)).status_code != 200 or found.json()["state"] != "done":
                    assert time.monotonic() < deadline, found.text
                    time.sleep(0.3)
                page = client.get(f"{place}/results", params={"limit": 1000}).json()["results"]
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(30)
    assert sorted(one["item"] for one in page) == list(range(120))
    assert {one["assessment"]["status"] for one in page} == {"assessed"}


GRACE_S = 30.0
"""What is to be enough for the requests' 10 s, the jobs' 5 s and the store's 5 s."""


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_told_to_stop_while_the_database_is_away_it_ends_within_its_grace(database, tmp_path, count):
    port, text = free_port(), {"content-type": "application/x-ndjson"}
    records = [judgment(id=f"j{n}", rationale=f"Reason {n}.").model_dump(mode="json") for n in range(400)]
    with contextlib.ExitStack() as stack:
        models = stack.enter_context(LLMServer(answer=score_answer(5), latency_s=0.3))
        service = workers(database.url, tmp_path, count, port, f"--agent=openai:m@{models.url}")
        stack.callback(service.wait)
        stack.callback(service.kill)
        assert answers(port), (tmp_path / "serve.log").read_text()[-2000:]
        client = stack.enter_context(httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=100))
        place = client.post("/v1/vet/batch", content="\n".join(map(json.dumps, records)), headers=text).headers[
            "location"
        ]
        time.sleep(1.0)
        database.kill()
        waiting = [threading.Thread(target=ask_in_vain, args=[f"http://127.0.0.1:{port}{place}"]) for _ in range(30)]
        for one in waiting:
            one.start()
        time.sleep(1.0)
        began = time.monotonic()
        service.send_signal(signal.SIGTERM)
        service.wait(200)
        took = time.monotonic() - began
        for one in waiting:
            one.join()
    log = (tmp_path / "serve.log").read_text()
    assert took < GRACE_S, log[-3000:]
    assert "Application shutdown failed" not in log
    assert "could not be closed cleanly" in log


def ask_in_vain(url):
    with contextlib.suppress(httpx2.HTTPError):
        httpx2.get(url, timeout=100)


PANEL = """
[[agents]]
name = "a"
model = "openai:a@{url}"
rubric = "baseline"
max_tokens = 1000
price = {{ input = 0.001, output = 1000 }}

[limits."{url}/v1"]
concurrency = 4
requests_per_minute = 300
"""
"""Of a call a dollar is set aside, and it costs thirty cents."""


def long_answer(body):
    """Of 300 tokens, as the server counts."""
    return score_answer(5)(body).ljust(1_200)


@contextlib.contextmanager
def replica(url, folder, budget_usd):
    """A replica in a process of its own, and a client; the process may be killed."""
    port = free_port()
    command = [sys.executable, "-m", "metajudge", "serve", "--port", str(port), "--config", "panel.toml"]
    environ = {**os.environ, "METAJUDGE_STORE": str(url), "OPENAI_API_KEY": "sk-test"}
    with (folder / f"{port}.log").open("ab") as log:
        one = subprocess.Popen(
            [*command, "--budget-usd", str(budget_usd)], stdout=log, stderr=log, env=environ, cwd=folder
        )
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=110) as client:
            assert answers(port), (folder / f"{port}.log").read_text()[-2000:]
            yield one, client
    finally:
        one.kill()
        one.wait()


def vet(client, number):
    with contextlib.suppress(httpx2.HTTPError):  # the replica is killed
        return client.post("/v1/vet", json=judgment(f"j{number}").model_dump(mode="json"))


def budget_of(client):
    lines = [line.split() for line in client.get("/metrics").text.splitlines() if line.startswith("metajudge_budget")]
    return {name.removeprefix("metajudge_budget_").removesuffix("_usd"): float(value) for name, value in lines}


@pytest.mark.slow
def test_limits_and_the_day_s_dollars_hold_over_two_replicas_though_one_is_killed(url, tmp_path):
    with LLMServer(answer=long_answer) as server, ThreadPoolExecutor(16) as pool:
        (tmp_path / "panel.toml").write_text(PANEL.format(url=server.url))
        with replica(url, tmp_path, 8) as (first, one), replica(url, tmp_path, 8) as (_, other):
            started = time.monotonic()
            found = list(pool.map(lambda n: vet((one, other)[n % 2], n), range(12)))
            took = time.monotonic() - started
            assert [one.status_code for one in found] == [200] * 12
            cost = found[0].json()["cost_usd"]
            assert server.max_in_flight <= 4, "in flight over both"
            assert took >= (12 - 5) / 5, "300 a minute over both, of which a second's may start at once"
            assert cost == pytest.approx(0.3, rel=1e-3)
            assert [at["spent"] for at in map(budget_of, (one, other))] == pytest.approx([3.6, 3.6], rel=1e-3)
            server._latency_s = 3_600.0
            held = [pool.submit(vet, one, n) for n in range(100, 104)]
            until(lambda: server.count == 16, within=100.0)
            assert budget_of(other)["held"] == pytest.approx(4.0, rel=1e-3)
            waiting = pool.submit(vet, other, 200)
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            server._latency_s = 0.0
            assert waiting.result().status_code == 200, "places and dollars of the killed one came back"
            assert [one.result() for one in held] == [None] * 4
            assert budget_of(other)["held"] == 0
            # The calls of the killed one that were in flight are the only ones that are not counted.
            sent = 13
            for number in range(300, 320):
                answer = vet(other, number)
                if answer.status_code != 200:
                    break
                sent += 1
            assert answer.status_code == 429
            assert 0 < int(answer.headers["retry-after"]) <= 86_400
            assert "begins anew at 00:00 UTC" in answer.json()["detail"]
            assert server.count == sent + 4
            spent = budget_of(other)["spent"]
            assert spent == pytest.approx(sent * 0.3, rel=1e-3)
            assert spent <= 8 < spent + 1.001
        with replica(url, tmp_path, 8) as (_, again):
            assert vet(again, 500).status_code == 429, "a replica that starts finds the day's spending"
