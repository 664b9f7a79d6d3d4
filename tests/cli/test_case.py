"""``metajudge case`` as a user runs it, against a server that speaks the providers' protocols."""

import json

import pytest

from metajudge.errors import ConfigurationError
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
        strict = run("policy", "simulate", "strict.yaml", "--on", "metajudge.db")
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
