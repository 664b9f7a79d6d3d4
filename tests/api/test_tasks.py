"""Clashes and cases as jobs: each item once, through a kill, on a file and on PostgreSQL; and clashes with candidates."""

import importlib
import json
import signal
import time

import pytest

from metajudge.types.location import PostgresUrl
from tests.api.conftest import panel_of
from tests.api.nouns import record
from tests.api.routes.test_judging import divided
from tests.api.service_process import process
from tests.api.test_jobs import NDJSON, all_results, ended, lines
from tests.doubles.cases import flood
from tests.doubles.llm_server import LLMServer, requested_schema
from tests.doubles.postgres_urls import stores_on_postgres

tasks = importlib.import_module("metajudge.api.tasks")
panels = importlib.import_module("metajudge.api.panels")
candidates = importlib.import_module("metajudge.clashes.candidates")
ITEM = {**record()["item"], "label": None, "responses": {"A": "a long answer", "B": "no"}}


def items(count):
    return [{**ITEM, "id": f"i{n}", "question": f"Question {n}?"} for n in range(count)]


def cases(count):
    return [flood(f"flood-{n}").model_dump(mode="json") for n in range(count)]


def scores(body):
    """A judge's reply on a case: every criterion at 9."""
    row = {"comment": "Fine.", "evidence": [], "weaknesses": [], "score": 9, "confidence": 0.9}
    return json.dumps(dict.fromkeys(requested_schema(body)["properties"], row))


@pytest.fixture(params=["file", pytest.param("postgres", marks=pytest.mark.slow)])
def store(request, tmp_path):
    """Named before ``serve`` in the tests, so that the service ends before its schema is dropped."""
    if request.param == "file":
        yield tmp_path / "s.duckdb"
        return
    with stores_on_postgres() as make:
        yield PostgresUrl(make())


def test_clashes_as_a_job_with_its_reviews_pages_and_events(store, serve, models):
    client = serve(panels={"default": panel_of(divided(models))}, store=store)
    sent = client.post("/v1/clash/batch", params={"seed": 3}, content=lines(items(5)), headers=NDJSON)
    assert (sent.status_code, sent.json()["kind"]) == (202, "clash")
    place = sent.headers["location"]
    assert ended(client, place)["by_status"] == {"tie": 5}
    found = all_results(client, place)
    assert [(one["item"], one["clash"]["item_id"], one["clash"]["seed"]) for one in found] == [
        (n, f"i{n}", 3) for n in range(5)
    ]
    assert [
        json.loads(line)
        for line in client.get(f"{place}/results", headers={"accept": NDJSON["content-type"]}).text.splitlines()
    ] == found
    assert len(client.get("/v1/reviews").json()["reviews"]) == 5, "divided verdicts are not queued"
    events = client.get(f"{place}/events").text
    assert '"item_id":"i4"' in events.replace(" ", "")
    assert "event: end" in events
    assert client.get(place.removeprefix("/v1")).status_code == 200, "its page"


def test_cases_as_a_job_and_one_that_the_policy_cannot_judge_has_its_error(store, serve, models):
    client = serve(panels={"default": panel_of(models(answer=scores), "a")}, store=store)
    odd = {**cases(1)[0], "id": "odd", "stages": [{"name": "elsewhere", "output": "x"}]}
    sent = client.post("/v1/cases/batch", json=[*cases(3), odd])
    place = sent.headers["location"]
    assert ended(client, place)["by_status"] == {"decided": 3, "failed": 1}
    *found, last = all_results(client, place)
    assert [one["case"]["case_id"] for one in found] == ["flood-0", "flood-1", "flood-2"]
    assert {one["case"]["decision"]["action"] for one in found} == {"APPROVE"}
    assert "elsewhere" in last["error"]
    (job,) = client.get("/v1/jobs").json()["jobs"]
    assert job["kind"] == "case"
    assert client.delete(place).status_code == 200
    assert client.get(place).status_code == 404


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


def answering(models):
    """A server whose candidates answer with their own names, and whose judges like the longest answer best."""
    ranks = divided(models)._answer

    def answer(body):
        if "response_format" not in body:
            return f"{body['model']} answers" + "!" * len(body["model"])
        return ranks({**body, "model": "a"})

    return models(answer=answer)


class TestCandidates:
    @pytest.fixture
    def service(self, serve, models, tmp_path):
        server = answering(models)
        prompted = {
            "model": f"openai:p@{server.url}",
            "name": "prompted",
            "system": "Be brief and to the point, please.",
        }
        return serve(
            panels={"judges": panel_of(server, "xyz"), "models": panel_of(server, ["m", "nn"])},
            candidates={
                "set": (
                    candidates.candidate_config({"model": f"openai:qqq@{server.url}"}, "1"),
                    candidates.candidate_config(prompted, "2"),
                )
            },
            store=tmp_path / "s.duckdb",
        )

    def test_the_agents_of_a_panel_answer_and_are_ranked_blind(self, service):
        question = {"id": "q", "question": "Who are you?"}
        asked = {"question": question, "candidates": "models", "criteria_model": "x", "observers": True}
        found = service.post("/v1/clash", json=asked).json()
        assert {one["name"] for one in found["candidates"]} == {"m", "nn"}
        assert found["tally"]["ranking"][0] == ["nn"]
        assert "brevity" in json.dumps(found["criteria"]), "the criteria model was not asked"
        assert [one["judge"] for one in found["votes"] if one["role"] == "observer"] == ["candidate:m", "candidate:nn"]

    def test_a_set_of_candidates_with_prompts_of_their_own_may_vote(self, service):
        question = {"id": "q", "question": "Who are you?"}
        asked = {"question": question, "candidates": "set", "voters": True, "judge_weight": 3}
        found = service.post("/v1/clash", json=asked).json()
        assert found["tally"]["ranking"] == [["qqq"], ["prompted"]]
        assert {one["judge"]: one["weight"] for one in found["votes"]} == {
            **dict.fromkeys("xyz", 3.0),
            "candidate:qqq": 1.0,
            "candidate:prompted": 1.0,
        }

    def test_a_batch_of_questions(self, service):
        sent = service.post("/v1/clash/batch", params={"candidates": "models"}, json=[{"id": "q", "question": "Who?"}])
        place = sent.headers["location"]
        assert ended(service, place)["by_status"] == {"ok": 1}

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ({}, "give either an item"),
            ({"question": {"id": "q", "question": "Who?"}}, "a question needs candidates"),
            ({"item": ITEM, "candidates": "models", "observers": True, "voters": True}, "give one of them"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, service, body, said):
        answer = service.post("/v1/clash", json=body)
        assert (answer.status_code, said in answer.json()["detail"]) == (422, True)


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


def test_settings_are_stored_with_their_kind_and_those_of_a_vet_as_ever():
    vet = panels.Choice(panel="p")
    assert tasks.to_text(vet) == vet.model_dump_json()
    for asked in (vet, tasks.ClashChoice(seed=4), tasks.CaseChoice(panel="q")):
        assert tasks.asked_of(tasks.to_text(asked)) == asked
        assert tasks.kind_in(tasks.to_text(asked)) == tasks.kind_of(asked)


@pytest.mark.slow
def test_a_job_of_cases_goes_on_after_kill_9_each_case_once(tmp_path):
    with LLMServer(answer=scores, latency_s=0.1) as server:
        agent = ("--agent", f"openai:m@{server.url}")
        with process(tmp_path, *agent) as (first, client):
            place = client.post("/v1/cases/batch", json=cases(60)).headers["location"]
            while not 10 < client.get(place).json()["done"] < 50:
                time.sleep(0.02)
            first.send_signal(signal.SIGKILL)
            first.wait()
        with process(tmp_path, *agent) as (_, client):
            assert ended(client, place, within=60)["by_status"] == {"decided": 60}
            found = all_results(client, place)
    assert [one["case"]["case_id"] for one in found] == [f"flood-{n}" for n in range(60)]
    assert server.count <= 2 * 60 + 2 * 16, "calls that were answered were made again"
