"""The service over what 0.2 stored: every page reads it, and the same requests ask no model again."""

import json

import pytest

from metajudge.store import answers as answers_kept
from tests.edges.recorded import check, steady
from tests.edges.stored.stores import JOB, job_lines, service
from tests.stored.commands import requests

ON = ["file", pytest.param("postgres", marks=pytest.mark.slow)]
PATHS = {
    "service": (
        "/v1/jobs",
        "/v1/assessments?limit=100",
        "/v1/outcomes?limit=100&counts=true",
        "/v1/reviews?limit=100",
        "/v1/policies",
    ),
    "people": (
        "/v1/outcomes?limit=20&counts=true",
        "/v1/reviews?limit=20",
        "/v1/monitor",
        "/v1/feedback/proposals",
        "/v1/feedback/activations",
    ),
    "drafts": ("/v1/feedback/drafts", "/v1/policies/risk_analysis", "/v1/reviews?limit=10"),
    "removed": ("/v1/assessments?limit=200",),
    "panels": ("/v1/assessments?limit=200", "/v1/reviews?limit=100"),
}
PAGES = ("/", "/assessments", "/reviews", "/outcomes", "/monitor", "/jobs", "/runs", "/dashboard", "/audit-log")


@pytest.mark.slow
@pytest.mark.parametrize("on", ["file", "postgres"])
@pytest.mark.parametrize("kind", PATHS)
def test_it_is_read_over_http(fresh, kind, on):
    with fresh(kind, on=on) as (folder, where), service(folder, where) as client:
        answers = {path: client.get(path) for path in PATHS[kind]}
        pages = {path: client.get(path, follow_redirects=True).status_code for path in PAGES}
    found = {path: [one.status_code, sizes(one.json())] for path, one in answers.items()}
    check(f"stored/http_{kind}", {"answers": found, "pages": pages})


@pytest.mark.parametrize("on", ON)
def test_the_same_requests_ask_nothing_again(fresh, models, on, monkeypatch):
    monkeypatch.setattr(answers_kept, "KEEP_ANSWERS_S", 1e10)  # they are kept for a day, and these are older
    before = models.count
    with fresh("service", on=on, proxy=models.url) as (folder, where), service(folder, where) as client:
        answers = {path: client.post(path, json=body) for path, body in requests(folder).items()}
        (job,) = client.get("/v1/jobs").json()["jobs"]
        sent = client.post("/v1/vet/batch", content=job_lines(folder), headers=JOB)
        rows = client.get(f"/v1/jobs/{job['job_id']}/results").json()["results"]
    assert [request.body.get("model") for request in models.requests[before:]] == []
    assert {path: one.status_code for path, one in answers.items()} == dict.fromkeys(answers, 200)
    assert sent.headers["location"].endswith(job["job_id"])
    kept = ("judgment_id", "final_score", "accepted", "action", "overall_quality_score", "status", "winner", "tied")
    said = {path: {name: one.json()[name] for name in kept if name in one.json()} for path, one in answers.items()}
    found = {"job": [job["state"], job["items"], sent.status_code], "said": steady(said)}
    found["judged"] = sorted([one["id"], one["verdict"]] for one in answers["/v1/judge"].json()["judgments"])
    found["rows"] = sorted(([row_of(one) for one in rows]), key=json.dumps)
    check("stored/http_again", found)


def row_of(one):
    shown = one.get("assessment") or one
    return [shown.get(name) for name in ("judgment_id", "final_score", "accepted", "panel_digest")]


def sizes(answer):
    """Of every list its length, and of its entries what a user tells them apart by; other values as they are."""
    scored = ("judgment_id", "panel_digest", "final_score", "accepted", "status")
    names = (*scored, "state", "items", "outcome", "by", "kind")
    found = {}
    for name, value in (answer if isinstance(answer, dict) else {"": answer}).items():
        if isinstance(value, list) and all(isinstance(one, dict) for one in value):
            rows = [[one.get(k, (one.get("review") or one.get("draft") or {}).get(k)) for k in names] for one in value]
            found[name] = [len(value), *sorted(rows, key=json.dumps)]
        else:
            found[name] = steady({name: value})[name]
    return found
