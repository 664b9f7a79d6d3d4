"""Replicas on one store, killed under load; several workers behind one address."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx2
import pytest

from tests.api.service_process import free_port, process
from tests.api.test_faults import in_background
from tests.api.test_jobs import NDJSON, lines, records
from tests.doubles.judgments import judgment
from tests.doubles.killed_replicas import killed
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.postgres_server import postgres_server as database
from tests.doubles.postgres_urls import stores_on_postgres
from tests.doubles.waiting import until

pytest.importorskip("psycopg_pool", reason="extra postgres is not installed")

pytestmark = pytest.mark.timeout(300)  # each starts whole services, which takes long where many do


__all__ = ["database"]


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


def children(pid):
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.slow
def test_two_workers_on_a_file_share_jobs_and_keys_and_one_killed_loses_nothing(tmp_path):
    with (
        LLMServer(answer=score_answer(5), latency_s=0.3) as models,
        process(tmp_path, "--workers", "2", f"--agent=openai:m@{models.url}") as (parent, client),
    ):
        until(lambda: len(children(parent.pid)) == 2)

        def ask(method, path, **options):  # each by a connection of its own, so that either worker may answer
            return httpx2.request(method, f"{client.base_url}".rstrip("/") + path, timeout=60, **options)

        headers = {**NDJSON, "idempotency-key": "k"}
        sent = [ask("POST", "/v1/vet/batch", content=lines(records(200)), headers=headers) for _ in range(6)]
        (place,) = {one.headers["location"] for one in sent}
        until(lambda: ask("GET", place).json()["done"] > 20)
        os.kill(children(parent.pid)[0], signal.SIGKILL)
        found = until(lambda: results(place, ask), within=90)
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(30) == 0
    assert sorted(one["item"] for one in found) == list(range(200))
    assert {one["assessment"]["status"] for one in found} == {"assessed"}


def results(place, ask):
    """The results of a job that has ended, else None; a worker or the database may be killed meanwhile."""
    with contextlib.suppress(httpx2.HTTPError):
        found = ask("GET", place)
        if found.status_code == 200 and found.json()["state"] == "done":
            return ask("GET", f"{place}/results", params={"limit": 1000}).json()["results"]
    return None


@pytest.mark.slow
def test_a_store_that_cannot_be_opened_ends_all_workers_with_the_reason(tmp_path):
    command = [sys.executable, "-m", "metajudge", "serve", "--port", str(free_port()), "--workers", "2"]
    environ = {**os.environ, "METAJUDGE_STORE": "postgresql://u:s3cret@127.0.0.1:1/db", "OPENAI_API_KEY": "sk-test"}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=110)
    assert done.returncode == 2
    said = done.stdout + done.stderr
    assert "cannot be reached" in said
    assert "s3cret" not in said


@pytest.mark.slow
def test_a_database_killed_under_the_service_is_503_meanwhile_and_its_job_is_finished_after(database, tmp_path):
    with (
        LLMServer(answer=score_answer(5), latency_s=0.3) as models,
        process(tmp_path, "--store", database.url, f"--agent=openai:m@{models.url}") as (_, client),
    ):
        client.timeout = 60
        place = client.post("/v1/vet/batch", content=lines(records(120)), headers=NDJSON).headers["location"]
        time.sleep(1.0)
        database.kill()
        refused = client.get(place)
        assert refused.status_code == 503
        assert "cannot be reached" in refused.json()["detail"]
        assert "metajudge:" not in refused.text.replace("metajudge:***@", "")
        database.start()
        page = until(lambda: results(place, client.request), within=60)
    assert sorted(one["item"] for one in page) == list(range(120))
    assert {one["assessment"]["status"] for one in page} == {"assessed"}


GRACE_S = 30.0
"""What is to be enough for the requests' 10 s, the jobs' 5 s and the store's 5 s."""


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_told_to_stop_while_the_database_is_away_it_ends_within_its_grace(database, tmp_path, count):
    options = ("--store", database.url, "--workers", str(count))
    with (
        LLMServer(answer=score_answer(5), latency_s=0.3) as models,
        process(tmp_path, *options, f"--agent=openai:m@{models.url}") as (service, client),
    ):
        client.timeout = 100
        place = client.post("/v1/vet/batch", content=lines(records(400)), headers=NDJSON).headers["location"]
        time.sleep(1.0)
        database.kill()
        url = f"{client.base_url}".rstrip("/") + place
        waiting = in_background(*[partial(ask_in_vain, url)] * 30)
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


def vet(client, number):
    with contextlib.suppress(httpx2.HTTPError):  # the replica is killed
        return client.post("/v1/vet", json=judgment(f"j{number}").model_dump(mode="json"))


def budget_of(client):
    lines = [line.split() for line in client.get("/metrics").text.splitlines() if line.startswith("metajudge_budget")]
    return {name.removeprefix("metajudge_budget_").removesuffix("_usd"): float(value) for name, value in lines}


@pytest.mark.slow
def test_limits_and_the_day_s_dollars_hold_over_two_replicas_though_one_is_killed(url, tmp_path):
    arguments = ("--config", "panel.toml", "--budget-usd", "8", "--store", url)
    with LLMServer(answer=long_answer) as server, ThreadPoolExecutor(16) as pool:
        (tmp_path / "panel.toml").write_text(PANEL.format(url=server.url))
        with process(tmp_path, *arguments) as (first, one), process(tmp_path, *arguments) as (_, other):
            one.timeout = other.timeout = 110
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
        with process(tmp_path, *arguments) as (_, again):
            assert vet(again, 500).status_code == 429, "a replica that starts finds the day's spending"
