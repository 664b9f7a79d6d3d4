"""Long texts do not stop the service: other requests are answered meanwhile."""

import json
import threading
import time

import httpx2
import pytest

from .service_process import process

pytestmark = pytest.mark.slow

LONGEST_S = 1.0


def _body(rationale, **more):
    item = {"id": "q", "question": "2+2?", "responses": {"A": "4", "B": "5"}}
    judgment = {"id": "j", "judge": "x", "item": item, "verdict": "A>B", "rationale": rationale, "order": ["A", "B"]}
    return json.dumps({"judgment": judgment, "strategy": "signals", **more})


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with process(tmp_path_factory.mktemp("service")) as (_, client):
        yield client


@pytest.mark.parametrize(
    ("prefix", "unit", "size"),
    [("[[", " ", 12_000), ("[[", " ", 1_000_000), *(("", one, 1_000_000) for one in ("A= ", "the winner is "))],
)
def test_the_service_answers_within_a_second_while_a_hostile_rationale_is_vetted(service, prefix, unit, size):
    waits, done = [], threading.Event()

    def ask():
        with httpx2.Client(base_url=service.base_url, timeout=60) as client:
            while not waits or not done.is_set():
                start = time.monotonic()
                assert client.get("/healthz").status_code == 200
                waits.append(time.monotonic() - start)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        answer = service.post(
            "/v1/vet",
            content=_body((prefix + unit * size)[:size]),
            headers={"content-type": "application/json"},
            timeout=60,
        )
    finally:
        done.set()
        asking.join()
    assert answer.status_code == 200, answer.text[:500]
    assert max(waits) < LONGEST_S
