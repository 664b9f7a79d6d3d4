"""The Inspect adapter: pure parts here, and a real ``inspect eval`` with scripted models in the slow tests."""

import json
import math
import os
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from metajudge.errors import ConfigurationError
from tests.doubles.llm_server import LLMServer, score_answer

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of inspect_ai's own dependencies, at import
    pytest.mark.slow,  # importing inspect_ai takes seconds
    pytest.mark.skipif(
        find_spec("inspect_ai") is None, reason="inspect_ai is not installed: pip install 'metajudge-vet[inspect]'"
    ),
]
TASK = """
import os
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import model_graded_qa
from metajudge.adapters.inspect import vetted

def said(text):
    output = ModelOutput.from_content("scripted", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else a tokenizer is downloaded
    return output

def model(name, text):
    return get_model(f"mockllm/{name}", custom_outputs=lambda *_given, **_options: said(text))

@task
def capitals(when_discarded: str = "unscored"):
    return Task(
        dataset=[Sample(id=name, input=f"The capital of {name}?", target="Paris") for name in ("France", "Peru", "Mali")],
        model=model("answers", "Paris"),
        scorer=vetted(
            model_graded_qa(model=model("grader", "It says Paris.\\nGRADE: C")),
            agents=[f"openai:gpt-4o-mini@{os.environ['META']}"],
            judge="grader",
            when_discarded=when_discarded,
        ),
    )
"""


def state(**changes):
    given = {"sample_id": 7, "epoch": 2, "input_text": "The capital of France?"}
    return SimpleNamespace(**{**given, "output": SimpleNamespace(completion="Paris"), **changes})


def score(value="C", **changes):
    from inspect_ai.scorer import Score

    return Score(value=value, answer="Paris", explanation="It says Paris.", **changes)


@pytest.mark.parametrize(
    ("value", "grade"), [("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0), (0.25, 0.25), (True, 1.0), (7, 7.0)]
)
def test_a_score_becomes_a_graded_judgment(value, grade):
    from metajudge.adapters.inspect import judgment_of

    found = judgment_of(state(), SimpleNamespace(text="Paris"), score(value), "grader")
    assert found.verdict.value == grade
    assert (found.id, found.item.id, found.judge) == ("7/2", "7", "grader")
    assert (found.item.reference, found.item.responses, found.rationale) == ("Paris", {"A": "Paris"}, "It says Paris.")


def test_another_word_is_a_category():
    from metajudge.adapters.inspect import CATEGORY_INSTRUCTION, judgment_of

    found = judgment_of(state(), SimpleNamespace(text="Paris"), score("relevant "), "grader")
    assert (str(found.verdict), found.instruction) == ("relevant", CATEGORY_INSTRUCTION)


@pytest.mark.parametrize(("value", "said"), [(" ", "empty text"), ([1, 2], "list"), (math.nan, "gave no grade")])
def test_a_score_that_is_no_grade_is_a_reason_and_not_a_number(value, said):
    from metajudge.adapters.inspect import judgment_of

    found = judgment_of(state(), SimpleNamespace(text=""), score(value), "grader")
    assert found.verdict is None
    assert said in found.no_verdict


def test_a_scorer_without_anybody_to_ask_is_refused():
    from inspect_ai.scorer import match

    from metajudge.adapters.inspect import vetted

    with pytest.raises(ConfigurationError, match="a single grade has no free evidence"):
        vetted(match())
    with pytest.raises(ConfigurationError, match="when_discarded is 'unscored' or 'keep'"):
        vetted(match(), agents=["openai:a"], when_discarded="drop")


@pytest.mark.parametrize("when_discarded", ["unscored", "keep"])
def test_a_real_inspect_eval_with_scripted_models(tmp_path, when_discarded):
    (tmp_path / "capitals.py").write_text(TASK)

    def answer(body):
        return score_answer(2 if "capital of Peru" in json.dumps(body) else 5)(body)

    with LLMServer(answer=answer) as server:
        env = {**os.environ, "META": server.url, "OPENAI_API_KEY": "sk-test", "XDG_CONFIG_HOME": str(tmp_path)}
        command = [sys.executable, "-m", "inspect_ai", "eval", "capitals.py", "--display", "plain"]
        command += ["--log-format", "json", "--log-dir", "logs", "-T", f"when_discarded={when_discarded}"]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert server.count == 3
    (log,) = (tmp_path / "logs").glob("*.json")
    found = json.loads(log.read_text())
    assert found["status"] == "success", found.get("error")
    (scored,) = found["results"]["scores"]
    kept = when_discarded == "keep"
    assert (scored["scored_samples"], scored["unscored_samples"]) == ((3, 0) if kept else (2, 1))
    for sample in found["samples"]:
        one = sample["scores"]["metajudge_vetted"]
        said = one["metadata"]["metajudge"]
        peru = sample["id"] == "Peru"
        assert said["accepted"] is not peru
        assert said["grade"] == "C"
        assert said["final_score"] == (2.0 if peru else 5.0)
        assert ("discards" if peru else "keeps") in one["explanation"]
        assert one.get("reason") == ("metajudge_discarded" if peru and not kept else None)
