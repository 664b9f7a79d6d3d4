"""``metajudge case`` as a user runs it, against a server that speaks the providers' protocols."""

import json

import pytest

from metajudge.errors import BadLineError, ConfigurationError, InputError, PolicyError
from tests.doubles.cases import RELEVANCE, by_stage, flood
from tests.doubles.llm_server import LLMServer


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.jsonl"
    given = [flood("climate-1"), flood("rules-1", type="regulatory"), flood("world-1", type="geopolitical")]
    path.write_text("".join(one.model_dump_json() + "\n" for one in given))
    return path


def judge(server, name="mini"):
    return ("--judge", f"{name}=openai:gpt-4o-mini@{server.url}")


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
    (tmp_path / "other.jsonl").write_text(flood("climate-1", type="regulatory").model_dump_json())
    (tmp_path / "bad.json").write_text("{]")
    judged = ("--judge", "openai:gpt-4o-mini")
    for words, error, said in (
        ((cases,), ConfigurationError, "no judge"),
        (("nowhere.json", *judged), InputError, "no such file"),
        ((cases, *judged, "--policy", "verdict"), PolicyError, "is for verdicts"),
        ((cases, *judged, "--policy", "risk"), PolicyError, "unknown policy"),
        ((cases, "other.jsonl", *judged), InputError, "one content at"),
        (("bad.json", *judged), InputError, "not one JSON document"),
    ):
        with pytest.raises(error, match=said):
            run("case", *words)


def test_a_webhook_without_a_secret_ends_before_anything_is_asked(run, cases):
    with LLMServer(by_stage) as server:
        with pytest.raises(ConfigurationError, match="METAJUDGE_WEBHOOK_SECRET"):
            run("case", cases, *judge(server), "--webhook", "https://example.org/hook")
        assert server.count == 0


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
        with pytest.raises(InputError, match="has no text of an item 'climate-1'"):
            run("forget", "climate-1", "--yes")


def test_an_approved_case_can_be_forgotten_though_nobody_reviews_it(run, cases):
    with LLMServer(by_stage) as server:
        run("case", cases, *judge(server))
    assert run("forget", "climate-1", "--yes").exit_code == 0
    assert "About completeness." not in run("show", "climate-1", "--json").stdout
