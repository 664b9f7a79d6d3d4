"""How work ends: workers that are killed or cannot start, requests and computations at the end of a service."""

import asyncio
import contextlib
import importlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from metajudge.api.computing import Computing

from tests.api.nouns import record
from tests.api.service_process import process
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.waiting import until

ROOT = Path(__file__).parents[2]
SCRIPT = """
import os, sys, time
from pathlib import Path
import importlib
workers = importlib.import_module("metajudge.api.workers")
from metajudge.errors import ConfigurationError

folder, kind = Path(sys.argv[1]), sys.argv[2]

def note(what):
    with (folder / "log").open("a") as file:
        file.write(f"{what} {os.getpid()} {time.monotonic()}\\n")

def serve(ready):
    note("started")
    if kind == "refused":
        raise ConfigurationError("the panel file is empty")
    if kind == "dies":
        os._exit(7)
    if (folder / "broken").exists():
        os._exit(7)
    time.sleep(float(sys.argv[3]))
    ready()
    note("serving")
    if kind == "deaf":
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        note("deaf")
    while True:
        time.sleep(0.05)

try:
    workers.supervise(serve, 2, stop_s=1.0)
except ConfigurationError as error:
    print(error)
    sys.exit(2)
"""


@pytest.fixture
def supervised(tmp_path):
    """Starts two workers of a kind under a supervisor; ends it by its id."""
    script = tmp_path / "supervised.py"
    script.write_text(textwrap.dedent(SCRIPT))
    with contextlib.ExitStack() as stack:

        def start(kind, start_s=0.0):
            command = [sys.executable, script, tmp_path, kind, str(start_s)]
            environ = {**os.environ, "PYTHONPATH": str(ROOT)}
            one = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environ, text=True)
            stack.callback(one.stdout.close)
            stack.callback(one.wait)
            stack.callback(one.kill)
            return one

        yield start


def logged(folder, what):
    with contextlib.suppress(FileNotFoundError):
        return [int(line.split()[1]) for line in (folder / "log").read_text().splitlines() if line.split()[0] == what]
    return []


def stop(parent):
    parent.send_signal(signal.SIGTERM)
    assert parent.wait(10) == 0


def alive(pid):
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    "after_s", [0.2, pytest.param(0.0, marks=pytest.mark.slow), pytest.param(1.5, marks=pytest.mark.slow)]
)
def test_a_worker_killed_soon_after_its_start_is_started_again_and_the_service_goes_on(supervised, tmp_path, after_s):
    """The first kill comes while the worker is starting, the last one when it has served for a second."""
    parent = supervised("steady", 0.5)
    first, second = until(lambda: logged(tmp_path, "started")[:2] if len(logged(tmp_path, "started")) > 1 else None)
    time.sleep(after_s)
    os.kill(first, signal.SIGKILL)
    until(lambda: len(logged(tmp_path, "started")) == 3)
    until(lambda: len(set(logged(tmp_path, "serving")) - {first}) == 2)
    assert parent.poll() is None, "one kill ended the service"
    assert alive(second), "the other worker was ended, too"
    stop(parent)
    assert not any(alive(pid) for pid in logged(tmp_path, "started"))


@pytest.mark.slow
def test_a_worker_killed_again_and_again_is_restarted_after_longer_and_longer_pauses(supervised, tmp_path):
    parent = supervised("steady")
    other = until(lambda: logged(tmp_path, "serving")[1:2])[0]
    killed = 0
    end = time.monotonic() + 4.0
    while time.monotonic() < end:
        for pid in set(logged(tmp_path, "serving")) - {other}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        time.sleep(0.02)
    restarts = len(logged(tmp_path, "started")) - 2
    assert 2 <= restarts <= 4, "0.5, 1 and 2 s are to lie between"
    assert parent.poll() is None
    assert alive(other)
    stop(parent)


@pytest.mark.parametrize(("kind", "said"), [("refused", "the panel file is empty"), ("dies", "ended with exit code 7")])
def test_workers_that_cannot_start_end_the_service_with_the_reason(supervised, tmp_path, kind, said):
    parent = supervised(kind)
    out, _ = parent.communicate(timeout=20)
    assert parent.returncode == 2
    assert said in out
    assert "no worker could start, 3 times in a row" in out
    assert len(logged(tmp_path, "started")) in (3, 4)


def with_a_broken_one(supervised, folder, tries):
    """A service of which one worker was killed and has failed to start again, and the worker that serves."""
    parent = supervised("steady")
    first, second = until(lambda: logged(folder, "serving") if len(logged(folder, "serving")) > 1 else None)
    (folder / "broken").touch()
    os.kill(first, signal.SIGKILL)
    until(lambda: len(logged(folder, "started")) >= 2 + tries)
    return parent, second


@pytest.mark.slow
def test_a_worker_that_cannot_start_does_not_end_the_service_while_another_one_serves(supervised, tmp_path):
    """Such as while the database is away: what serves goes on, and the rest comes back after the repair."""
    parent, second = with_a_broken_one(supervised, tmp_path, 4)
    assert parent.poll() is None
    assert alive(second)
    (tmp_path / "broken").unlink()
    until(lambda: len(logged(tmp_path, "serving")) == 3, within=20)
    stop(parent)


@pytest.mark.slow
def test_told_to_stop_a_worker_that_does_not_end_is_killed(supervised, tmp_path):
    parent = supervised("deaf")
    until(lambda: len(logged(tmp_path, "deaf")) == 2)
    stop(parent)
    assert not any(alive(pid) for pid in logged(tmp_path, "started"))


@pytest.mark.slow
def test_told_to_stop_in_a_pause_it_ends_at_once(supervised, tmp_path):
    parent, second = with_a_broken_one(supervised, tmp_path, 3)
    began = time.monotonic()
    stop(parent)
    assert time.monotonic() - began < 1.5
    assert not alive(second)


server = importlib.import_module("metajudge.api.server")
limits = importlib.import_module("metajudge.api.limits")


def test_the_grace_is_the_request_limit_and_bounded():
    assert server.grace_s(limits.Limits()) == 125
    assert server.grace_s(limits.Limits(request_s=0.5)) == 6
    assert server.grace_s(limits.Limits(request_s=1e9)) == server.LONGEST_GRACE_S


@pytest.mark.slow
def test_a_vet_longer_than_ten_seconds_is_answered_and_a_watcher_is_let_go_at_once(tmp_path):
    answers, watched = [], []
    with (
        LLMServer(answer=score_answer(5), latency_s=13.0) as models,
        process(tmp_path, "--agent", f"openai:m@{models.url}") as (one, client),
    ):
        place = client.post("/v1/vet/batch", json=[record(id="other")]).headers["location"]

        def watch():
            answer = client.get(f"{place}/events", timeout=60)
            watched.append((answer.status_code, time.monotonic()))

        def ask():
            answers.append(client.post("/v1/vet", json=record(), timeout=60))

        threads = [threading.Thread(target=work) for work in (watch, ask)]
        for thread in threads:
            thread.start()
        time.sleep(1.0)
        told = time.monotonic()
        one.send_signal(signal.SIGTERM)
        one.wait(60)
        for thread in threads:
            thread.join()
        took = time.monotonic() - told
    assert [answer.status_code for answer in answers] == [200]
    ((status, ended),) = watched
    assert status == 200
    assert ended - told < 5, "the watcher was waited for"
    assert 10 < took < 30


async def test_a_coroutine_that_goes_on_ends_with_the_service() -> None:
    computing = Computing(4, 60.0)
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def endless() -> None:
        loop.call_soon_threadsafe(begun.set)
        await asyncio.Event().wait()

    asked = asyncio.create_task(computing.ask(endless))
    await begun.wait()
    async with asyncio.timeout(20):
        await computing.close()
    await asyncio.wait([asked], timeout=20)
    assert asked.cancelled()
    assert computing.in_progress == 0
