"""Candidates as full configurations: what is read, what is asked, what judges never see."""

import asyncio
import json

import pytest

from metajudge.clashes.clash import Clash, Judge, Place
from metajudge.clashes.run import clash
from metajudge.clashes.setup import CandidateSpec, load_candidates
from metajudge.errors import ConfigurationError
from metajudge.judging.answers import Candidate
from metajudge.panels.config import load_panel_file
from metajudge.providers.model import Parameters
from metajudge.providers.scripted import ScriptedModel
from metajudge.session import Session
from tests.doubles.llm_server import LLMServer, requested_schema
from tests.doubles.ranking import question, ranks_by, shown_in

FILE = """
[criteria]
model = "vllm:namer"
price = { input = 0.1, output = 0.1 }

[[agents]]
model = "openai:judge-1"

[[candidates]]
name = "terse"
model = "openai:small"
system = "Answer in one word only, please."
temperature = 0.2
price = { input = 1.0, output = 2.0 }

[[candidates]]
name = "warm"
model = "openai:small"
system = "Answer like a kind teacher would."
headers = { X-Team = "blue" }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "clash.toml"
    path.write_text(FILE)
    return path


class TestReading:
    def test_one_file_has_judges_and_candidates(self, file):
        found = load_panel_file(file)
        assert [one.model for one in found.agents] == ["openai:judge-1"]
        assert [one.name for one in found.candidates] == ["terse", "warm"]
        assert (found.criteria.model, found.criteria.price.output) == ("vllm:namer", 0.1)
        assert load_candidates(file) == found.candidates

    def test_a_panel_file_of_agents_serves_as_candidates(self, tmp_path):
        path = tmp_path / "c.toml"
        path.write_text('[[agents]]\nmodel = "vllm:mine@http://localhost:9/v1"\nprice = { input = 0, output = 0 }\n')
        (one,) = load_candidates(path)
        spec = CandidateSpec.of(one)
        assert spec.price is not None
        assert (spec.name, spec.model) == ("mine", "mine")

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("x = [", "not valid TOML"),
            ("seed = 1", "names no candidate"),
            ('[[candidates]]\nmodel = "openai:m"\nrubric = "long"', r"candidates\.0: rubric: a candidate answers"),
            ('[[candidates]]\nmodel = "openai:m"\nheaders = { Authorization = "s3cret" }', "secret"),
        ],
    )
    def test_what_is_wrong_is_said_without_secrets(self, tmp_path, text, problem):
        path = tmp_path / "c.toml"
        path.write_text(text)
        with pytest.raises(ConfigurationError, match=problem) as caught:
            load_candidates(path)
        assert "s3cret" not in str(caught.value)


class TestKeys:
    def test_prompts_and_headers_are_in_the_key_and_their_absence_changes_nothing(self):
        def key(**changes):
            candidate = Candidate("a", ScriptedModel("x", name="m"), **changes)
            made = Clash(judges=(Judge("j", ranks_by(len)),), candidates=(candidate,))
            return Place().key(question(), made)

        plain = key()
        assert key(system="") == plain
        others = {key(system="Be brief."), key(system="Be kind."), key(parameters=Parameters(headers=(("X-A", "1"),)))}
        assert len({plain, *others}) == 4


def test_two_prompts_of_one_model_are_two_candidates_and_judges_see_neither(file, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def answer(body):
        schema = requested_schema(body)
        if schema is None:
            prompts = [one["content"] for one in body["messages"] if one["role"] != "user"]
            return f"My instructions: {prompts[0]}" if "kind" in prompts[0] else "Yes."
        texts = shown_in(body["messages"][-1]["content"])
        grade = {"reason": "r", "score": 4}
        scores = {label: {f"c{n}": grade for n in range(1, 5)} for label in texts}
        return json.dumps({"scores": scores, "analysis": "c", "ranking": list(texts)})

    async def run(server):
        panel = load_panel_file(file)
        moved = [one.model_copy(update={"model": f"{one.model}@{server.url}"}) for one in panel.candidates]
        judge = panel.agents[0].model_copy(update={"model": f"openai:judge-1@{server.url}"})
        asked = {"agents": (judge,), "candidates": tuple(moved), "criteria": None}
        async with Session(panel=panel.model_copy(update=asked)) as session:
            return await clash(session, ["Is it so?"], max_tokens=50)  # the panel's own candidates

    with LLMServer(answer=answer) as server:
        (record,) = asyncio.run(run(server)).records
        bodies, requests = server.bodies, server.requests
    terse, warm = record.candidates
    assert (terse.name, warm.name) == ("terse", "warm")
    assert terse.text == "Yes."
    assert "kind teacher" in warm.text  # kept as it is in the record
    assert terse.cost_usd is not None
    assert warm.cost_usd is None
    asked = [body for body in bodies if requested_schema(body) is None]
    assert sorted(body.get("temperature", 1) for body in asked) == [0.2, 1]
    ranked = json.dumps([body["messages"] for body in bodies if requested_schema(body)])
    assert len(ranked) > 2
    assert not any(word in ranked for word in ("kind teacher", "one word only", "terse", "warm"))
    assert any(one.headers.get("x-team") == "blue" for one in requests)
