"""The end of a service: requests in flight are answered, watchers are let go, and it is bounded."""

import importlib
import signal
import threading
import time

import pytest

from tests.api.nouns import record
from tests.api.service_process import process
from tests.doubles.llm_server import LLMServer, score_answer

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
