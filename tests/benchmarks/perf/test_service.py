"""The service's benchmark runs, and its figures are what they say."""

import asyncio
import importlib
import json
import subprocess
import sys
import threading

import httpx2
import pytest

from metajudge.vetting.engine import Engine
from tests.doubles.judgments import judgment

service = importlib.import_module("metajudge.benchmarks.perf.service")
upstream = importlib.import_module("metajudge.benchmarks.perf.upstream")


@pytest.fixture
def models():
    """The server of models, in a thread: what counts its requests, and its URL."""
    one, port, loop = upstream.Upstream(0.05), service.free_port(), asyncio.new_event_loop()
    serving = loop.create_task(one.serve(port))

    def run():
        try:
            loop.run_until_complete(serving)
        except asyncio.CancelledError:
            loop.run_until_complete(asyncio.sleep(0.1))
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    url = f"http://127.0.0.1:{port}"
    for _ in range(200):
        try:
            httpx2.get(f"{url}/stats")
            break
        except httpx2.HTTPError:
            continue
    yield one, url
    loop.call_soon_threadsafe(serving.cancel)
    thread.join()


async def test_the_server_of_models_answers_what_vetting_asks(models):
    one, url = models
    agents = [f"a=openai:m1@{url}/v1", f"b=openai:m2@{url}/v1"]
    async with Engine(agents) as engine:
        found = await engine.vet(judgment())
    assert (found.status, found.final_score) == ("assessed", 5.0)
    assert found.usage.input_tokens > 0
    assert one.requests == 2


def test_quantiles_are_of_accepted_requests_alone():
    answers = service.Answers(seconds=[0.1, 0.2, 0.3], statuses=service.Counter({200: 3, 503: 97}))
    assert answers.quantile(0.99) == 0.3
    assert answers.quantile(0.0) == 0.1
    with pytest.raises(ValueError, match="nothing was accepted"):
        service.Answers(statuses=service.Counter({503: 1})).quantile(0.5)


@pytest.mark.slow
def test_a_short_run_prints_every_figure(tmp_path):
    flags = ["--rate", "5", "--requests", "20", "--memory-requests", "40", "--latency-ms", "20", "--seconds", "1"]
    command = [
        sys.executable,
        "-m",
        "metajudge",
        "bench",
        "perf",
        "service",
        *flags,
        "--json-out",
        str(tmp_path / "out.json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert json.loads(done.stdout) == found
    assert found["open_loop"]["statuses"] == {"200": 20}
    assert found["cached"]["per_s"] > 0
    assert found["overload"]["rate"] == 4 * found["overload"]["sustainable_rate"]
    assert found["memory"]["n"] == 40
