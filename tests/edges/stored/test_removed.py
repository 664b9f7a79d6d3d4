"""Records of what later versions do without: they are still listed, shown and exported."""

import json

import pytest

from tests.edges.recorded import check, steady
from tests.edges.stored.stores import compared, expected_results, plain, records
from tests.stored.commands import run

EXPECTED = expected_results()["removed"]["results"]
ON = ["file", pytest.param("postgres", marks=pytest.mark.slow)]
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
