"""What is asked of the service, in order: one script fills a store and reads it back, and keeps every exchange."""

import contextlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metajudge.client import Client
from tests.doubles.cases import flood
from tests.doubles.llm_server import LLMServer
from tests.edges.exchanges import Visitor, same
from tests.edges.http_models import (
    AROUND,
    NDJSON,
    ONE,
    REASON,
    THREE,
    answer,
    browser,
    done,
    ended,
    judgments,
    ndjson,
    open_reviews,
    options,
)
from tests.edges.http_pages import calibrated, see, send_forms, upload
from tests.edges.serving import Matcher, key_text, service
from tests.stored.commands import DATA, inside, records

CASES = 72

GROUPS = (
    *("vet", "settings", "judge", "clash", "cases", "rank", "peers", "audit", "jobs"),
    *("pages", "forms", "reviews", "feedback", "read", "refused", "client", "calibrated", "no_store"),
)
"""The first parts of the names of exchanges."""


def fill(folder: Path) -> None:
    """Cases that people decided, and vetted judgments, by commands."""
    given = [flood(f"case-{n}").model_dump(mode="json") for n in range(CASES)]
    for number, one in enumerate(given):
        one["stages"][1]["output"] += f" (case-{number})"
    _lines(folder / "cases.jsonl", given)
    vetted = [one for one in records(DATA / "many.jsonl") if one["order"] == ["A", "B"]][::4][:12]
    _lines(folder / "judgments.jsonl", vetted)
    (folder / "one.toml").write_text(ONE)
    (folder / "three.toml").write_text(THREE)
    done("case", "cases.jsonl", "--config", "one.toml", "--audit-share", "1", "--concurrency", "1", "--out", "c.jsonl")
    done("review", "export", "--out", "reviews.jsonl")
    decided = [_decided(one) for one in records(folder / "reviews.jsonl")]
    _lines(folder / "decided.jsonl", decided)
    done("review", "import", "decided.jsonl")
    for config, policy in (("three.toml", "verdict_score"), ("one.toml", "verdict")):
        done("vet", "judgments.jsonl", "--config", config, "--policy", policy, "--concurrency", "1", "--out", "v.jsonl")


def _decided(review: dict[str, Any]) -> dict[str, Any]:
    number = int(re.findall(r"case-(\d+)", json.dumps(review))[0])
    fixed = {"outcome": "modify", "scores": {"completeness": 5}, "reason": REASON}
    said = {"outcome": "approve"} if number % 3 else fixed
    return {"review_id": review["review_id"], "reviewer": "ada", "decided_at": 2.0 + number, **said}


def _lines(path: Path, found: list[Any]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in found))


@contextlib.contextmanager
def world(folder: Path) -> Iterator[dict[str, dict[str, Any]]]:
    """Every exchange by its name."""
    kept: dict[str, dict[str, Any]] = {}
    matcher = Matcher()
    with LLMServer(answer) as server, inside(folder, server.url):
        fill(folder)
        shutil.copy(folder / "store.db", folder / "p.db")
        with service(**options(folder)) as client:
            client.timeout = 100
            client.headers["authorization"] = f"Bearer {key_text('ci')}"
            api = Visitor(client, matcher, kept)
            vet(api)
            around_the_threshold(api)
            judge(api)
            count(api)
            run_jobs(api, folder)
            with browser(client) as person:
                upload(Visitor(person, matcher, kept))
            review(api)
            learn(api)
            settings(api)
            read(api)
            refuse(api)
            with browser(client) as person:
                pages = Visitor(person, matcher, kept)
                see(pages, api)
                send_forms(pages, api)
            through_the_client(api)
        calibrated(folder, matcher, kept)
        without_a_store(matcher, kept)
        yield kept


def vet(api: Visitor) -> None:
    """One judgment, in every way it can be asked about."""
    one, two, three, four, five, *_ = judgments()
    api.ask("vet/plain", "POST", "/v1/vet", json=one)
    api.ask("vet/again", "POST", "/v1/vet", json=one)
    api.ask("vet/one_agent", "POST", "/v1/vet", json={"judgment": one, "panel": "one", "policy": "verdict_score"})
    api.ask("vet/rubric", "POST", "/v1/vet", json={"judgment": two, "panel": "pair", "rubric": "binary"})
    others = [each for each in records(DATA / "many.jsonl") if each["item"]["id"] == three["item"]["id"]]
    others = [each for each in others if each["id"] != three["id"]]
    api.ask("vet/others", "POST", "/v1/vet", json={"judgment": three, "others": others, "panel": "pair"})
    asked = {"judgment": four, "panel": "one"}
    once = {"idempotency-key": "once"}
    api.ask("vet/keyed", "POST", "/v1/vet", json=asked, headers=once)
    api.ask("vet/replayed", "POST", "/v1/vet", json=asked, headers=once)
    api.ask("vet/key_of_another", "POST", "/v1/vet", json={**asked, "panel": "pair"}, headers=once)
    graded = {"item": {"id": "g", "question": "Say hello.", "responses": {"A": "Hello."}, "scale": [1, 5]}}
    graded = {**graded, "id": "graded", "judge": "kite", "verdict": 4, "rationale": "It says hello.", "order": ["A"]}
    api.ask("vet/grade", "POST", "/v1/vet", json={"judgment": graded, "panel": "one"})
    api.ask("vet/stream", "POST", "/v1/vet/stream", json={"judgment": five, "panel": "one"})


def around_the_threshold(api: Visitor) -> None:
    """Scores at 4.5, above and below it, under each strategy, in one recording."""
    short = api.client.get("/v1/rubrics/short").json()
    criteria = [{**one, "weight": 0.5} for one in short["criteria"][:2]]
    rubric = {**short, "name": "two", "criteria": criteria, "weight_sets": {}}
    api.ask("settings/put_rubric", "PUT", "/v1/rubrics/two", json=rubric)
    found = {}
    for name in AROUND:
        policy = None if "vote" in name else "verdict_score"
        asked = {"judgment": judgments()[0], "panel": name, "rubric": "two", "policy": policy}
        one = api.client.post("/v1/vet", json=asked).json()
        agents = {agent["agent"]: agent["score"] for agent in one["agents"]}
        wanted = ("status", "strategy", "threshold", "final_score", "accepted")
        action = (one.get("decision") or {}).get("action")
        found[name] = {each: one[each] for each in wanted} | {"agents": agents, "action": action}
    api.kept["vet/around_the_threshold"] = {"route": "POST /v1/vet", "found": found}


def judge(api: Visitor) -> None:
    """Judges, clashes and cases."""
    item = judgments()[1]["item"]
    api.ask("judge/pair", "POST", "/v1/judge", json={"item": item, "panel": "pair"})
    api.ask("judge/given_order", "POST", "/v1/judge", json={"item": item, "panel": "one", "orders": "given"})
    api.ask("judge/grade", "POST", "/v1/judge", json={"item": item, "panel": "one", "grade": True})
    api.ask("clash/item", "POST", "/v1/clash", json={"item": item, "seed": 5})
    asked: dict[str, Any] = {"question": {"id": "q", "question": "What is a tide?"}, "candidates": "set"}
    asked |= {"criteria_model": "eve", "observers": True}
    api.ask("clash/question", "POST", "/v1/clash", json=asked)
    case = flood("over-http", type="regulatory").model_dump(mode="json")
    api.ask("cases/one", "POST", "/v1/cases", json={"case": case, "panel": "one"})


def count(api: Visitor) -> None:
    """Rankings and ballots, which ask nobody; an audit."""
    rankings = [[["a"], ["b", "c"]], [["b"], ["a"], ["c"]], [["c"], ["a"], ["b"]], [["b"], ["c"], ["a"]]]
    api.ask("rank/kemeny", "POST", "/v1/rank", json={"rankings": rankings})
    api.ask("rank/borda", "POST", "/v1/rank", json={"rankings": rankings, "rule": "borda", "weights": [1, 2, 1, 3]})
    names = ("fox", "owl", "bee")
    ballots = [
        {"question_id": f"q{n}", "evaluator": who, "ranking": [[names[(n + at + place) % 3]] for place in range(3)]}
        for n in range(4)
        for at, who in enumerate(names)
    ]
    api.ask("peers/ballots", "POST", "/v1/peers", json={"ballots": ballots, "resamples": 100, "seed": 3})
    given = records(DATA / "many.jsonl")[:24]
    labels = [{"item_id": one["item"]["id"], "value": "A", "annotator": "ada"} for one in given[::6]]
    api.ask("audit/json", "POST", "/v1/audit", json={"judgments": given, "labels": labels})
    alike = [{**one, "id": f"{n}-{who}", "judge": who, "verdict": "A>B"} for n, one in enumerate(given) for who in "ab"]
    api.ask("audit/judges_that_never_vary", "POST", "/v1/audit", json={"judgments": alike})
    api.ask("audit/lines", "POST", "/v1/audit", content=ndjson(given), headers=NDJSON, params={"right": "top1"})


def run_jobs(api: Visitor, folder: Path) -> None:
    """A job of each kind, from the upload to its results."""
    lines = ndjson(judgments()[6:10])
    keyed = {**NDJSON, "idempotency-key": "batch"}
    asked = {"panel": "one", "policy": "verdict_score"}
    api.ask("jobs/vet", "POST", "/v1/vet/batch", content=lines, headers=keyed, params=asked)
    place = ended(api)
    api.ask("jobs/vet_replayed", "POST", "/v1/vet/batch", content=lines, headers=keyed, params=asked)
    api.ask("jobs/vet_state", "GET", place)
    first = api.ask("jobs/vet_results", "GET", f"{place}/results", params={"limit": 3}).json()
    api.client.params = {"after": first["next_cursor"]}
    api.ask("jobs/vet_results_after", "GET", f"{place}/results")
    api.client.params = {}
    api.ask("jobs/bad_cursor", "GET", f"{place}/results", params={"after": 1})
    api.ask("jobs/vet_lines", "GET", f"{place}/results", headers={"accept": NDJSON["content-type"]})
    api.ask("jobs/vet_events", "GET", f"{place}/events")
    api.ask("jobs/vet_events_after", "GET", f"{place}/events", headers={"last-event-id": "2"})
    items = [one["item"] for one in judgments()[:2]]
    api.ask("jobs/clash", "POST", "/v1/clash/batch", json=items, params={"seed": 3})
    place = ended(api)
    api.ask("jobs/clash_results", "GET", f"{place}/results")
    api.ask("jobs/clash_events", "GET", f"{place}/events")
    odd = [{"name": "elsewhere", "output": "x"}]
    cases = [flood("batch-1"), flood("batch-2", type="geopolitical"), flood("odd", stages=odd)]
    given = [one.model_dump(mode="json") for one in cases]
    api.ask("jobs/cases", "POST", "/v1/cases/batch", json=given, params={"panel": "one"})
    place = ended(api)
    api.ask("jobs/cases_results", "GET", f"{place}/results")
    api.ask("jobs/list", "GET", "/v1/jobs", params={"limit": 2})
    api.ask("jobs/delete", "DELETE", place)
    api.ask("jobs/deleted", "GET", place)


def review(api: Visitor) -> None:
    """Reviews: claims, decisions, comments."""
    ids = open_reviews(api)
    ada = {"reviewer": "ada"}
    api.ask("reviews/list", "GET", "/v1/reviews", params={"status": "open", "limit": 2})
    api.ask("reviews/blind", "GET", "/v1/reviews", params={"status": "open", "blind": True, "limit": 1})
    first, second, third, fourth, fifth, *_ = ids
    place = f"/v1/reviews/{first}"
    api.ask("reviews/one", "GET", place)
    api.ask("reviews/one_blind", "GET", place, params={"blind": True})
    api.ask("reviews/claim", "POST", f"{place}/claim", json=ada)
    api.ask("reviews/claimed_by_another", "POST", f"{place}/claim", json={"reviewer": "bob"})
    api.ask("reviews/comment", "POST", f"{place}/comment", json={**ada, "text": "Compare the second paragraph."})
    api.ask("reviews/assign", "POST", f"{place}/assign", json=ada)
    said = {**ada, "outcome": "approve", "reason": "Checked."}
    api.ask("reviews/decide", "POST", f"{place}/decide", json=said)
    api.ask("reviews/decide_again", "POST", f"{place}/decide", json=said)
    api.ask("reviews/decide_otherwise", "POST", f"{place}/decide", json={**said, "outcome": "reject"})
    api.ask("reviews/amend", "POST", f"{place}/amend", json={**ada, "outcome": "reject", "reason": "On reflection."})
    api.ask("reviews/decide_unclaimed", "POST", f"/v1/reviews/{second}/decide", json=said)
    api.ask("reviews/release_unclaimed", "POST", f"/v1/reviews/{second}/release", json=ada)
    for number in (second, third, fourth):
        api.client.post(f"/v1/reviews/{number}/claim", json={**ada, "blind": True})
    api.ask("reviews/release", "POST", f"/v1/reviews/{second}/release", json=ada)
    own = {**ada, "verdict": "R2>R1", "item": True}
    api.ask("reviews/own_verdict", "POST", f"/v1/reviews/{third}/decide", json=own)
    bulk = {**ada, "outcome": "cannot_tell", "reviews": [fourth, fifth]}
    api.ask("reviews/several", "POST", "/v1/reviews/decide", json=bulk)
    api.ask("reviews/progress", "GET", "/v1/reviews/progress", params=ada)
    _review_a_clash(api)


def _review_a_clash(api: Visitor) -> None:
    clash, *_ = open_reviews(api, judge="clash panel")
    api.client.post(f"/v1/reviews/{clash}/claim", json={"reviewer": "ada"})
    api.ask("reviews/clash", "GET", f"/v1/reviews/{clash}")
    said = {"reviewer": "ada", "outcome": "approve"}
    api.ask("reviews/clash_decided", "POST", f"/v1/reviews/{clash}/decide", json=said)


def learn(api: Visitor) -> None:
    """Feedback: what people's decisions suggest, tried and put in force."""
    risk = {"policy": "risk_analysis"}
    api.ask("feedback/report", "GET", "/v1/feedback", params=risk)
    made = api.ask("feedback/propose", "POST", "/v1/feedback/proposals", params=risk).json()
    better = next(one["proposal_id"] for one in made if one["status"] == "proposed")
    worse = next(one["proposal_id"] for one in made if one["status"] == "refused")
    api.ask("feedback/proposals", "GET", "/v1/feedback/proposals")
    api.ask("feedback/backtest", "POST", f"/v1/feedback/proposals/{better}/backtest")
    api.ask("feedback/activate", "POST", f"/v1/feedback/proposals/{better}/activate", json={"reason": "Fewer wrong."})
    api.ask("feedback/refused", "POST", f"/v1/feedback/proposals/{worse}/activate", json={})
    drafted = {**risk, "kind": "instruction"}
    (draft,) = api.ask("feedback/draft", "POST", "/v1/feedback/drafts", params=drafted).json()
    place = f"/v1/feedback/drafts/{draft['draft_id']}"
    api.ask("feedback/draft_too_early", "POST", f"{place}/activate", json={})
    api.ask("feedback/draft_price", "POST", f"{place}/rejudge", json={"panel": "one"})
    api.ask(
        "feedback/draft_too_dear",
        "POST",
        f"{place}/rejudge",
        json={"panel": "one", "dry_run": False, "budget_usd": 1e-6},
    )
    api.ask("feedback/draft_tried", "POST", f"{place}/rejudge", json={"panel": "one", "dry_run": False})
    api.ask("feedback/drafts", "GET", "/v1/feedback/drafts")
    api.ask("feedback/one_draft", "GET", place)
    api.ask("feedback/draft_active", "POST", f"{place}/activate", json={"reason": "It agrees with us."})
    api.ask("feedback/activations", "GET", "/v1/feedback/activations")
    api.ask("feedback/too_early", "POST", "/v1/feedback/proposals", params={"policy": "risk_analysis_verified"})


def settings(api: Visitor) -> None:
    """Rubrics, policies, calibrations."""
    api.ask("settings/rubrics", "GET", "/v1/rubrics")
    api.ask("settings/rubric", "GET", "/v1/rubrics/baseline")
    api.ask("settings/put_builtin_rubric", "PUT", "/v1/rubrics/short", json=api.client.get("/v1/rubrics/two").json())
    api.ask("settings/policies", "GET", "/v1/policies")
    mine = api.ask("settings/policy", "GET", "/v1/policies/verdict_score").json()["policy"]
    api.ask("settings/put_builtin_policy", "PUT", "/v1/policies/verdict_score", json=mine)
    api.ask("settings/put_policy", "PUT", "/v1/policies/mine", json={**mine, "name": "mine"})
    api.ask("settings/put_policy_misnamed", "PUT", "/v1/policies/mine", json=mine)
    api.ask("settings/calibrations", "GET", "/v1/calibrations")


def read(api: Visitor) -> None:
    """What is stored, and how the service is."""
    api.ask("read/assessments", "GET", "/v1/assessments", params={"limit": 2})
    chosen = {"judge": "kestrel-mini", "accepted": True, "limit": 1}
    api.ask("read/assessments_chosen", "GET", "/v1/assessments", params=chosen)
    api.ask("read/assessment", "GET", f"/v1/assessments/{judgments()[3]['id']}")
    api.ask("read/outcomes", "GET", "/v1/outcomes", params={"counts": True, "kind": "clash", "limit": 50})
    history = {"history": True, "by": "people", "kind": "judgment"}
    api.ask("read/outcomes_history", "GET", "/v1/outcomes", params=history)
    for name in ("read/outcomes", "read/outcomes_history"):
        _settle(api.kept[name]["json"]["outcomes"])
    events = {"follow": False, "kind": "clash"}
    api.ask("read/outcome_events", "GET", "/v1/outcomes/events", params=events)
    for one in api.kept["read/outcome_events"]["events"]:
        one |= {"id": "*", "data": {**one["data"], "number": "*"}}  # places in a log whose numbers may have gaps
    api.ask("read/monitor", "GET", "/v1/monitor")
    for name in ("watches", "watch"):  # gone: 404
        api.ask(f"read/{name}", "GET", "/v1/watches")
    api.ask("read/changes", "GET", "/v1/changes", params={"limit": 10})
    api.ask("read/changes_of_a_policy", "GET", "/v1/audit", params={"subject": "mine"})
    for name in ("healthz", "readyz", "version"):
        api.ask(f"read/{name}", "GET", f"/{name}")
    metrics = api.ask("read/metrics", "GET", "/metrics")
    api.kept["read/metrics"]["metrics"] = sorted(set(re.findall(r"(?m)^# TYPE (metajudge_\w+ \w+)$", metrics.text)))
    api.kept["read/openapi"] = {**_plain(api, "GET", "/openapi.json"), "operations": "see operations"}
    asked = {"selection": {"rule": "all"}, "format": "jsonl"}
    for name, more in (("exported", {}), ("exported_conversations", {"format": "trl-conversational"})):
        found = api.ask(f"read/{name}", "POST", "/v1/export/preferences", json={**asked, **more})
        api.kept[f"read/{name}"]["rows"] = _rows(found.content)


def _settle(outcomes: list[dict[str, Any]]) -> None:
    """Outcomes in an order of their own: decisions of one moment are logged in any order."""
    for one in outcomes:
        one |= {name: "*" for name in ("number", "follows", "event_id") if name in one}
    outcomes.sort(key=json.dumps)


def _plain(api: Visitor, method: str, path: str) -> dict[str, Any]:
    answer = api.client.request(method, path)
    return {"route": f"{method} {path}", "status": answer.status_code, "type": answer.headers["content-type"]}


def _rows(content: bytes) -> dict[str, list[Any]]:
    """The prompt, what was chosen and what was rejected, of each row of an archive's data."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in sorted(one for one in archive.namelist() if one.endswith(".jsonl")):
            lines = [json.loads(line) for line in archive.read(name).decode().splitlines()]
            found[name.rpartition("/")[2]] = [
                same({each: one[each] for each in ("prompt", "chosen", "rejected") if each in one}) for one in lines
            ]
    return found


def refuse(api: Visitor) -> None:
    """What the service refuses, and how."""
    one = judgments()[0]
    as_nobody = {"authorization": ""}
    reader = {"authorization": f"Bearer {key_text('reader')}"}
    slow = {"authorization": f"Bearer {key_text('slow')}"}
    api.ask("refused/no_key", "POST", "/v1/vet", json=one, headers=as_nobody)
    api.ask("refused/wrong_key", "GET", "/v1/reviews", headers={"authorization": "Bearer wrong"})
    api.ask("refused/other_scope", "POST", "/v1/vet", json=one, headers=reader)
    api.client.get("/v1/rubrics", headers=slow)
    api.ask("refused/too_often", "GET", "/v1/rubrics", headers=slow)
    api.ask("refused/no_such_path", "GET", "/v1/nothing")
    api.ask("refused/no_such_method", "DELETE", "/v1/vet")
    for name in ("jobs", "reviews", "assessments", "rubrics", "policies", "feedback/drafts"):
        api.ask(f"refused/no_such_{name.rpartition('/')[2]}", "GET", f"/v1/{name}/nothing")
    api.ask("refused/no_such_proposal", "POST", "/v1/feedback/proposals/nothing/backtest")
    api.ask("refused/no_such_panel", "POST", "/v1/vet", json={"judgment": one, "panel": "nothing"})
    of_votes = {"judgment": one, "panel": "vote_one", "policy": "verdict_score"}
    api.ask("refused/policy_over_votes", "POST", "/v1/vet", json=of_votes)
    api.ask("refused/no_such_rubric", "POST", "/v1/vet", json={"judgment": one, "rubric": "nothing"})
    api.ask("refused/other_policy", "POST", "/v1/vet/batch", json=[one], params={"policy": "risk_analysis"})
    api.ask("refused/bad_judgment", "POST", "/v1/vet", json={**one, "verdict": "C>A", "surprise": 1})
    deep = json.loads('{"a":' * 500 + "1" + "}" * 500)
    api.ask("refused/meta_500_deep", "POST", "/v1/vet", json={**one, "meta": deep})
    api.ask("refused/unknown_verdict", "POST", "/v1/vet", json={**one, "verdict": "the first, I think"})
    api.ask("refused/not_json", "POST", "/v1/vet", content="{", headers={"content-type": "application/json"})
    api.ask("refused/bad_lines", "POST", "/v1/vet/batch", content=ndjson([one, {"id": 1}]) + "{\n", headers=NDJSON)
    api.ask(
        "refused/too_large", "POST", "/v1/vet", content=b" " * 4_000_001, headers={"content-type": "application/json"}
    )
    api.ask("refused/other_type", "POST", "/v1/audit", content="x", headers={"content-type": "text/csv"})
    api.ask("refused/no_key_here", "POST", "/v1/rank", json={"rankings": [[["a"]]]}, headers={"idempotency-key": "x"})
    api.ask("refused/bad_ranking", "POST", "/v1/rank", json={"rankings": [[["a"], ["a"]]]})
    api.ask("refused/clash_of_nothing", "POST", "/v1/clash", json={})
    api.ask(
        "refused/case_without_stages", "POST", "/v1/cases", json={"case": {"id": "x", "type": "climate", "stages": []}}
    )
    api.ask("refused/bad_cursor", "GET", "/v1/reviews", params={"limit": 501})
    api.ask("refused/outcome_unknown", "GET", "/v1/outcomes", params={"outcome": "kept"})


def through_the_client(api: Visitor) -> None:
    """The Python client's methods, and what they make of the answers."""
    given = judgments()[12:15]
    found: dict[str, Any] = {}
    with Client(str(api.client.base_url), key=key_text("ci"), patience_s=0.1) as client:
        found["vet"] = client.vet(given[0], panel="one", policy="verdict_score").model_dump(mode="json")
        found["vet_stream"] = [[name, data] for name, data in client.vet_stream(given[1], panel="one")]
        job = client.vet_batch(given, panel="one")
        found["results"] = [[place, one.final_score] for place, one in client.results(job["job_id"])]
        found["job"] = client.job(job["job_id"])
        found["cancel"] = client.cancel(job["job_id"])
        found["judge"] = client.judge(given[2]["item"], panel="one")
        found["clash"] = client.clash(given[2]["item"], panel="pair")
        found["case"] = client.case(flood("by-client"), panel="one")
        found["rank"] = client.rank([[["a"], ["b"]], [["b"], ["a"]], [["a"], ["b"]]])
        found["peers"] = client.peers([{"question_id": "q", "evaluator": "a", "ranking": [["b"], ["a"]]}])
        found["audit"] = client.audit(records(DATA / "many.jsonl")[:12])
        found["assessments"] = [
            [one.judgment_id, one.final_score, one.accepted] for one in client.assessments(judge="kestrel-mini")
        ]
        found["reviews"] = sorted(
            [one["review"]["subject_id"], one["status"]] for one in client.reviews(category="Math")
        )
        review = open_reviews(api)[0]
        found["claim"] = client.claim(review, "ada")["state"]
        found["decide"] = client.decide(review, "ada", outcome="approve")["state"]
        found["error"] = _error(client)
    for name, one in found.items():
        api.kept[f"client/{name}"] = {"route": None, "found": same(one)}


def _error(client: Client) -> dict[str, Any]:
    try:
        client.request("GET", "/v1/policies/nothing")
    except Exception as error:
        return {"type": type(error).__name__, "status": getattr(error, "status", None)}
    raise AssertionError("a policy that does not exist was found")


def without_a_store(matcher: Matcher, kept: dict[str, Any]) -> None:
    """A service that keeps nothing and has no keys."""
    with service() as client:
        api = Visitor(client, matcher, kept)
        for name in ("assessments", "reviews", "outcomes", "policies", "changes", "monitor", "jobs"):
            api.ask(f"no_store/{name}", "GET", f"/v1/{name}")
        api.ask("no_store/vet", "POST", "/v1/vet", json=judgments()[0])
        api.see("no_store/start", "/")
