"""Outcomes of a running service: by HTTP, as a stream that resumes, on the page, and at the webhook."""

import importlib
import json
import time

import pytest

from metajudge.webhooks.webhook import Webhook, verify
from tests.api.conftest import app_module, panel_of, running
from tests.doubles.judgments import judgment
from tests.doubles.outcomes import filled
from tests.doubles.waiting import until
from tests.doubles.webhook_receiver import Receiver

SECRET = "a secret shared with the receiver"
JUDGING = importlib.import_module("metajudge.api.routes.judging")


def events(client, **options):
    """What a stream that does not follow sends: (name, id, data)."""
    text = client.get("/v1/outcomes/events", params={"follow": "false"}, **options).text
    parts = [dict(line.split(": ", 1) for line in part.splitlines()) for part in text.strip().split("\n\n") if part]
    return [(one["event"], int(one["id"]), json.loads(one["data"])) for one in parts if "event" in one]


def test_lists_pages_counts_and_streams_that_resume(serve, tmp_path):
    client = serve(store=filled(tmp_path / "s.duckdb"))
    page = client.get("/v1/outcomes", params={"limit": 4, "counts": "true"}).json()
    rest = client.get("/v1/outcomes", params={"limit": 4, "before": page["next_cursor"]}).json()
    found = [*page["outcomes"], *rest["outcomes"]]
    assert (len(found), rest["next_cursor"], rest["counts"]) == (6, None, None)
    assert sum(one["count"] for one in page["counts"]) == 6
    only = client.get("/v1/outcomes", params={"kind": "clash", "outcome": "escalated", "by": "machine"}).json()
    assert [(one["kind"], one["outcome"]) for one in only["outcomes"]] == [("clash", "escalated")]
    assert client.get("/v1/outcomes", params={"outcome": "kept"}).status_code == 422
    streamed = events(client)
    assert [data["event_id"] for *_, data in streamed] == [one["event_id"] for one in reversed(found)]
    seen = streamed[2][1]
    assert events(client, headers={"last-event-id": str(seen)}) == streamed[3:]
    assert events(client, headers={"last-event-id": "nonsense"}) == streamed


@pytest.mark.slow
def test_what_the_service_decides_goes_to_its_webhook(models, tmp_path):
    """Vetting, a job, a case, and a person's decision over HTTP."""
    server = models()
    with Receiver(503, 204) as receiver:
        options = app_module.ServiceOptions(
            panels={"default": panel_of(server, "a")},
            store=tmp_path / "s.duckdb",
            webhook=Webhook.at(receiver.url, SECRET),
        )
        with running(options) as client:
            asked = {"judgment": judgment().model_dump(mode="json"), "policy": "verdict_score"}
            assert client.post("/v1/vet", json=asked).json()["decision"]["action"].startswith("REVIEW")
            case = client.post("/v1/cases", json={"case": JUDGING.EXAMPLE_CASE}).json()
            (review, *_) = [
                one["review"]["review_id"]
                for one in client.get("/v1/reviews").json()["reviews"]
                if one["review"]["subject"] == "judgment"
            ]
            client.post(f"/v1/reviews/{review}/claim", json={"reviewer": "ada"})
            said = {"reviewer": "ada", "outcome": "reject", "reason": "my private words"}
            assert client.post(f"/v1/reviews/{review}/decide", json=said).status_code == 200
            line = json.dumps(judgment(id="in a job").model_dump(mode="json"))
            answer = client.post("/v1/vet/batch", content=line, headers={"content-type": "application/x-ndjson"})
            job = answer.json()["job_id"]

            def types():
                return {json.loads(body)["type"] for *_, body in receiver.requests}

            until(lambda: types() >= {"job.ended", "review.decided", "outcome.rejected"}, "events are missing")
    bodies = {headers["webhook-id"]: json.loads(body) for _, headers, body in receiver.requests}
    assert all(verify(SECRET, headers, body, now=time.time()) for _, headers, body in receiver.requests)
    told = [(one["type"], one["data"]) for one in bodies.values()]
    assert [data["state"] for kind, data in told if kind == "job.ended" and data["job_id"] == job] == ["done"]
    mine = [data for kind, data in told if kind.startswith("outcome.") and data["subject_id"] == judgment().id]
    assert [(one["outcome"], one["by"]) for one in sorted(mine, key=lambda one: one["decided_at"])] == [
        ("escalated", "machine"),
        ("rejected", "people"),
    ]
    assert case["decision"]["action"] in [data.get("action") for _, data in told if data.get("kind") == "case"]
    assert "private" not in json.dumps(told)
