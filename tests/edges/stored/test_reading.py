"""What 0.2 stored is read: by every command that reads, of features that are gone, and files of other tools."""

import json

import pytest

from tests.edges.commands import outcome
from tests.edges.recorded import check, numbers, steady
from tests.edges.stored.stores import KINDS, compared, plain, records, unpacked
from tests.stored.commands import inside, run

ON = ["file", pytest.param("postgres", marks=pytest.mark.slow)]
LISTED = [(kind, on) for kind in KINDS for on in ("file", "postgres")]
FAST = {("panels", "file"), ("evidence", "file")}


def marked(pairs):
    return [pytest.param(*one, marks=() if one in FAST else pytest.mark.slow) for one in pairs]


@pytest.mark.parametrize(("kind", "on"), marked(LISTED))
def test_runs_are_listed_and_shown(fresh, kind, on):
    with fresh(kind, on=on):
        listed = run("runs", "--json", "--limit", "100").json()["runs"]
        shown = [run("show", one["run_id"], "--json").json()["runs"] for one in listed]
        texts = [run("show", one["run_id"]).code for one in listed[:2]]
    assert [one[0]["run_id"] for one in shown] == [one["run_id"] for one in listed]
    assert set(texts) == {0}
    wanted = ("command", "status", "summary", "counts", "calls", "judgments")
    rows = [{name: plain(one[name]) for name in wanted if name in one} for one in listed]
    check(f"stored/runs_{kind}", sorted(rows, key=json.dumps))


SHOWN = {
    "panels": ("code-1/osprey-70b/AB", "code-1"),
    "evidence": ("knowledge-1/osprey-70b/AB", "l0/owl/AB"),
    "verdicts": ("climate-1", "knowledge-1", "p0"),
    "people": ("l0/owl/AB", "verdict"),
    "drafts": ("c00", "risk_analysis"),
    "service": ("over-http", "tr-0"),
}


@pytest.mark.parametrize(("kind", "on"), marked((kind, on) for kind in SHOWN for on in ("file", "postgres")))
def test_what_is_stored_under_an_id_is_shown(fresh, kind, on):
    with fresh(kind, on=on):
        done = {name: (run("show", name, "--json"), run("show", name)) for name in SHOWN[kind]}
    found = {}
    for name, (data, text) in done.items():
        shown = json.loads(data.stdout) if data.code == 0 else {}
        counts = {key: len(value) for key, value in shown.items() if isinstance(value, list)}
        ours = [vetted(one) for one in shown.get("assessments") or ()]
        found[name] = [data.code, text.code, counts, sorted(ours, key=json.dumps)]
    check(f"stored/show_{kind}", found)


def vetted(one):
    one = {**one, **one.get("payload", {})}
    names = ("judgment_id", "panel_digest", "status", "final_score", "accepted", "strategy", "route", "rubric")
    return [one.get(name) for name in names] + [one.get("probability"), (one.get("decision") or {}).get("action")]


@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize("kind", ["panels", pytest.param("people", marks=pytest.mark.slow)])
def test_preferences_are_exported(fresh, kind, on):
    with fresh(kind, on=on) as (folder, _):
        done = run("export", "preferences", "--out", "pairs", "--format", "jsonl", "--json")
        assert done.code == 0, done.stderr
        assert run("export", "check", "pairs").code == 0
        rows = records(folder / "pairs" / "data" / "train-00000-of-00001.jsonl")
    kept = [[one.get(name) for name in ("prompt", "chosen", "rejected")] for one in rows]
    check(f"stored/export_{kind}", [*sorted(kept, key=json.dumps)[:12], len(kept)])


@pytest.mark.parametrize("on", ON)
def test_people_go_on_reviewing(fresh, on):
    with fresh("panels", on=on):
        before = reviews()
        given = run("review", "next", "--reviewer", "eve", "--json").json()
        words = ("--reviewer", "eve", "--outcome", "approve", "--json")
        decided = run("review", "decide", given["review_id"], *words)
        twice = run("review", "decide", given["review_id"], *words)
        others = run("review", "decide", given["review_id"], "--reviewer", "eve", "--outcome", "reject")
        after = reviews()
        stats = run("review", "stats", "--json")
    assert (decided.code, twice.code) == (0, 0), decided.stderr + twice.stderr
    statuses = [sorted(one["status"] for one in listed.values()) for listed in (before, after)]
    found = {"given": given["review_id"], "another": others.code, "statuses": statuses}
    found["reviews"] = {name: people(one) for name, one in before.items()}
    check("stored/reviews_panels", found | {"stats": steady(json.loads(stats.stdout)) if stats.code == 0 else None})


def reviews():
    listed = run("review", "list", "--json", "--limit", "1000").json()["reviews"]
    return {one["review"]["review_id"]: one for one in listed}


def people(one):
    """Who said what of a review: decisions, those they replaced, comments and to whom it is assigned."""
    said = [[d["reviewer"], d["outcome"], d.get("blind"), d.get("reason")] for d in one.get("decisions") or ()]
    earlier = [[d.get("reviewer"), d.get("outcome")] for d in one.get("history") or ()]
    remarks = [[c.get("author"), c.get("reviewer"), c.get("text")] for c in one.get("comments") or ()]
    return [
        one["status"],
        said,
        earlier,
        remarks,
        [str(a.get("name", a)) if isinstance(a, dict) else a for a in one.get("assigned") or ()],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("on", ["file", "postgres"])
def test_two_runs_are_compared(fresh, on):
    with fresh("panels", on=on) as (_folder, _):
        ids = [one["run_id"] for one in run("runs", "--json").json()["runs"]]
        done = run("diff", ids[-1], ids[0], "--json")
    check("stored/diff_panels", {"exit": done.code, "json": compared(json.loads(done.stdout))})


@pytest.mark.slow
@pytest.mark.parametrize("on", ["file", "postgres"])
def test_promises_feedback_and_outcomes_of_people_are_read(fresh, on):
    with fresh("people", on=on) as (folder, _):
        for name, words in {
            "monitor": ("monitor", "--json"),
            "report": ("feedback", "report", "--json"),
            "disagreements": ("feedback", "disagreements", "--json"),
            "history": ("feedback", "history", "--json"),
            "outcomes": ("outcomes", "list", "--json", "--limit", "12"),
            "receivers": ("outcomes", "receivers", "--json"),
        }.items():
            check(f"stored/people_{name}", cut(outcome(folder, *words)))


@pytest.mark.slow
def test_what_waits_to_be_sent_is_sent(fresh, models):
    from tests.doubles.webhook_receiver import Receiver

    with fresh("people") as (_folder, _), Receiver() as receiver:
        done = run("outcomes", "send", "--all", "--webhook", receiver.url)
        again = run("outcomes", "send", "--webhook", receiver.url)
        types = sorted(json.loads(body)["type"] for _, _, body in receiver.requests)
    assert (done.code, again.code) == (0, 0), done.stderr
    check("stored/people_sent", {name: types.count(name) for name in set(types)})


@pytest.mark.slow
@pytest.mark.parametrize("on", ["file", "postgres"])
def test_snapshots_and_drafts_are_read(fresh, on):
    with fresh("drafts", on=on) as (folder, _):
        for name, words in {
            "snapshots": ("feedback", "snapshots", "--json"),
            "drafts": ("feedback", "drafts", "--json"),
            "history": ("feedback", "history", "--json"),
            "report": ("feedback", "report", "--policy", "risk_analysis", "--json"),
        }.items():
            check(f"stored/drafts_{name}", cut(outcome(folder, *words)))
        listed = run("feedback", "drafts", "--json").json()["drafts"]
        for one in listed:
            kind, name = one["draft"]["kind"], one["draft"]["draft_id"]
            done = run("feedback", "compare", name, "--json")
            check(f"stored/compared_{kind}", cut({"exit": done.code, "json": steady(done.json())}))


def cut(found, longest=12):
    """Lists of more than a dozen entries by their first ones and their length."""
    if isinstance(found, dict):
        return {name: cut(one, longest) for name, one in found.items()}
    if isinstance(found, list):
        kept = [cut(one, longest) for one in found[:longest]]
        return kept if len(found) <= longest else [*kept, f"{len(found)} in all"]
    return found


@pytest.mark.slow
def test_a_whole_store_is_copied(fresh):
    with fresh("panels"):
        done = run("store", "copy", "store.db", "copied.db", "--json")
        assert done.code == 0, done.stderr
        found = done.json()
        shown = run("runs", "--store", "copied.db", "--json").json()["runs"]
    check("stored/copy_panels", [steady(found.get("tables")), len(shown)])


def test_a_case_is_printed_with_its_figures(place):
    with place("verdicts") as (folder, _):
        check("stored/printed_case", numbers(run("show", "climate-1").stdout, folder))


IDS = {"cascade": "q1/wren/AB", "expected": "code-1/osprey-70b/AB", "unlabelled": "u0/owl/AB"}


@pytest.mark.parametrize("on", ON)
def test_they_are_listed(fresh, on):
    with fresh("removed", on=on):
        listed = run("runs", "--json", "--limit", "100").json()["runs"]
        texts = [run("show", one["run_id"]).code for one in listed[:3]]
        data = [run("show", one["run_id"], "--json").json()["runs"][0] for one in listed]
    assert set(texts) == {0}
    rows = [{"command": one["command"], "status": one["status"], "summary": plain(one.get("summary"))} for one in data]
    check("stored/runs_removed", sorted(rows, key=json.dumps))


@pytest.mark.parametrize("on", ON)
def test_their_results_are_shown_as_they_were(fresh, on):
    with fresh("removed", on=on):
        found = {name: run("show", one, "--json").json() for name, one in IDS.items()}
        texts = {name: run("show", one).code for name, one in IDS.items()}
    assert set(texts.values()) == {0}
    for name, one in found.items():
        kept = [*one["assessments"], *one.get("history", ())]
        check(f"stored/removed_{name}", sorted((assessment(row["payload"]) for row in kept), key=json.dumps))


def test_what_a_cascade_decided_and_the_expected_scores_are_there(fresh):
    with fresh("removed"):
        cascade = run("show", IDS["cascade"], "--json").json()["assessments"]
        expected = run("show", IDS["expected"], "--json").json()["assessments"]
    (decided,) = [one["payload"]["cascade"] for one in cascade if one["strategy"] == "cascade"]
    assert (decided["decided_by"], len(decided["steps"])) == (0, 1)
    models = {agent["model"] for one in expected for agent in one["payload"]["agents"]}
    assert any("tok-1" in one for one in models)
    assert any(one.startswith("tiny#") for one in models), models


@pytest.mark.parametrize("on", ON)
def test_they_are_exported(fresh, on):
    with fresh("removed", on=on) as (folder, _):
        done = run("export", "preferences", "--out", "pairs", "--format", "jsonl", "--json")
        assert done.code == 0, done.stderr
        assert run("export", "check", "pairs").code == 0
        rows = records(folder / "pairs" / "data" / "train-00000-of-00001.jsonl")
    kept = [[one.get(name) for name in ("prompt", "chosen", "rejected")] for one in rows]
    check("stored/export_removed", [*sorted(kept, key=json.dumps)[:12], len(kept)])


@pytest.mark.slow
@pytest.mark.parametrize("on", ["file", "postgres"])
def test_two_of_their_runs_are_compared(fresh, on):
    with fresh("removed", on=on):
        listed = run("runs", "--json", "--limit", "100").json()["runs"]
        first, second = [one["run_id"] for one in listed if one["command"] == "vet"][::-1][:2]
        done = run("diff", first, second, "--json")
    check("stored/diff_removed", {"exit": done.code, "json": compared(json.loads(done.stdout or "{}"))})


def test_a_sweep_of_peers_is_in_the_ballots_and_the_same_consensus_comes_from_them(fresh):
    with fresh("removed") as (_folder, _):
        done = run("peers", "--rankings", "peers_swept.ballots.jsonl", "--resamples", "0", "--json")
    check("stored/peers_from_ballots", {"exit": done.code, "numbers": steady(json.loads(done.stdout or "{}"))})


def assessment(one):
    """The assessment without times, costs and versions."""
    left_out = ("usage", "cost_usd", "latency_s", "metajudge_version", "assessment_id", "run_id", "created_at")
    if isinstance(one, dict):
        return plain({name: assessment(value) for name, value in one.items() if name not in left_out})
    return [assessment(value) for value in one] if isinstance(one, list) else one


FILES = {
    "promptfoo": "tools/promptfoo/results.csv",
    "inspect": "tools/inspect/log.eval",
    "deepeval": "tools/deepeval/test_run.json",
    "alpaca_eval": "tools/alpaca_eval/alpaca-reasons.json",
    "fastchat": "tools/fastchat/gpt-4_pair.jsonl",
    "langfuse": "tools/langfuse",
}


@pytest.fixture
def folder(tmp_path):
    unpacked(tmp_path, "none")
    with inside(tmp_path, "http://127.0.0.1:9"):
        yield tmp_path


@pytest.mark.parametrize("tool", FILES)
def test_a_file_is_read_as_it_was(folder, tool):
    found = run("inspect", FILES[tool], "--json")
    vet = run("vet", FILES[tool], "--out", "out.jsonl", "--json")
    rows = (
        [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()] if vet.code == 0 else []
    )
    names = ("judgment_id", "item_id", "judge", "status", "final_score", "accepted", "category", "judgment_digest")
    read = [[one.get(name) for name in names] + [signals(one)] for one in rows]
    seen = steady(json.loads(found.stdout), folder) if found.stdout.startswith("{") else None
    check(f"stored/tool_{tool}", {"inspect": [found.code, seen], "vet": [vet.code, sorted(read, key=json.dumps)]})


def signals(one):
    return {name: value.get("value") for name, value in (one.get("signals") or {}).items()}
