"""Streams and traces of one vet."""

import importlib
import json

import pytest

from metajudge.panels.config import panel_config
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import score_answer


def record():
    return judgment().model_dump(mode="json")


def panel(server, **options):
    agents = [{"name": n, "model": f"openai:{n}@{server.url}", "price": {"input": 1, "output": 1}} for n in "ab"]
    return {"default": panel_config({"agents": agents, **options})}


@pytest.mark.parametrize("strategy", ["majority_vote", "panel_discussion", "rejudge"])
def test_every_strategy_tells_each_agent_as_it_comes(serve, models, strategy):
    server = models(answer=score_answer(5))
    client = serve(panels=panel(server, strategy=strategy))
    answer = client.post("/v1/vet/stream", json=record())
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = answer.text.splitlines()
    assert [line for line in lines if line.startswith("event: ")] == ["event: agent"] * 2 + ["event: assessment"]
    assessment = json.loads([line for line in lines if line.startswith("data: ")][-1].removeprefix("data: "))
    assert {one["agent"] for one in assessment["agents"]} == {"a", "b"}


@pytest.mark.parametrize(
    ("body", "status"), [({"judgment": {}}, 422), ({"judgment": None, "panel": "x"}, 422), ({"panel": "x"}, 422)]
)
def test_what_cannot_be_vetted_is_refused_before_the_stream(serve, body, status):
    answer = serve().post("/v1/vet/stream", json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_policy_that_goes_while_it_is_waited_for_ends_the_stream_with_a_problem(serve, monkeypatch):
    async def known_by_now(self, choice):
        pass

    monkeypatch.setattr(importlib.import_module("metajudge.api.panels").Panels, "check", known_by_now)
    answer = serve().post("/v1/vet/stream", json={"judgment": record(), "policy": "nothing"})
    assert "event: error" in answer.text
    assert '"status":422' in answer.text.replace(" ", "")
