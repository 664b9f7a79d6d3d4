"""``metajudge feedback`` from people's decisions to an activated policy, as a team uses it."""

import asyncio
import json

import pytest

from metajudge.decision.load import load_policy
from metajudge.store import open_store
from tests.doubles.decided_cases import crowd
from tests.feedback.test_loop import decided

pytestmark = pytest.mark.slow  # every test is a process of its own, or several


@pytest.fixture
def reviewed(metajudge):
    """A store in which people found the policy too lenient."""

    async def fill():
        store = await open_store(metajudge.folder / "metajudge.duckdb")
        await decided(store, crowd(800, 6, bias=0.25))
        await store.close()

    asyncio.run(fill())
    return metajudge


def test_report_propose_backtest_activate_history(reviewed):
    report, code = reviewed.json("feedback", "report")
    assert (code, report["cases"]) == (0, 800)
    rate = report["overall"]["false_approve_rate"]
    assert rate["low"] < rate["value"] < rate["high"]
    assert rate["met"] is False

    done = reviewed("feedback", "propose")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing was changed" in done.stdout
    history, _ = reviewed.json("feedback", "history")
    (better, *_) = [one for one in history["proposals"] if one["status"] == "proposed"]
    refused = [one for one in history["proposals"] if one["status"] == "refused"]
    assert reviewed("feedback", "backtest", better["proposal_id"]).returncode == 0
    if refused:
        done = reviewed("feedback", "activate", refused[0]["proposal_id"], "--by", "ada")
        assert done.returncode == 2
        assert "is refused" in done.stderr

    done = reviewed("feedback", "activate", better["proposal_id"], "--by", "ada", "--reason", "too lenient")
    assert "is in force, activated by ada" in done.stdout
    history, _ = reviewed.json("feedback", "history")
    (activation,) = history["activations"]
    assert (activation["by"], activation["reason"]) == ("ada", "too lenient")
    assert activation["backtest"]["better"] is True
    assert activation["base_digest"] == load_policy("verdict").digest
    assert "too lenient" in reviewed("feedback", "history").stdout


def test_a_decision_that_makes_it_enough_has_patterns_looked_for(reviewed):
    rows = [{"review_id": "c0", "reviewer": "ada", "outcome": "approve"}]
    (reviewed.folder / "one.jsonl").write_text(json.dumps(rows[0]) + "\n")
    done = reviewed("review", "import", "one.jsonl")  # it is there already, or contradicts: either way nothing is lost
    if done.returncode == 0:
        assert "changes of policy were tested" in done.stderr
        assert "nothing was changed" in done.stderr
    else:
        assert "already decided" in done.stderr


def test_nothing_decided_yet(metajudge):
    async def empty():
        await (await open_store(metajudge.folder / "metajudge.duckdb")).close()

    asyncio.run(empty())
    done = metajudge("feedback", "propose")
    assert done.returncode == 2
    assert "metajudge review next" in done.stderr
    report = metajudge("feedback", "report")
    assert report.returncode == 0
    assert "no data" in report.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("activate", "nope", "--by", "ada"), "there is no proposal 'nope'"),
        (("report", "--policy", "nope"), "unknown policy 'nope'"),
        (("report", "--store", "nowhere.duckdb"), "no such store"),
    ],
)
def test_a_users_mistake(reviewed, arguments, message):
    done = reviewed("feedback", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_disagreements_are_listed_in_both_directions_with_reasons(reviewed):
    found, code = reviewed.json("feedback", "disagreements")
    rows = found["disagreements"]
    assert code == 0
    report, _ = reviewed.json("feedback", "report")
    counts = {way: sum(row["direction"] == way for row in rows) for way in report["disagreements"]}
    assert counts == report["disagreements"]
    assert all(counts[way] for way in ("too_lenient", "too_strict"))
    assert {"reviewer", "reason", "outcome"} <= set(rows[0]["decisions"][0])
    only, _ = reviewed.json("feedback", "disagreements", "--direction", "too_strict")
    assert {row["direction"] for row in only["disagreements"]} == {"too_strict"}
    assert "reject by ada" in reviewed("feedback", "disagreements").stdout
    wrong = reviewed("feedback", "disagreements", "--direction", "lenient")
    assert wrong.returncode == 2
    assert "too_lenient" in wrong.stderr


def test_kept_reports_are_listed_and_evidence_is_shown_by_name(reviewed):
    assert "--save" in reviewed("feedback", "snapshots").stdout
    assert reviewed("feedback", "report", "--save").returncode == 0
    found, _ = reviewed.json("feedback", "snapshots", "--policy", "verdict")
    (kept,) = found["snapshots"]
    assert kept["cases"] == 800
    assert "false approve rate" in reviewed("feedback", "snapshots").stdout
    proposals, _ = reviewed.json("feedback", "propose")
    better = next(one for one in proposals["proposals"] if one["status"] == "proposed")["proposal_id"]
    reviewed("feedback", "backtest", better)
    reviewed("feedback", "activate", better, "--by", "ada")
    shown = json.loads(reviewed("show", better, "--json").stdout)
    assert [one["kind"] for one in shown["audit_log"]] == ["proposal", "backtest", "activation"]
    assert len(shown["audit_log"][0]["payload"]["cases"]) == 800
