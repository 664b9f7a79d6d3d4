"""The pages and forms of the service, as a person with a browser meets them."""

import re
from pathlib import Path
from typing import Any

from tests.edges import serving
from tests.edges.exchanges import Visitor
from tests.edges.http_models import done, ended, judgments, open_reviews
from tests.edges.serving import Matcher, key_text, service
from tests.stored.commands import DATA


def upload(pages: Visitor) -> None:
    """A file of clashes, whose reviews are then decided; pages before anybody decided."""
    pages.see("pages/to_login", "/reviews")
    pages.see("pages/login", "/login")
    pages.submit("pages/login_refused", "/login", {"key": "wrong"})
    pages.submit("pages/logged_in", "/login", {"key": key_text("ci"), "name": "Ada"})
    pages.see("pages/clash_before", "/clash")
    attempts = (DATA / "clash_given.attempts.jsonl").read_bytes()
    pages.submit("forms/clash_file", "/clash", files={"file": ("clashes.jsonl", attempts)})
    pages.submit("forms/clash_file_broken", "/clash", files={"file": ("clashes.jsonl", b"{}\n")})
    pages.submit("forms/logged_out_early", "/logout")


def see(pages: Visitor, api: Visitor) -> None:
    """Every page once, after a login."""
    pages.see("pages/login_again", "/login")
    pages.submit("pages/logged_in_again", "/login", {"key": key_text("ci"), "name": "Ada", "next": "/monitor"})
    for name in ("reviews", "clash", "clash/people", "assessments", "outcomes", "dashboard", "monitor", "policies"):
        pages.see(f"pages/{name.replace('/', '_')}", f"/{name}")
    for name in ("", "proposals", "audit-log", "jobs", "runs"):
        pages.see(f"pages/{name or 'start'}", f"/{name}")
    pages.kept["pages/outcomes"]["numbers"].sort()  # decisions of one moment are logged in any order
    pages.see("pages/search", "/search", params={"q": "moon"})
    pages.see("pages/assessments_chosen", "/assessments", params={"decision": "REVIEW_PRIORITY"})
    pages.see("pages/policy", "/policies/risk_analysis")
    pages.see("pages/policy_of_scores", "/policies/verdict_score")
    docs = pages.see("pages/docs", "/docs")
    pages.kept["pages/docs"]["numbers"] = [str(docs.text.count("<details"))]
    listed = pages.client.get("/assessments").text
    number = min(map(int, re.findall(r"/assessments/(\d+)", listed)))
    pages.see("pages/assessment", f"/assessments/{number}")
    jobs = {one["kind"]: one["job_id"] for one in api.client.get("/v1/jobs").json()["jobs"]}
    for kind, job in jobs.items():
        pages.see(f"pages/job_{kind}", f"/jobs/{job}")
        pages.see(f"pages/job_{kind}_results", f"/jobs/{job}/results.jsonl")
    runs = re.findall(r'href="/runs/([^"?/]+)"', pages.client.get("/runs").text)
    pages.see("pages/run", f"/runs/{runs[-1]}")
    pages.see("pages/static", "/static/page.js")
    for one in api.client.get("/v1/feedback/proposals").json():
        pages.see(f"pages/proposal_{one['status']}", f"/proposals/{one['proposal_id']}")
    pages.see("pages/no_such_page", "/nothing")
    pages.see("pages/no_such_review", "/reviews/nothing")


def send_forms(pages: Visitor, api: Visitor) -> None:
    """Every form once, and what it leads to."""
    pages.token = re.findall(r'name="csrf" (?:content|value)="([^"]+)"', pages.client.get("/reviews").text)[0]
    pages.submit("forms/of_another_site", "/preferences", {"csrf": "wrong", "blind": "true"})
    pages.submit("forms/preferences", "/preferences", {"plain": "false", "next": "/reviews"})
    one, two, three, *_ = open_reviews(api)
    pages.submit("forms/next", "/reviews/next")
    pages.submit("forms/claim", f"/reviews/{one}/claim")
    pages.see("pages/review", f"/reviews/{one}")
    pages.submit("forms/comment", f"/reviews/{one}/comment", {"text": "Look again."})
    pages.submit("forms/assign", f"/reviews/{one}/assign", {"reviewer": "Ada"})
    pages.submit("forms/decide_nothing", f"/reviews/{one}/decide", {})
    pages.submit("forms/decide", f"/reviews/{one}/decide", {"outcome": "approve", "reason": "Right."})
    pages.submit("forms/amend", f"/reviews/{one}/amend", {"outcome": "reject", "reason": "Wrong after all."})
    pages.see("pages/review_decided", f"/reviews/{one}")
    pages.submit("forms/claim_another", f"/reviews/{two}/claim")
    pages.submit("forms/release", f"/reviews/{two}/release")
    pages.submit("forms/blind", "/preferences", {"blind": "true"})
    pages.see("pages/review_blind", f"/reviews/{three}")
    pages.submit("forms/seeing", "/preferences", {"blind": "false"})
    for judge in ("clash panel", "osprey-70b"):
        found = api.client.get("/v1/reviews", params={"judge": judge, "limit": 500}).json()["reviews"]
        for status in ("open", "decided"):
            ids = [each["review"]["review_id"] for each in found if each["status"] == status]
            if ids:
                pages.see(f"pages/review_{status}_{judge.partition(' ')[0]}", f"/reviews/{min(ids)}")
    (case, *_) = [
        each
        for each in api.client.get("/v1/reviews", params={"limit": 500}).json()["reviews"]
        if each["review"].get("subject_id") == "case-3"
    ]
    pages.see("pages/review_of_a_case", f"/reviews/{case['review']['review_id']}")
    clash = api.client.get("/v1/reviews", params={"judge": "clash panel", "limit": 1}).json()["reviews"][0]
    pages.see("pages/clash_review", f"/clash/{clash['review']['review_id']}")
    pages.submit("forms/propose_too_early", "/policies/verdict_score/propose")
    pages.submit("forms/simulate", "/policies/verdict_score/simulate")
    for status in ("proposed", "refused"):
        found = api.client.get("/v1/feedback/proposals").json()
        number = next(each["proposal_id"] for each in found if each["status"] == status)
        pages.submit(f"forms/backtest_{status}", f"/proposals/{number}/backtest")
        pages.submit(f"forms/activate_{status}", f"/proposals/{number}/activate", {"reason": "I like it."})
    job = api.client.get("/v1/jobs", params={"limit": 1}).json()["jobs"][0]["job_id"]
    pages.submit("forms/cancel", f"/jobs/{job}/cancel")
    pages.submit("forms/logout", "/logout")
    pages.see("pages/logged_out", "/")


def calibrated(folder: Path, matcher: Matcher, kept: dict[str, Any]) -> None:
    """A service without agents, whose assessments have probabilities."""
    (folder / "many.jsonl").write_bytes((DATA / "many.jsonl").read_bytes())
    done("calibrate", "fit", "--data", "many.jsonl", "--out", "calibration.json")
    panels = {"default": serving.panel(folder, "none", "")}
    with service(panels=panels, store=folder / "p.db", calibration=folder / "calibration.json") as client:
        api = Visitor(client, matcher, kept)
        api.ask("calibrated/calibrations", "GET", "/v1/calibrations")
        one, two, *_ = judgments()
        api.ask("calibrated/vet", "POST", "/v1/vet", json={"judgment": one, "policy": "verdict"})
        api.ask("calibrated/vet_another", "POST", "/v1/vet", json=two)
        api.ask("calibrated/monitor", "GET", "/v1/monitor")
        api.see("calibrated/start", "/")
        api.see("calibrated/assessments", "/assessments")
        api.see("calibrated/dashboard", "/dashboard")
        api.see("calibrated/monitor_page", "/monitor")
        api.see("calibrated/login", "/login")
        _propose(api)
        api.ask("calibrated/job", "POST", "/v1/vet/batch", json=[one, two])
        ended(api)
        api.see("calibrated/jobs", "/jobs")


def _propose(api: Visitor) -> None:
    """From people's decisions to a policy in force, by forms."""
    api.see("forms/review_queue", "/reviews")
    api.submit("forms/named", "/preferences", {"reviewer": "Ada"})
    api.submit("forms/propose", "/policies/risk_analysis/propose")
    found = api.client.get("/v1/feedback/proposals").json()
    better = next(one["proposal_id"] for one in found if one["status"] == "proposed")
    api.submit("forms/simulate_a_proposal", "/policies/risk_analysis/simulate", {"proposal_id": better})
    api.submit("forms/backtest", f"/proposals/{better}/backtest")
    api.submit("forms/activate", f"/proposals/{better}/activate", {"reason": "Fewer wrong approvals."})
    api.see("forms/activated", f"/proposals/{better}")
    api.see("forms/activated_policy", "/policies/risk_analysis")
