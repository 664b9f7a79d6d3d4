"""Batches: accepted whole or refused, each item exactly once, through a kill."""

import json
import signal
import time
from collections import Counter

import pytest

from metajudge.panel_file import panel_config
from tests.api.service_process import process
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer


def panel(server, agents=2):
    one = [
        {"name": f"a{n}", "model": f"openai:m{n}@{server.url}", "price": {"input": 1, "output": 1}}
        for n in range(agents)
    ]
    return panel_config({"agents": one, "rubric": "baseline"})


def records(count):
    return [judgment(id=f"j{n}", rationale=f"Reason {n}.").model_dump(mode="json") for n in range(count)]


def lines(found):
    return "\n".join(json.dumps(one) for one in found).encode()


NDJSON = {"content-type": "application/x-ndjson"}


def ended(client, location, within=30):
    deadline = time.monotonic() + within
    while (status := client.get(location).json())["state"] not in ("done", "failed", "cancelled"):
        assert time.monotonic() < deadline, status
        time.sleep(0.05)
    return status


def all_results(client, location):
    found, after = [], -1
    while True:
        page = client.get(f"{location}/results", params={"after": after, "limit": 7}).json()
        found += page["results"]
        after = page["next_cursor"]
        if after is None:
            return found


def test_a_batch_from_upload_to_results(serve, tmp_path):
    with LLMServer(answer=score_answer(5)) as server:
        client = serve(panels={"default": panel(server)}, store=tmp_path / "s.duckdb")
        answer = client.post("/v1/vet/batch", content=lines(records(20)), headers=NDJSON)
        assert answer.status_code == 202
        location = answer.headers["location"]
        status = ended(client, location)
        found = all_results(client, location)
        streamed = client.get(f"{location}/results", headers={"accept": "application/x-ndjson"}).text.splitlines()
    assert (status["state"], status["items"], status["done"], status["by_status"]) == ("done", 20, 20, {"assessed": 20})
    assert [one["item"] for one in found] == list(range(20))
    assert [one["assessment"]["judgment_id"] for one in found] == [f"j{n}" for n in range(20)]
    assert [json.loads(one) for one in streamed] == found
    assert server.count == 40
    assert not list((tmp_path / "s.duckdb.jobs").iterdir()), "the upload is still there"


def test_a_json_array_and_its_repetition_are_one_job(serve, tmp_path):
    client = serve(store=tmp_path / "s.duckdb")
    headers = {"idempotency-key": "one"}
    first = client.post("/v1/vet/batch", json=records(3), headers=headers)
    again = client.post("/v1/vet/batch", json=records(3), headers=headers)
    other = client.post("/v1/vet/batch", json=records(4), headers=headers)
    assert (first.status_code, again.status_code, other.status_code) == (202, 202, 422)
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotency-replayed"] == "true"


def test_a_bad_line_refuses_the_upload_and_names_it(serve, tmp_path):
    client = serve(store=tmp_path / "s.duckdb")
    bad = [*records(2), {**records(1)[0], "verdict": "A>C"}]
    answer = client.post("/v1/vet/batch", content=lines(bad) + b"\n{half", headers=NDJSON)
    assert answer.status_code == 422
    assert answer.json()["errors"][0].startswith("judgment 3: ")
    assert answer.json()["errors"][1].startswith("judgment 4: ")
    assert not list((tmp_path / "s.duckdb.jobs").iterdir())


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"", "application/x-ndjson", 422),
        (b"[]", "application/json", 422),
        (b"{}", "application/json", 422),
        (b"[", "application/json", 422),
        (b"x", "text/csv", 415),
    ],
)
def test_what_is_no_batch(serve, content, kind, status):
    assert serve().post("/v1/vet/batch", content=content, headers={"content-type": kind}).status_code == status


def test_too_many_items_and_too_many_jobs(serve):
    limits = app_limits(batch_items=2, jobs_queued=1, jobs_running=1, job_workers=1)
    with LLMServer(latency_s=0.5) as server:
        client = serve(panels={"default": panel(server)}, limits=limits)
        assert client.post("/v1/vet/batch", json=records(3)).status_code == 413
        statuses = [client.post("/v1/vet/batch", json=records(2)) for _ in range(4)]
    assert 503 in [one.status_code for one in statuses]
    assert all("retry-after" in one.headers for one in statuses if one.status_code == 503)


def app_limits(**given):
    import importlib

    return importlib.import_module("metajudge.api.options").Limits(**given)


def test_events_go_on_after_the_last_one_seen(serve, tmp_path):
    client = serve(store=tmp_path / "s.duckdb")
    location = client.post("/v1/vet/batch", json=records(5)).headers["location"]
    text = client.get(f"{location}/events").text
    ids = [line.removeprefix("id: ") for line in text.splitlines() if line.startswith("id: ")]
    assert len(ids) == 5
    rest = client.get(f"{location}/events", headers={"last-event-id": ids[2]}).text
    assert [line.removeprefix("id: ") for line in rest.splitlines() if line.startswith("id: ")] == ids[3:]
    assert "event: end" in rest
    assert client.get("/v1/jobs/nothing/events").status_code == 404


def test_cancelling_stops_the_calls(serve):
    limits = app_limits(job_workers=2)
    with LLMServer(latency_s=0.2) as server:
        client = serve(panels={"default": panel(server)}, limits=limits)
        location = client.post("/v1/vet/batch", json=records(50)).headers["location"]
        time.sleep(0.5)
        client.delete(location)
        status = ended(client, location)
        count = server.count
        time.sleep(0.5)
        assert server.count == count < 100
        assert client.delete(location).status_code == 200
        assert client.get(location).status_code == 404
    assert status["state"] == "cancelled"


@pytest.mark.slow
def test_after_a_kill_every_item_has_one_result_and_no_finished_call_is_repeated(tmp_path):
    with LLMServer(answer=score_answer(5), latency_s=0.1) as server:
        (tmp_path / "p.toml").write_text(
            f'rubric = "baseline"\n[[agents]]\nname = "a"\nmodel = "openai:m1@{server.url}"\n'
            f'[[agents]]\nname = "b"\nmodel = "openai:m2@{server.url}"\n'
        )
        arguments = ("--config", "p.toml")
        with process(tmp_path, *arguments) as (one, client):
            places = [
                client.post("/v1/vet/batch", content=lines(records(200)), headers=NDJSON).headers["location"]
                for _ in range(1)
            ]
            while client.get(places[0]).json()["done"] < 60:
                time.sleep(0.01)
            one.send_signal(signal.SIGKILL)
            one.wait()
        before = server.count
        assert 120 <= before < 400
        with process(tmp_path, *arguments) as (_one, client):
            status = ended(client, places[0], within=60)
            found = all_results(client, places[0])
        assert status["done"] == status["items"] == 200
        assert [item["item"] for item in found] == list(range(200))
        asked = Counter(json.dumps(body, sort_keys=True) for body in server.bodies)
        in_flight = 2 * 16
        assert len(asked) == 400
        assert server.count <= 400 + in_flight, "finished calls were repeated"
