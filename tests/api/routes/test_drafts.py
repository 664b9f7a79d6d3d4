"""Drafted changes over HTTP: a price first, then the comparison, then a person's activation."""

import asyncio
import importlib
import json

import pytest

from tests.api.conftest import app_module, running
from tests.doubles.cases import ANALYSIS, RELEVANCE, reply
from tests.doubles.corrected_cases import REASON, filled
from tests.doubles.llm_server import LLMServer

keys = importlib.import_module("metajudge.api.keys")
config = importlib.import_module("metajudge.panels.config")
KEY = "k" * 32


def says(body):
    system = json.dumps(body["messages"][0])
    names = ANALYSIS if "## completeness" in system else RELEVANCE
    scores = dict.fromkeys(names, (8, 0.85))
    if names is ANALYSIS and REASON in system:
        scores["completeness"] = (5, 0.85)
    return reply(scores)


@pytest.mark.slow
def test_a_draft_is_priced_tried_compared_and_put_in_force(tmp_path):
    asyncio.run(filled(tmp_path / "s.duckdb"))
    with LLMServer(says) as server:
        agents = [{"name": "m", "model": f"openai:m@{server.url}", "price": {"input": 1, "output": 1}}]
        options = app_module.ServiceOptions(
            store=tmp_path / "s.duckdb",
            panels={"one": config.panel_config({"agents": agents})},
            keys=(keys.ApiKey("boss", keys.hashed(KEY)),),
        )
        with running(options) as client:
            client.headers["x-api-key"] = KEY
            client.timeout = 100
            before = client.get("/v1/policies/risk_analysis").json()["digest"]
            made = client.post("/v1/feedback/drafts").json()
            assert [one["kind"] for one in made] == ["instruction"]
            path = f"/v1/feedback/drafts/{made[0]['draft_id']}"
            early = client.post(f"{path}/activate", json={})
            assert (early.status_code, "not compared yet" in early.json()["detail"]) == (422, True)
            price = client.post(f"{path}/rejudge", json={}).json()
            assert (server.count, price["comparison"]) == (0, None)
            assert price["calls"] == 4 * price["records"] > 0
            assert price["cost_usd"] > 0
            dear = client.post(f"{path}/rejudge", json={"dry_run": False, "budget_usd": 0.000001})
            assert (dear.status_code, server.count) == (422, 0)
            assert "the budget is $1e-06" in dear.json()["detail"]
            done = client.post(f"{path}/rejudge", json={"dry_run": False, "budget_usd": 100}).json()
            assert done["comparison"]["better"] is True
            assert client.get(path).json()["comparison"] == done["comparison"]
            assert client.get("/v1/policies/risk_analysis").json()["digest"] == before, "a draft changed the policy"
            active = client.post(f"{path}/activate", json={"reason": "agrees with us"}).json()
            assert (active["by"], active["base_digest"]) == ("boss", before)
            assert client.get("/v1/policies/risk_analysis").json()["digest"] == active["digest"] != before
            actions = [one["change"]["action"] for one in client.get("/v1/changes").json()]
            assert actions == ["feedback.draft", "feedback.rejudge", "feedback.activate"]
            assert client.get("/v1/feedback/drafts/none").status_code == 404
