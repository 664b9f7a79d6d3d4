"""A walk through every operation of the service, by the client."""

import importlib
import io
import time
import zipfile

import pytest

from metajudge.client import (
    Client,
    ServiceError,
)
from metajudge.types import Status
from tests.api.service_process import process
from tests.client.conftest import records
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

EXAMPLE_CASE = importlib.import_module("metajudge.api.routes.judging").EXAMPLE_CASE

WALKER = "mj_7Qm3vXr0pLwZt5Yh9Ke2Ds8Ua1"


@pytest.mark.slow
def test_a_walk_through_every_operation_of_a_running_process(tmp_path):
    """Every operation of the document is asked at least once, by the client, and answers as it should."""
    with LLMServer(answer=score_answer(5)) as server:
        (tmp_path / "one.toml").write_text(
            f'rubric = "baseline"\n[[agents]]\nname = "a"\nmodel = "openai:m1@{server.url}"\nprice = {{ input = 1, output = 1 }}\n'
        )
        with process(tmp_path, "--config", "one.toml", env={"METAJUDGE_API_KEY": WALKER}) as (_, plain):
            with Client(f"{plain.base_url}", WALKER) as client:
                _walk(client)
                deadline = time.monotonic() + 10
                while 'route="/v1/export/preferences",status="200"' not in (walked := metrics(client)):
                    assert time.monotonic() < deadline  # it is counted once all is sent and tidied up
                    time.sleep(0.05)
            document = plain.get("/openapi.json").json()
    missed = [
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
        if f'metajudge_requests_total{{method="{method.upper()}",route="{_route(path)}",status="2' not in walked
    ]
    expected = [f"POST /v1/feedback/proposals/{{proposal_id}}/{what}" for what in ("backtest", "activate")]
    draft = "/v1/feedback/drafts/{draft_id}"
    expected += ["POST /v1/feedback/drafts", f"POST {draft}/rejudge", f"GET {draft}", f"POST {draft}/activate"]
    assert missed in ([*expected, "GET /metrics"], expected), "these have tests of their own"


def metrics(client):
    return client.request("GET", "/metrics").text


def _route(path):
    return "/v1/assessments/{name:path}" if path == "/v1/assessments/{name}" else path


def _walk(client):
    ask = client.request
    for path in ("/healthz", "/readyz", "/version", "/metrics", "/docs"):
        assert ask("GET", path).status_code == 200
    assert client.vet(judgment(), policy="verdict_score").status is Status.ASSESSED
    assert [name for name, _ in client.vet_stream(judgment(id="s", rationale="Streamed."))] == ["agent", "assessment"]
    job = client.wait(client.vet_batch(records(3), rubric="short", idempotency_key="walk")["job_id"])
    assert client.vet_batch(records(3), rubric="short", idempotency_key="walk")["job_id"] == job["job_id"]
    assert [item for item, _ in client.results(job["job_id"])] == [0, 1, 2]
    assert [name for name, _ in client.stream("GET", f"/v1/jobs/{job['job_id']}/events")] == ["result"] * 3 + ["end"]
    assert ask("GET", "/v1/jobs").json()["jobs"][0]["job_id"] == job["job_id"]
    assert ask("DELETE", f"/v1/jobs/{job['job_id']}").json()["state"] == "done"
    item = {**judgment().item.model_dump(mode="json"), "label": None}
    assert len(ask("POST", "/v1/judge", json={"item": item}).json()["judgments"]) <= 2
    assert ask("POST", "/v1/clash", json={"item": item}).json()["item_id"] == item["id"]
    assert ask("POST", "/v1/cases", json={"case": EXAMPLE_CASE}).json()["decision"]["action"]
    assert {one["kind"] for one in ask("GET", "/v1/outcomes").json()["outcomes"]} >= {"judgment", "case"}
    assert ask("GET", "/v1/outcomes/events", params={"follow": "false"}).text.startswith("event: ")
    for batch in (client.clash_batch([item]), client.case_batch([EXAMPLE_CASE])):
        assert [place for place, _ in client.results(batch["job_id"])] == [0]
    assert ask("POST", "/v1/rank", json={"rankings": [[["a"], ["b"]]]}).json()["ranking"] == [["a"], ["b"]]
    ballots = [{"question_id": "q", "evaluator": name, "ranking": [["a"], ["b"], ["c"]]} for name in "abc"]
    assert ask("POST", "/v1/peers", json={"ballots": ballots}).json()["overall"] == [["a"], ["b"], ["c"]]
    assert client.audit([judgment()], [{"item_id": judgment().item.id, "value": "B"}], right="equal")["judges"]
    assert ask("GET", "/v1/audit").json() == ask("GET", "/v1/changes").json()
    assert len(ask("GET", "/v1/assessments", params={"judge": judgment().judge}).json()["assessments"]) == 5
    assert ask("GET", "/v1/assessments/s").json()["calls_total"] == 1
    queue = ask("GET", "/v1/reviews", params={"status": "open"}).json()["reviews"]
    review = next(one["review"] for one in queue if one["review"]["subject"] == "judgment")["review_id"]
    assert ask("GET", f"/v1/reviews/{review}").json()["judgment"]["item"]["label"] is None
    for what, body in [("claim", {}), ("release", {}), ("claim", {}), ("decide", {"outcome": "approve"})]:
        state = ask("POST", f"/v1/reviews/{review}/{what}", json={"reviewer": "ada", **body}).json()["state"]
    assert state["status"] == "decided"
    said = {"reviewer": "ada", "outcome": "reject", "reason": "misread"}
    assert len(ask("POST", f"/v1/reviews/{review}/amend", json=said).json()["state"]["history"]) == 2
    assert ask("POST", f"/v1/reviews/{review}/comment", json={"reviewer": "ada", "text": "see page 3"}).json()["sheet"]
    assert ask("POST", f"/v1/reviews/{review}/assign", json={"reviewer": "ada"}).json()["state"]["assigned"] == ["ada"]
    several = {"reviewer": "bob", "outcome": "cannot_tell", "reviews": [review]}
    assert list(ask("POST", "/v1/reviews/decide", json=several).json()["left_out"]) == [review]
    assert ask("GET", "/v1/reviews/progress", params={"reviewer": "ada"}).json()["done"] == 1
    assert ask("GET", "/v1/feedback", params={"policy": "verdict_score"}).json()["cases"] == 1
    assert ask("GET", "/v1/feedback/activations").json() == []
    assert isinstance(ask("POST", "/v1/feedback/proposals", params={"policy": "verdict_score"}).json(), list)
    assert isinstance(ask("GET", "/v1/feedback/proposals").json(), list)
    for what in ("backtest", "activate"):
        with pytest.raises(ServiceError, match="there is no proposal"):
            ask("POST", f"/v1/feedback/proposals/none/{what}", json={})
    assert ask("GET", "/v1/feedback/drafts").json() == []
    with pytest.raises(ServiceError, match="no criterion is corrected often enough"):
        ask("POST", "/v1/feedback/drafts")
    for what in ("rejudge", "activate"):
        with pytest.raises(ServiceError, match="there is no draft"):
            ask("POST", f"/v1/feedback/drafts/none/{what}", json={})
    with pytest.raises(ServiceError, match="there is no draft"):
        ask("GET", "/v1/feedback/drafts/none")
    for noun, name in (("rubrics", "short"), ("policies", "verdict_score")):
        assert ask("GET", f"/v1/{noun}").json()
        found = ask("GET", f"/v1/{noun}/{name}").json()
        found = {**found.get("policy", found), "name": "mine"}
        assert ask("PUT", f"/v1/{noun}/mine", json=found).json()["name"] == "mine"
    assert ask("GET", "/v1/calibrations").json() == []
    assert ask("GET", "/v1/monitor").status_code == 200
    archive = ask("POST", "/v1/export/preferences", json={"selection": {"rule": "all"}})
    assert zipfile.ZipFile(io.BytesIO(archive.content)).namelist()
    actions = [one["change"]["action"] for one in ask("GET", "/v1/changes").json()]
    assert {"job.add", "job.delete", "case.decide", "review.decide", "rubric.put", "policy.put"} <= set(actions)
    assert "export.preferences" in actions
