"""From people's decisions to a new policy in force, over HTTP."""

import asyncio
import importlib

import pytest

from metajudge.store import open_store
from tests.api.conftest import app_module, running
from tests.doubles.decided_cases import crowd
from tests.doubles.judgments import judgment
from tests.feedback.test_loop import decided

keys = importlib.import_module("metajudge.api.keys")
KEY = "k" * 32


async def _filled(path):
    store = await open_store(path)
    try:
        await decided(store, crowd(800, 6, bias=0.25))
    finally:
        await store.close()


@pytest.mark.slow
def test_a_proposal_is_tested_anew_and_put_in_force_by_a_person_with_everything_on_record(tmp_path):
    asyncio.run(_filled(tmp_path / "s.duckdb"))
    options = app_module.ServiceOptions(store=tmp_path / "s.duckdb", keys=(keys.ApiKey("boss", keys.hashed(KEY)),))
    with running(options) as client:
        client.headers["x-api-key"] = KEY
        client.timeout = 100
        before = client.get("/v1/policies/verdict").json()["digest"]
        report = client.get("/v1/feedback", params={"policy": "verdict"}).json()
        assert report["cases"] == 800
        made = client.post("/v1/feedback/proposals", params={"policy": "verdict"}).json()
        better = next(one for one in made if one["status"] == "proposed")["proposal_id"]
        refused = next((one for one in made if one["status"] == "refused"), None)
        assert client.get("/v1/policies/verdict").json()["digest"] == before, "a proposal changed the policy by itself"
        assert [one["proposal_id"] for one in client.get("/v1/feedback/proposals").json()] == [
            one["proposal_id"] for one in made
        ]
        assert client.post(f"/v1/feedback/proposals/{better}/backtest").json()["better"] is True
        if refused is not None:
            answer = client.post(f"/v1/feedback/proposals/{refused['proposal_id']}/activate", json={})
            assert (answer.status_code, "is refused" in answer.json()["detail"]) == (422, True)
        done = client.post(
            f"/v1/feedback/proposals/{better}/activate", json={"reason": "Fewer wrong approvals."}
        ).json()
        assert (done["by"], done["base_digest"]) == ("boss", before)
        assert client.get("/v1/policies/verdict").json()["digest"] == done["digest"] != before
        again = client.post(f"/v1/feedback/proposals/{better}/activate", json={})
        assert (again.status_code, "already in force" in again.json()["detail"]) == (422, True)
        assert [one["proposal_id"] for one in client.get("/v1/feedback/activations").json()] == [better]
        body = {"judgment": judgment().model_dump(mode="json"), "policy": "verdict"}
        assert client.post("/v1/vet", json=body).json()["decision"]["policy_digest"] == done["digest"]
        actions = [one["change"]["action"] for one in client.get("/v1/changes").json()]
        assert actions == ["feedback.propose", "feedback.backtest", "feedback.activate"]
        over = client.put("/v1/policies/verdict", json=client.get("/v1/policies/verdict").json()["policy"])
        assert over.status_code == 409


class TestFeedback:
    def test_an_unknown_policy_or_proposal_is_404(self, client):
        assert client.get("/v1/feedback", params={"policy": "none"}).status_code == 404
        for what in ("backtest", "activate"):
            assert client.post(f"/v1/feedback/proposals/none/{what}", json={}).status_code == 404

    def test_nothing_to_learn_from_is_409(self, client):
        answer = client.post("/v1/feedback/proposals", params={"policy": "verdict"})
        assert (answer.status_code, "has been decided by a person yet" in answer.json()["detail"]) == (409, True)
