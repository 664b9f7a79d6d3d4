"""Batches: accepted whole or refused, each item exactly once, through a kill."""

import importlib
import json
import random
import re
import signal
import time
from collections import Counter

import pytest

from tests.api.conftest import app_module, panel_of, running
from tests.api.service_process import process
from tests.doubles.crowds import crowd
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import score_answer
from tests.doubles.waiting import until


def records(count):
    return [judgment(id=f"j{n}", rationale=f"Reason {n}.").model_dump(mode="json") for n in range(count)]


def lines(found):
    return "\n".join(json.dumps(one) for one in found).encode()


NDJSON = {"content-type": "application/x-ndjson"}
JSON = {"content-type": "application/json"}
app_limits = importlib.import_module("metajudge.api.options").Limits


def ended(client, location, within=30, **options):
    def asked():
        status = client.get(location, **options).json()
        return status if status["state"] in ("done", "failed", "cancelled") else None

    return until(asked, "the job does not end", within)


def all_results(client, location):
    """All results of a job, page by page, in input order; one that came twice is in there twice."""
    found, after = [], -1
    while True:
        page = client.get(f"{location}/results", params={"after": after, "limit": 7}).json()
        found += page["results"]
        after = page["next_cursor"]
        if after is None:
            return sorted(found, key=lambda one: one["item"])


def test_a_batch_from_upload_to_results(serve, models, tmp_path):
    server = models(answer=score_answer(5))
    client = serve(panels={"default": panel_of(server)}, store=tmp_path / "s.duckdb")
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


@pytest.mark.parametrize("piece", [1, 100, 10_000])
def test_an_array_and_its_lines_are_the_same_upload_however_their_bytes_are_cut(serve, tmp_path, piece):
    client, sent = serve(store=tmp_path / "s.duckdb"), records(2)
    for number, (body, headers) in enumerate(((b"\n" + lines(sent), NDJSON), (json.dumps(sent).encode(), JSON))):
        pieces = (body[at : at + piece] for at in range(0, len(body), piece))
        answer = client.post("/v1/vet/batch", content=pieces, headers={**headers, "idempotency-key": "same"})
        assert (answer.status_code, "idempotency-replayed" in answer.headers) == (202, number == 1)
    other = client.post("/v1/vet/batch", json=sent[::-1], headers={"idempotency-key": "same"})
    assert other.status_code == 422, "the order is part of what was sent"


@pytest.mark.parametrize(
    ("body", "kind", "status", "said"),
    [
        (b"", "x-ndjson", 422, "send at least one judgment"),
        (b"[]", "json", 422, "send at least one judgment"),
        (b"[1", "json", 422, "not JSON"),
        (b"{}", "json", 422, "not a list of judgments"),
        (b"[" + b" " * 20_000 + b"]", "json", 413, "send it as JSONL"),
        (b"x" * 20_000, "x-ndjson", 413, "a line is longer than"),
        (b"{}", "xml", 415, "not 'application/xml'"),
        (lines([*records(1), {"id": "j1"}]), "x-ndjson", 422, "judgment 2: "),
    ],
)
def test_what_is_no_upload_is_refused(serve, body, kind, status, said):
    headers = {"content-type": f"application/{kind}"}
    answer = serve(max_body_bytes=10_000).post("/v1/vet/batch", content=body, headers=headers)
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text


def test_bad_lines_are_named_at_most_twenty_of_them(serve):
    answer = serve().post("/v1/vet/batch", content=b"{}\n" * 50, headers=NDJSON)
    assert (answer.status_code, len(answer.json()["errors"])) == (422, 20)


def test_too_many_items_and_too_many_jobs(serve, models):
    limits = app_limits(batch_items=2, jobs_queued=1, jobs_running=1, job_workers=1)
    server = models(latency_s=0.5)
    client = serve(panels={"default": panel_of(server)}, limits=limits)
    assert client.post("/v1/vet/batch", json=records(3)).status_code == 413
    statuses = [client.post("/v1/vet/batch", json=records(2)) for _ in range(4)]
    assert 503 in [one.status_code for one in statuses]
    assert all("retry-after" in one.headers for one in statuses if one.status_code == 503)


def test_a_cancelled_job_stops_keeps_its_results_and_is_deleted_with_them_by_the_second_time(serve, models, tmp_path):
    server = models(answer=score_answer(5), latency_s=0.1)
    client = serve(panels={"default": panel_of(server)}, limits=app_limits(job_workers=2), store=tmp_path / "s.duckdb")
    location = client.post("/v1/vet/batch", json=records(50)).headers["location"]
    until(lambda: client.get(location).json()["done"] >= 4)
    status = client.delete(location).json()
    assert status["state"] == "cancelled"
    assert 4 <= len(all_results(client, location)) == status["done"] < 50
    count = server.count
    time.sleep(0.5)
    assert server.count == count < 100, "calls go on"
    assert client.delete(location).json()["done"] == status["done"]
    for path in ("", "/results", "/events"):
        assert client.get(location + path).status_code == 404
    assert client.delete(location).status_code == 404
    changes = client.get("/v1/changes", params={"subject": location.rpartition("/")[2]}).json()
    assert [one["change"]["action"] for one in changes] == ["job.add", "job.cancel", "job.delete"]


def test_other_judgments_of_an_item_in_the_upload_are_evidence(serve, tmp_path):
    client = serve(store=tmp_path / "s.duckdb")  # a panel without agents weighs free evidence
    judgments = [one.model_dump(mode="json") for one in crowd(2, seed=1)]
    location = client.post("/v1/vet/batch", json=judgments).headers["location"]
    ended(client, location)
    states = {one["assessment"]["signals"]["peers"]["state"] for one in all_results(client, location)}
    assert states != {"no_peers"}


@pytest.mark.parametrize("seen", ["nonsense", "-5", "99999999999999999999999", ""])
def test_an_event_id_that_is_none_starts_anew_or_ends(serve, tmp_path, seen):
    client = serve(store=tmp_path / "s.duckdb")
    location = client.post("/v1/vet/batch", json=records(2)).headers["location"]
    answer = client.get(f"{location}/events", headers={"last-event-id": seen})
    assert answer.status_code == 200
    assert "event: end" in answer.text


def test_a_watcher_who_goes_away_leaves_nothing_behind(serve, models):
    server = models(latency_s=1)
    client = serve(panels={"default": panel_of(server)})
    location = client.post("/v1/vet/batch", json=records(3)).headers["location"]
    with client.stream("GET", f"{location}/events") as answer:
        assert answer.status_code == 200
    told = 'route="/v1/jobs/{job_id}/events"'
    until(lambda: told in client.get("/metrics").text, "the stream goes on without a watcher", within=5)
    client.delete(location)


def test_an_idempotency_key_holds_through_a_restart_and_for_its_owner_alone(tmp_path):
    keys = importlib.import_module("metajudge.api.keys")
    ring = tuple(keys.ApiKey(name, keys.hashed(name * 20)) for name in ("one", "two"))
    options = app_module.ServiceOptions(store=tmp_path / "s.duckdb", keys=ring)
    headers = {"idempotency-key": "k", "x-api-key": "one" * 20}
    with running(options) as client:
        first = client.post("/v1/vet/batch", json=records(2), headers=headers)
        ended(client, first.headers["location"], headers={"x-api-key": "one" * 20})
    with running(options) as client:
        again = client.post("/v1/vet/batch", json=records(2), headers=headers)
        others = client.post("/v1/vet/batch", json=records(2), headers={**headers, "x-api-key": "two" * 20})
    assert again.headers["location"] == first.headers["location"]
    assert others.headers["location"] != first.headers["location"]


def replies(client):
    found = re.search(r"^metajudge_model_replies_total (\d+)", client.get("/metrics").text, re.MULTILINE)
    return int(found.group(1))


class TestKilled:
    """The service is killed while 200 items are in flight, and started again."""

    ARGUMENTS = ("--config", "p.toml", "--config", "s.toml")

    def configure(self, tmp_path, server, workers=200):
        (tmp_path / "p.toml").write_text(
            f'rubric = "baseline"\n[[agents]]\nname = "a"\nmodel = "openai:m1@{server.url}"\n'
            f'[[agents]]\nname = "b"\nmodel = "openai:m2@{server.url}"\n'
        )
        (tmp_path / "s.toml").write_text(
            f"[service]\nconcurrency = 400\n[service.limits]\njobs_running = 8\njob_workers = {workers}\n"
        )

    @pytest.mark.slow
    def test_every_item_has_one_result_and_no_finished_call_is_repeated(self, models, tmp_path):
        answered = {}

        def answer(body):
            answered[json.dumps(body, sort_keys=True)] = time.monotonic()
            return score_answer(5)(body)

        rng = random.Random(4)
        server = models(
            answer=answer, faults=lambda _: "slow" if rng.random() < 0.5 else None, slow_s=1.5, latency_s=0.5
        )
        self.configure(tmp_path, server)
        with process(tmp_path, *self.ARGUMENTS) as (one, client):
            headers = {**NDJSON, "idempotency-key": "once"}
            location = client.post("/v1/vet/batch", content=lines(records(200)), headers=headers).headers["location"]
            deadline = time.monotonic() + 60
            finished = set()
            while len(finished) < 120:
                assert time.monotonic() < deadline
                time.sleep(0.01)
                arrived, so_far = replies(client), set(answered)
                finished = so_far if arrived == len(so_far) else set()  # all that was answered has arrived
            time.sleep(0.3)  # what has arrived is written down
            one.send_signal(signal.SIGKILL)
            one.wait()
            perhaps = set(answered)
        before = server.count
        assert before == 400, "all 200 items were in flight"
        assert len(finished) < 400
        time.sleep(2.5)  # what was in flight runs out
        with process(tmp_path, *self.ARGUMENTS) as (_one, client):
            again = client.post("/v1/vet/batch", content=lines(records(200)), headers=headers)
            assert again.headers["location"] == location
            status = ended(client, location, within=60)
            found = all_results(client, location)
            assert client.get("/v1/assessments", params={"limit": 500}).json()["next_cursor"] is None
        assert (status["state"], status["done"], status["items"]) == ("done", 200, 200)
        assert [item["item"] for item in found] == list(range(200))
        assert {item["assessment"]["status"] for item in found} == {"assessed"}
        asked = Counter(json.dumps(body, sort_keys=True) for body in server.bodies)
        assert len(asked) == 400
        assert not [one for one in finished if asked[one] > 1], "finished calls were repeated"
        assert 800 - len(perhaps) <= server.count <= 800 - len(finished)

    @pytest.mark.slow
    def test_a_job_whose_cancelling_was_answered_does_not_go_on(self, models, tmp_path):
        server = models(latency_s=3)
        self.configure(tmp_path, server, workers=4)
        with process(tmp_path, *self.ARGUMENTS) as (one, client):
            location = client.post("/v1/vet/batch", content=lines(records(20)), headers=NDJSON).headers["location"]
            until(lambda: server.count)
            assert client.delete(location).json()["state"] == "cancelled"
            one.send_signal(signal.SIGKILL)
            one.wait()
        before = server.count
        with process(tmp_path, *self.ARGUMENTS) as (_one, client):
            assert client.get(location).json()["state"] == "cancelled"
            time.sleep(1.0)
        assert server.count == before


def test_a_key_whose_job_was_deleted_makes_a_new_one(serve, tmp_path):
    client = serve(store=tmp_path / "s.duckdb")
    headers = {"idempotency-key": "once"}
    first, again = (client.post("/v1/vet/batch", json=records(1), headers=headers) for _ in range(2))
    assert again.headers["location"] == first.headers["location"]
    ended(client, first.headers["location"])
    client.delete(first.headers["location"])
    new = client.post("/v1/vet/batch", json=records(1), headers=headers)
    assert new.headers["location"] != first.headers["location"]
    assert ended(client, new.headers["location"])["state"] == "done"
