"""The promptfoo adapter, called as promptfoo calls a Python file: loaded by its path, JSON in, JSON out."""

import json
import subprocess
import sys

import pytest

from metajudge.adapters.promptfoo import call_api, get_assert
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

VARS = {"question": "What is 2 + 2?", "answer_a": "4", "answer_b": "5"}
RESPONSES = {"A": "answer_a", "B": "answer_b"}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with LLMServer() as running:
        yield running


def context(server=None, variables=VARS, **config):
    agents = {} if server is None else {"agents": [f"openai:gpt-4o-mini@{server.url}"]}
    return {"prompt": "Judge.", "vars": variables, "config": {"responses": RESPONSES, **agents, **config}}


@pytest.mark.parametrize(
    "output",
    [
        '{"verdict": "A>B", "rationale": "4 is right"}',
        '```json\n{"verdict": "A>>B", "reason": "4 is right"}\n```',
        {"winner": "A", "explanation": "4 is right"},
        "4 is right, 5 is wrong. [[A>B]]",
    ],
)
def test_a_verdict_is_read_as_judges_give_it_and_vetted(server, output):
    found = get_assert(output, context(server))
    assert found["pass"] is True
    assert found["score"] == 1.0
    assert "metajudge keeps the judgment" in found["reason"]
    assert found["metadata"]["metajudge"]["accepted"] is True
    assert "4 is right" in str(server.bodies[-1])
    json.dumps(found)


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ('{"grade": 4, "reason": "adds up"}', "4"),
        ({"pass": True, "score": 0.8, "reason": "adds up"}, "0.8"),
        ({"pass": False, "reason": "adds up"}, "false"),
        ({"label": "relevant", "reason": "adds up"}, "relevant"),
    ],
)
def test_a_grade_or_category_of_a_single_response_is_vetted(server, output, verdict):
    found = get_assert(output, context(server, responses={"A": "answer_a"}))
    assert found["pass"] is True
    assert f"\\n{verdict}: the " in json.dumps(server.bodies[-1])


def test_a_discarded_verdict_fails_with_its_score(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with LLMServer(answer=score_answer(2)) as server:
        found = get_assert({"verdict": "B>A"}, context(server))
    assert (found["pass"], found["score"]) == (False, 0.25)


def test_an_undecided_verdict_fails_unless_told_otherwise(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with LLMServer(answer=lambda _body: "no JSON") as server:
        assert get_assert({"verdict": "A>B"}, context(server))["pass"] is False
        found = get_assert({"verdict": "A>B"}, context(server, undecided_passes=True))
    assert found["pass"] is True
    assert "could not decide" in found["reason"]


@pytest.mark.parametrize(
    ("output", "given", "said"),
    [
        ("I like both.", context(), "contains no verdict that can be read"),
        ({"verdict": "C>A"}, context(), "verdict"),
        ("Fine.", context(responses={"A": "answer_a"}), "contains no grade or category that can be read"),
        ({"verdict": "A>B"}, context(variables={"question": "q", "answer_a": "4"}), "no variable 'answer_b'"),
        ({"verdict": "A>B"}, context(question="prompt"), "no variable 'prompt'"),
        ({"verdict": "A>B"}, context(agent="openai:a"), "has no option agent"),
        ({"verdict": "A>B"}, context(agents=["opnai:a"]), "did you mean 'openai'"),
        ({"verdict": "A>B"}, context(responses=["A", "B"]), "is a mapping of response id to variable"),
        ({"verdict": "A>B"}, {}, "no variable"),
    ],
)
def test_what_is_wrong_is_the_reason_and_never_a_pass(output, given, said):
    found = get_assert(output, given)
    assert (found["pass"], found["score"]) == (False, 0.0)
    assert said in found["reason"]


def test_the_provider_answers_with_the_assessment(server):
    config = {"agents": [f"openai:gpt-4o-mini@{server.url}"]}
    found = call_api(judgment().model_dump_json(), {"config": config}, {"vars": {}})
    assert found["output"]["accepted"] is True
    assert found["tokenUsage"]["total"] > 0
    assert found["cost"] > 0
    assert "no judgment in JSON" in call_api("Judge this", {"config": config})["error"]
    assert "question" in call_api('{"id": "j", "item": {"id": "i"}}', {})["error"]


WORKER = """
import json, sys
from metajudge.adapters.promptfoo import get_assert
print(json.dumps(get_assert({"verdict": "A>B", "rationale": sys.argv[2]}, json.loads(sys.argv[1]))))
"""


@pytest.mark.slow
def test_several_workers_share_a_store_and_what_one_paid_for_the_others_know(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with LLMServer(latency_s=0.2) as server:
        shared = context(server, store=str(tmp_path / "vetting.db"))
        rounds = [vetted_by_workers(shared, 6) for _ in range(2)]
    assert [one["pass"] for found in rounds for one in found] == [True] * 12
    assert len(server.bodies) == 6


def vetted_by_workers(shared, count):
    """Each vets a verdict of its own."""
    start = [
        subprocess.Popen([sys.executable, "-c", WORKER, json.dumps(shared), f"reason {n}"], stdout=subprocess.PIPE)
        for n in range(count)
    ]
    return [json.loads(one.communicate(timeout=100)[0]) for one in start]
