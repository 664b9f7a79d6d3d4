"""``metajudge case`` as a user runs it, against a server that speaks the providers' protocols."""

import asyncio
import json

import pytest

from metajudge.errors import BadLineError, ConfigurationError, InputError, PolicyError
from metajudge.reviews.queue import ReviewFilter
from metajudge.store import open_store
from tests.doubles.cases import RELEVANCE, by_stage, flood
from tests.doubles.llm_server import LLMServer
from tests.doubles.webhook_receiver import Receiver


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.jsonl"
    given = [flood("climate-1"), flood("rules-1", type="regulatory"), flood("world-1", type="geopolitical")]
    path.write_text("".join(one.model_dump_json() + "\n" for one in given))
    return path


def judge(server, name="mini"):
    return ("--judge", f"{name}=openai:gpt-4o-mini@{server.url}")


def test_a_judge_that_fails_is_reported_recorded_and_asked_again(run, tmp_path):
    (tmp_path / "case.json").write_text(flood().model_dump_json())
    down = [True]
    with LLMServer(by_stage, faults=lambda _: "401" if down else None) as server:
        failed = run("case", "case.json", *judge(server))
        assert failed.exit_code == 1
        assert "REVIEW_PRIORITY" in failed.stdout
        assert "Judges' failures" in failed.stdout
        down.clear()
        again = run("case", "case.json", *judge(server))
    assert again.exit_code == 0, again.stdout
    assert "APPROVE" in again.stdout


def test_bad_cases_are_set_aside_with_reasons_and_the_others_judged(run, cases, tmp_path):
    with cases.open("a") as file:
        file.write(flood("cyber-1", type="cyber").model_dump_json() + "\n")
        file.write('{"id": "half"\n')
        file.write('{"id": "empty", "type": "climate", "stages": []}\n')
    with LLMServer(by_stage) as server:
        done = run("case", cases, *judge(server), "--out", "out.jsonl")
        asked = server.count
        with pytest.raises(BadLineError, match=r"first of 3 bad lines"):
            run("case", cases, *judge(server), "--out", "strict.jsonl", "--store", "strict.duckdb", "--strict")
        assert server.count == asked
    assert done.exit_code == 0
    assert "3 cases could not be judged" in done.stdout
    reasons = [json.loads(line)["reason"] for line in (tmp_path / "out.jsonl.rejects.jsonl").read_text().splitlines()]
    assert "no weight profile for type 'cyber'" in reasons[0]
    assert "half a JSON object" in reasons[1]
    assert "stages" in reasons[2]


def test_a_users_mistakes_end_the_run_before_anything_is_sent(run, cases, tmp_path):
    with pytest.raises(ConfigurationError, match="no judge"):
        run("case", cases)
    with pytest.raises(InputError, match="no such file"):
        run("case", "nowhere.json", "--judge", "openai:gpt-4o-mini")
    with pytest.raises(PolicyError, match="is for verdicts"):
        run("case", cases, "--judge", "openai:gpt-4o-mini", "--policy", "verdict")
    with pytest.raises(PolicyError, match="unknown policy"):
        run("case", cases, "--judge", "openai:gpt-4o-mini", "--policy", "risk")
    (tmp_path / "other.jsonl").write_text(flood("climate-1", type="regulatory").model_dump_json())
    with pytest.raises(InputError, match="one content at"):
        run("case", cases, "other.jsonl", "--judge", "openai:gpt-4o-mini")
    (tmp_path / "bad.json").write_text("{]")
    with pytest.raises(InputError, match="not one JSON document"):
        run("case", "bad.json", "--judge", "openai:gpt-4o-mini")


@pytest.mark.slow
def test_decisions_are_sent_to_a_webhook_once(run, cases, monkeypatch):
    monkeypatch.setenv("METAJUDGE_WEBHOOK_SECRET", "a secret of many characters")
    with LLMServer(by_stage) as server, Receiver(503, 200) as receiver:
        first = run("case", cases, *judge(server), "--webhook", receiver.url)
        again = run("case", cases, *judge(server), "--webhook", receiver.url)
        assert len(receiver.requests) == 4  # three decisions, one of them twice
    assert "Webhook: 3 delivered, 0 before, 0 failed." in first.stdout
    assert "Webhook: 0 delivered, 3 before, 0 failed." in again.stdout
    body = json.loads(receiver.requests[-1][2])
    assert (body["type"], body["data"]["action"]) == ("outcome.approved", "APPROVE")
    assert "north bank" not in json.dumps(body)


def test_a_webhook_that_refuses_is_told_and_tried_again_by_the_next_run(run, cases, monkeypatch):
    monkeypatch.setenv("METAJUDGE_WEBHOOK_SECRET", "a secret of many characters")
    with LLMServer(by_stage) as server, Receiver(404) as receiver:
        done = run("case", cases, *judge(server), "--webhook", receiver.url)
        assert done.exit_code == 1
        assert "0 delivered, 0 before, 3 failed" in done.stdout
        receiver.answers = [200]
        assert "3 delivered" in run("case", cases, *judge(server), "--webhook", receiver.url).stdout


def test_a_webhook_without_a_secret_ends_before_anything_is_asked(run, cases):
    with LLMServer(by_stage) as server:
        with pytest.raises(ConfigurationError, match="METAJUDGE_WEBHOOK_SECRET"):
            run("case", cases, *judge(server), "--webhook", "https://example.org/hook")
        assert server.count == 0


def test_simulating_a_stricter_policy_on_judged_cases(run, cases, tmp_path):
    from importlib.resources import files

    text = files("metajudge.rubric_files.policies").joinpath("risk_analysis.yaml").read_text("utf-8")
    (tmp_path / "strict.yaml").write_text(text.replace("8.5", "8.9").replace("name: risk_analysis", "name: strict", 1))
    with LLMServer(by_stage) as server:
        run("case", cases, *judge(server))
        asked = server.count
        same = json.loads(run("policy", "simulate", "risk_analysis", "--json").stdout)
        strict = run("policy", "simulate", "strict.yaml", "--on", "metajudge.duckdb")
        assert server.count == asked
    assert (same["total"], same["changed"]) == (3, 0)
    assert "APPROVE -> REVIEW" in strict.stdout
    assert "climate-1: value 8.737, confidence 0.9038" in strict.stdout
    against = json.loads(
        run("policy", "simulate", "strict.yaml", "--against", "risk_analysis", "--json", "--examples", "1").stdout
    )
    assert against["changed"] == against["total"] == 3
    assert [len(row["examples"]) for row in against["transitions"]] == [1]


@pytest.mark.slow
def test_what_the_policy_sends_to_people_waits_in_the_queue_once(run, cases, tmp_path):
    low = {name: (score, 0.5) for name, (score, _) in RELEVANCE.items()}
    with LLMServer(lambda body: by_stage(body, relevance=low)) as server:
        first = run("case", cases, *judge(server))
        again = run("case", cases, *judge(server), "--json")
    assert "3 are waiting for review" in first.stdout
    assert json.loads(again.stdout)["reviews"] == 0
    taken = json.loads(run("review", "next", "--reviewer", "ada", "--json").stdout)
    assert taken["action"] == "REVIEW"
    assert taken["subject"] == "case"
    assert "north bank" in json.dumps(taken["responses"])
    shown = run("review", "show", taken["review_id"]).stdout
    assert "A flood warning was issued for the north bank." in shown
    assert "completeness" in shown  # the judges' scores and reasons, where the policy does not ask for blindness
    assert run("review", "decide", taken["review_id"], "--reviewer", "ada", "--outcome", "approve").exit_code == 0


@pytest.mark.slow
def test_an_audited_share_of_approved_cases_waits_after_the_doubtful_ones_with_its_probability(run, tmp_path):
    given = [flood(f"climate-{number}") for number in range(40)]
    (tmp_path / "many.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in given))
    with LLMServer(by_stage) as server:
        done = json.loads(run("case", "many.jsonl", *judge(server), "--audit-share", "0.3", "--json").stdout)
        again = json.loads(run("case", "many.jsonl", *judge(server), "--audit-share", "0.3", "--json").stdout)
    assert done["actions"] == {"APPROVE": 40}
    assert 4 <= done["reviews"] <= 20
    assert again["reviews"] == 0
    assert "APPROVE" not in run("review", "list", "--json").stdout  # the review sample is decided blind
    assert asyncio.run(_kept(tmp_path / "metajudge.duckdb")) == {("audit", 0.3, 2, "APPROVE")}
    with pytest.raises(ConfigurationError, match=r"in \[0, 1\], not 1\.5"):
        run("case", "many.jsonl", "--judge", "openai:gpt-4o-mini", "--audit-share", "1.5")


async def _kept(path):
    store = await open_store(path)
    try:
        page = await store.reviews.page(ReviewFilter(), now=1.0, limit=100)
    finally:
        await store.close()
    found = [one.review for one in page.reviews]
    return {(one.origin.value, one.inclusion, one.priority, one.action) for one in found}


@pytest.mark.slow
def test_a_corrected_score_of_a_case_is_never_lost_to_a_misspelt_criterion_or_another_scale(run, cases):
    low = {name: (score, 0.5) for name, (score, _) in RELEVANCE.items()}
    with LLMServer(lambda body: by_stage(body, relevance=low)) as server:
        run("case", cases, *judge(server))
    taken = json.loads(run("review", "next", "--reviewer", "ada", "--json").stdout)["review_id"]
    decide = ("review", "decide", taken, "--reviewer", "ada", "--outcome", "modify", "--score")
    with pytest.raises(InputError, match="did you mean completeness"):
        run(*decide, "completness=4")
    with pytest.raises(InputError, match="off the scale from 0 to 10"):
        run(*decide, "completeness=11")
    assert run(*decide, "completeness=4", "--reason", "half is missing").exit_code == 0


@pytest.mark.slow
def test_a_case_is_shown_with_its_policy_calls_and_review_and_can_be_forgotten(run, cases):
    low = {name: (score, 0.5) for name, (score, _) in RELEVANCE.items()}
    with LLMServer(lambda body: by_stage(body, relevance=low)) as server:
        run("case", cases, *judge(server))
        shown = json.loads(run("show", "climate-1", "--json").stdout)
        (record,) = shown["audit_log"]
        assert record["payload"]["decision"]["policy_digest"] in shown["policies"]
        assert record["payload"]["rubric_digest"]
        assert len(shown["calls"]) == shown["calls_total"] == 2
        assert "About completeness." in json.dumps(shown["calls"])
        assert "north bank" in json.dumps(shown["reviews"])

        assert run("forget", "climate-1", "--yes").exit_code == 0
        after = json.loads(run("show", "climate-1", "--json").stdout)
        assert "north bank" not in json.dumps(after)
        assert "About completeness." not in json.dumps(after)
        assert after["audit_log"][0]["payload"]["overall_quality_score"] is not None
        other = json.loads(run("show", "rules-1", "--json").stdout)
        assert "About completeness." in json.dumps(other["calls"]), "another case's replies stay"
        assert "north bank" in json.dumps(other["reviews"])
        assert run("forget", "climate-1", "--yes").exit_code == 2


def test_an_approved_case_can_be_forgotten_though_nobody_reviews_it(run, cases):
    with LLMServer(by_stage) as server:
        run("case", cases, *judge(server))
    assert run("forget", "climate-1", "--yes").exit_code == 0
    assert "About completeness." not in run("show", "climate-1", "--json").stdout
