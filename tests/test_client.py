"""The client against a running service, and a walk through every noun of it."""

import importlib
import io
import zipfile

import pytest

from metajudge.client import AsyncClient, Client, ServiceError
from metajudge.panel_file import panel_config
from metajudge.rubric import load_rubric
from metajudge.types import Status
from tests.api.conftest import running
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

app_module = importlib.import_module("metajudge.api.app")
KEY = "k" * 32


@pytest.fixture
def service(tmp_path):
    """The URL of a service with a panel of two agents, a store and a key; and the models' server."""
    with LLMServer(answer=score_answer(5)) as server:
        agents = [
            {"name": name, "model": f"openai:{name}@{server.url}", "price": {"input": 1, "output": 1}} for name in "ab"
        ]
        options = app_module.ServiceOptions(
            panels={"default": panel_config({"agents": agents}), "one": panel_config({"agents": agents[:1]})},
            store=tmp_path / "s.duckdb",
            api_key=KEY,
        )
        with running(options) as plain:
            yield str(plain.base_url), server


def records(count):
    return [judgment(id=f"j{n}", rationale=f"Reason {n}.") for n in range(count)]


def test_vet_stream_and_batch(service):
    url, server = service
    with Client(url, KEY) as client:
        found = client.vet(judgment())
        events = list(client.vet_stream(judgment(id="other", rationale="Another.")))
        job = client.wait(client.vet_batch(records(5), rubric="baseline")["job_id"])
        results = list(client.results(job["job_id"]))
    assert found.status is Status.ASSESSED
    assert [name for name, _ in events] == ["agent", "agent", "assessment"]
    assert {data["agent"] for _, data in events[:2]} == {"a", "b"}
    assert job["by_status"] == {"assessed": 5}
    assert [item for item, _ in results] == list(range(5))
    assert server.count == 2 + 2 + 10


async def test_the_asynchronous_client_says_the_same(service):
    url, _ = service
    async with AsyncClient(url, KEY) as client:
        found = await client.vet(judgment())
        events = [event async for event in client.vet_stream(judgment())]
    assert found.final_score == 5.0
    assert [name for name, _ in events] == ["assessment"]  # known by now: nobody is asked again


def test_problems_are_errors_with_the_service_s_words(service):
    url, _ = service
    with Client(url, "wrong") as client, pytest.raises(ServiceError, match="the key is not valid") as caught:
        client.vet(judgment())
    assert caught.value.status == 401
    with Client(url, KEY) as client, pytest.raises(ServiceError, match="unknown panel"):
        list(client.vet_stream(judgment(), panel="nobody"))


def test_an_idempotency_key_replayed_with_another_body_is_refused(service):
    url, server = service
    with Client(url, KEY) as client:
        first = client.vet(judgment(), idempotency_key="k1")
        again = client.vet(judgment(), idempotency_key="k1")
        with pytest.raises(ServiceError) as caught:
            client.vet(judgment(id="other"), idempotency_key="k1")
    assert first == again
    assert caught.value.status == 422
    assert server.count == 2


def test_a_walk_through_every_noun(service):
    url, _ = service
    with Client(url, KEY) as client:
        ask = client.request
        client.vet(judgment(), panel="one", policy="verdict_score")  # one agent has no agreement: to be reviewed
        assert ask("GET", "/readyz").json() == {"ready": True, "checks": {"store": "ok", "providers": "ok"}}
        assert "metajudge_model_calls_total 1" in ask("GET", "/metrics").text
        page = ask("GET", "/v1/assessments", params={"accepted": True}).json()
        assert page["assessments"][0]["judgment_id"] == judgment().id
        assert ask("GET", f"/v1/assessments/{judgment().id}").json()["calls_total"] == 1
        waiting = ask("GET", "/v1/reviews", params={"status": "open"}).json()["reviews"]
        review = waiting[0]["review"]["review_id"]
        assert "truth" not in waiting[0]["review"]
        claimed = ask("POST", f"/v1/reviews/{review}/claim", json={"reviewer": "ada"}).json()
        assert claimed["judgment"]["id"] == judgment().id
        with pytest.raises(ServiceError) as taken:
            ask("POST", f"/v1/reviews/{review}/claim", json={"reviewer": "bob"})
        assert taken.value.status == 409
        said = {"reviewer": "ada", "outcome": "approve", "reason": "It is right."}
        decided = ask("POST", f"/v1/reviews/{review}/decide", json=said).json()
        assert decided["state"]["status"] == "decided"
        assert ask("GET", "/v1/feedback", params={"policy": "verdict_score"}).json()["cases"] == 1
        assert ask("GET", "/v1/feedback/proposals").json() == []
        for what in ("backtest", "activate"):
            with pytest.raises(ServiceError) as missing:
                ask("POST", f"/v1/feedback/proposals/none/{what}", json={})
            assert missing.value.status == 404
        rubric = load_rubric("baseline").model_dump(mode="json")
        assert ask("PUT", "/v1/rubrics/mine", json={**rubric, "name": "mine"}).json()["name"] == "mine"
        assert "mine" in {one["name"] for one in ask("GET", "/v1/rubrics").json()}
        assert client.vet(judgment(), rubric="mine").status is Status.ASSESSED
        policy = ask("GET", "/v1/policies/verdict_score").json()["policy"]
        assert ask("PUT", "/v1/policies/mine", json={**policy, "name": "mine"}).json()["name"] == "mine"
        assert client.vet(judgment(), policy="mine").decision.policy == "mine"
        assert ask("GET", "/v1/calibrations").json() == []
        item = judgment().item.model_dump(mode="json")
        judged = ask("POST", "/v1/judge", json={"item": item}).json()
        assert len(judged["judgments"]) + len(judged["failed"]) == 4
        assert ask("POST", "/v1/clash", json={"item": item}).json()["item_id"] == item["id"]
        ranked = ask("POST", "/v1/rank", json={"rankings": [[["a"], ["b"]], [["a"], ["b"]]]}).json()
        assert ranked["ranking"] == [["a"], ["b"]]
        ballots = [
            {"question_id": f"q{n}", "evaluator": name, "ranking": [["a"], ["b"], ["c"]]}
            for n in range(3)
            for name in "abc"
        ]
        assert ask("POST", "/v1/peers", json={"ballots": ballots}).json()["models"]
        folder = ask("POST", "/v1/export/preferences", json={"selection": {"rule": "all"}})
        assert any(name.endswith("README.md") for name in zipfile.ZipFile(io.BytesIO(folder.content)).namelist())
