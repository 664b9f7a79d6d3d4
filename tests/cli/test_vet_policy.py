"""``metajudge vet --policy``: decisions on top of what was vetted, and never a model asked for one."""

import json

import pytest

from metajudge.decision import Policy, load_policy
from metajudge.errors import ConfigurationError, PolicyError
from metajudge.readers import write_jsonl
from tests.doubles.jsonl import lines
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.reviewables.planted import in_store


@pytest.fixture
def given(tmp_path):
    path = tmp_path / "judgments.jsonl"
    write_jsonl(path, [judgment(f"j{number}") for number in range(3)])
    return path


def agents(server, count=2):
    return [part for n in range(count) for part in ("--agent", f"a{n}=openai:model-{n}@{server.url}")]


def test_every_assessment_gets_a_decision_and_a_second_policy_asks_nobody(run, given, tmp_path):
    with LLMServer(score_answer(5)) as server:
        first = run("vet", given, *agents(server), "--policy", "verdict_score", "--out", "first.jsonl")
        asked = server.count
        second = run("vet", given, *agents(server), "--policy", "verdict", "--out", "second.jsonl", "--json")
        plain = run("vet", given, *agents(server), "--no-early-exit", "--out", "plain.jsonl")
        assert server.count == asked == 6
    assert first.exit_code == second.exit_code == plain.exit_code == 0
    assert "Decided by policy verdict_score" in first.stdout
    assert "3 APPROVE" in first.stdout
    policy = load_policy("verdict_score")
    for row in lines(tmp_path / "first.jsonl"):
        decision = row["decision"]
        assert (decision["action"], decision["policy"]) == ("APPROVE", "verdict_score")
        assert decision["policy_digest"] == policy.digest
    assert json.loads(second.stdout)["decisions"] == {"REVIEW_PRIORITY": 3}
    missing = lines(tmp_path / "second.jsonl")[0]["decision"]
    assert "without a calibration" in missing["inputs"]["absent"]["value"]
    assert all("decision" not in row for row in lines(tmp_path / "plain.jsonl"))


def test_a_policy_switches_early_exit_off(run, given, tmp_path):
    with LLMServer(score_answer(1)) as server:
        command = ("vet", given, *agents(server, 3), "--strategy", "majority_vote")
        run(*command, "--out", "early.jsonl")
        early = server.count
        run(*command, "--policy", "verdict_score", "--out", "a.jsonl")
        assert early == 6
        assert server.count == 9, "only those not asked before are asked"
    assert all(row["final_score"] == 1.0 for row in lines(tmp_path / "a.jsonl"))
    assert {row["decision"]["action"] for row in lines(tmp_path / "a.jsonl")} == {"REJECT"}


def test_a_policy_that_does_not_fit_ends_the_run_before_anything_is_asked(run, given, tmp_path):
    with LLMServer(score_answer(5)) as server:
        with pytest.raises(ConfigurationError, match="is for cases"):
            run("vet", given, *agents(server), "--policy", "risk_analysis")
        with pytest.raises(PolicyError, match="did you mean verdict"):
            run("vet", given, *agents(server), "--policy", "verdct")
        data = load_policy("verdict_score").model_dump(mode="json")
        data["scale"] = {"low": 0, "high": 5}
        (tmp_path / "mine.yaml").write_text(json.dumps(data))
        with pytest.raises(ConfigurationError, match=r"scores from 0\.\.5, and the panel's go from 1 to 5"):
            run("vet", given, *agents(server), "--policy", "mine.yaml")
        with pytest.raises(ConfigurationError, match="is for cases"):
            run("vet", given, *agents(server), "--rubric", "risk_analysis")
        assert server.count == 0


def test_the_content_of_a_policy_stays_in_the_store_when_its_file_is_gone(run, given, tmp_path):
    (tmp_path / "mine.yaml").write_text(load_policy("verdict_score").model_dump_json().replace("verdict_score", "mine"))
    with LLMServer(score_answer(5)) as server:
        run("vet", given, *agents(server), "--policy", "mine.yaml", "--out", "a.jsonl")
        (tmp_path / "mine.yaml").unlink()
        again = run("vet", given, *agents(server), "--policy", "mine", "--out", "b.jsonl")
    assert again.exit_code == 0
    digest = lines(tmp_path / "b.jsonl")[0]["decision"]["policy_digest"]
    assert digest == lines(tmp_path / "a.jsonl")[0]["decision"]["policy_digest"]
    (entry,) = in_store(tmp_path / "metajudge.db", lambda store: store.audit_log.entries("policy", "mine"))
    assert Policy.model_validate(entry.payload["policy"]).digest == digest
