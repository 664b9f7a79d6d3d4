"""Judges, clashes, cases, rankings and peers over HTTP."""

import importlib
import json
import math
import time
from types import SimpleNamespace

import pytest

from tests.api.conftest import panel_of
from tests.api.nouns import record
from tests.doubles.llm_server import requested_schema
from tests.doubles.ranking import criteria_answer, shown_in

encoding = importlib.import_module("metajudge.api.schemas")
ITEM = {**record()["item"], "label": None}


def divided(models):
    """A server of models of which a likes the longest answer best and every other one the shortest."""

    def answer(body):
        prompt = next(one["content"] for one in body["messages"] if one["role"] == "user")
        schema = requested_schema(body)
        if "c5" in schema["properties"]:
            return json.dumps(criteria_answer())
        texts = shown_in(prompt)
        order = sorted(texts, key=lambda label: len(texts[label]), reverse=body["model"] == "a")
        rows = schema["properties"]["scores"]["properties"]
        fine = {"reason": "", "score": 4}
        scores = {label: dict.fromkeys(row["properties"], fine) for label, row in rows.items()}
        return json.dumps({"analysis": "They differ.", "ranking": " > ".join(order), "scores": scores})

    return models(answer=answer)


class TestProducingVerdicts:
    def test_a_clash_the_judges_are_divided_on_is_queued_once_for_its_page(self, serve, models, tmp_path):
        client = serve(panels={"default": panel_of(divided(models))}, store=tmp_path / "s.duckdb")
        for _ in range(2):  # the second one is answered from the store
            found = client.post("/v1/clash", json={"item": ITEM}).json()
            assert found["tally"]["triage"] == "escalate"
        reviews = client.get("/v1/reviews").json()["reviews"]
        assert [one["review"]["item_id"] for one in reviews] == [ITEM["id"]]
        assert "verdict" not in reviews[0]["review"]  # blind until it is decided
        review_id = reviews[0]["review"]["review_id"]
        assert review_id in client.get("/clash").text
        assert client.get(f"/clash/{review_id}").headers["location"] == f"/reviews/{review_id}"
        (opened,) = [one["change"] for one in client.get("/v1/changes").json()]
        assert (opened["action"], opened["reviews"]) == ("review.open", [review_id])

    def test_a_clash_the_judges_are_at_one_on_is_nobody_s_work(self, serve, models, tmp_path):
        server = divided(models)
        panels = {"default": panel_of(server, "bc"), "two": panel_of(server)}
        client = serve(panels=panels, store=tmp_path / "s.duckdb")
        item = {**ITEM, "responses": {"A": "a long answer", "B": "no"}}
        for _ in range(2):
            assert client.post("/v1/clash", json={"item": item}).json()["tally"]["triage"] == "accept"
        assert client.get("/v1/reviews").json()["reviews"] == []
        listed = client.get("/clash").text
        assert listed.count("wins, unanimous") == 1
        assert "Decided by the panel alone" in listed
        assert "<b>1</b><span>clash judged" in client.get("/dashboard").text
        assert "Clashes decided by the panel alone" in client.get(f"/search?q={ITEM['id']}").text
        divided_item = {**ITEM, "responses": {"A": "one", "B": "longer"}}
        client.post("/v1/clash", json={"item": divided_item, "panel": "two"})
        assert "1 on items that wait for your decision is not shown" in client.get("/clash").text
        assert "Clashes decided by" not in client.get(f"/search?q={ITEM['id']}").text

    def test_a_clash_on_a_service_that_keeps_nothing_is_answered(self, serve, models):
        client = serve(panels={"default": panel_of(divided(models))})
        assert client.post("/v1/clash", json={"item": ITEM}).json()["tally"]["triage"] == "escalate"

    @pytest.mark.parametrize("path", ["/v1/judge", "/v1/clash"])
    def test_what_one_request_can_spend_is_bounded(self, client, path):
        many = {**ITEM, "responses": {f"r{n}": "x" for n in range(51)}}
        answer = client.post(path, json={"item": many, "grade": True} if path == "/v1/judge" else {"item": many})
        assert (answer.status_code, "51 responses" in answer.json()["detail"]) == (422, True)

    def test_a_panel_without_agents_cannot_judge(self, serve):
        answer = serve().post("/v1/judge", json={"item": ITEM})
        assert (answer.status_code, "choose one with agents" in answer.json()["detail"]) == (422, True)


class TestRankings:
    def test_more_equally_good_orders_than_64_bits_can_count(self, client):
        names = [f"c{n}" for n in range(24)]
        answer = client.post("/v1/rank", json={"rankings": [[names]], "rule": "kemeny"})
        assert answer.status_code == 200
        assert answer.json()["n_optima"] is None or answer.json()["n_optima"] == math.factorial(24)

    def test_plain_data_is_json_whatever_it_holds(self):
        data = {"big": 2**70, "none": float("nan"), "in": [float("inf"), 1.5], 3: (1, 2)}
        assert json.loads(encoding.plain_json(data).body) == {
            "big": 2**70,
            "none": None,
            "in": [None, 1.5],
            "3": [1, 2],
        }
        assert json.loads(encoding.plain_json({"none": float("nan")}).body) == {"none": None}

    @pytest.mark.slow
    def test_few_computations_at_once(self, serve, monkeypatch):
        module = importlib.import_module("metajudge.api.routes.rankings")
        limits = importlib.import_module("metajudge.api.options").Limits
        monkeypatch.setattr(module, "count", lambda *_, **__: time.sleep(1) or SimpleNamespace(to_json=dict))
        client = serve(limits=limits(computing=1, request_s=0.3))
        body = {"rankings": [[["a"], ["b"]]]}
        slow = client.post("/v1/rank", json=body)
        busy = client.post("/v1/rank", json=body)
        assert slow.status_code == 504
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "5"), "the thread's place was given away"
        time.sleep(1)
        monkeypatch.setattr(module, "count", lambda *_, **__: SimpleNamespace(to_json=lambda: {"fine": True}))
        assert client.post("/v1/rank", json=body).json() == {"fine": True}
