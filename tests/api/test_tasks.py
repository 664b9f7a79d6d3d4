"""Clashes and cases as jobs: each item once, through a kill, on a file and on PostgreSQL."""

import json
import signal

import pytest

from tests.api.nouns import record
from tests.api.service_process import process
from tests.api.test_jobs import all_results, ended
from tests.doubles.cases import flood
from tests.doubles.llm_server import LLMServer, requested_schema
from tests.doubles.waiting import until

ITEM = {**record()["item"], "label": None, "responses": {"A": "a long answer", "B": "no"}}


def cases(count):
    return [flood(f"flood-{n}").model_dump(mode="json") for n in range(count)]


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/v1/clash/batch", [{"id": "i"}], "item 1: question"),
        ("/v1/cases/batch", [{"id": "c"}], "case 1: type"),
        ("/v1/cases/batch?policy=nothing", [], "nothing"),
        ("/v1/cases/batch?policy=verdict", [], "is for verdicts"),
        ("/v1/clash/batch?panel=nobody", [], "unknown panel"),
        ("/v1/clash/batch?candidates=nobody", [], "unknown candidates 'nobody'"),
        ("/v1/clash/batch?observers=true", [], "observers and voters are candidates"),
        ("/v1/clash/batch?candidates=two&criteria_model=zoe", [], "unknown agent 'zoe'; this service has a, b"),
    ],
)
def test_a_batch_is_refused_whole_before_anybody_is_asked(client, path, body, said):
    answer = client.post(path, json=body)
    assert answer.status_code == 422
    assert said in answer.json()["detail"]


class TestIdempotency:
    @pytest.mark.parametrize(
        ("path", "body", "other"),
        [
            ("/v1/judge", {"item": ITEM, "panel": "one"}, {"item": ITEM, "panel": "two"}),
            ("/v1/clash", {"item": ITEM, "panel": "two"}, {"item": ITEM, "panel": "two", "seed": 1}),
            ("/v1/cases", {"case": cases(1)[0], "panel": "one"}, {"case": cases(2)[1], "panel": "one"}),
        ],
    )
    def test_whatever_spends_is_done_once_under_a_key(self, client, models_server, path, body, other):
        headers = {"idempotency-key": f"key of {path}"}
        first = client.post(path, json=body, headers=headers)
        count = models_server.count
        again = client.post(path, json=body, headers=headers)
        assert (first.status_code, again.status_code) == (200, 200)
        assert again.headers["idempotency-replayed"] == "true"
        assert again.content == first.content
        assert models_server.count == count
        assert client.post(path, json=other, headers=headers).status_code == 422


def scores(body):
    """A judge's reply on a case: every criterion at 9."""
    row = {"comment": "Fine.", "evidence": [], "weaknesses": [], "score": 9, "confidence": 0.9}
    return json.dumps(dict.fromkeys(requested_schema(body)["properties"], row))


@pytest.mark.slow
def test_a_job_of_cases_goes_on_after_kill_9_each_case_once(tmp_path):
    with LLMServer(answer=scores, latency_s=0.1) as server:
        agent = ("--agent", f"openai:m@{server.url}")
        with process(tmp_path, *agent) as (first, client):
            place = client.post("/v1/cases/batch", json=cases(60)).headers["location"]
            until(lambda: 10 < client.get(place).json()["done"] < 50)
            first.send_signal(signal.SIGKILL)
            first.wait()
        with process(tmp_path, *agent) as (_, client):
            assert ended(client, place, within=60)["by_status"] == {"decided": 60}
            found = all_results(client, place)
    assert [one["case"]["case_id"] for one in found] == [f"flood-{n}" for n in range(60)]
    assert server.count <= 2 * 60 + 2 * 16, "calls that were answered were made again"
