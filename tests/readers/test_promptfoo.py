import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import Reject, open_judgments


def component(kind: str = "llm-rubric", score: Any = 1, **changes: Any) -> dict[str, Any]:
    entry = {"pass": bool(score), "score": score, "reason": "It greets.", "tokensUsed": {"total": 9}}
    return {**entry, "assertion": {"type": kind, "value": "greets politely"}, **changes}


def result(test: int, number: int, *components: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An ``EvaluateResult``."""
    entry = {
        "id": f"row-{test}-{number}",
        "promptIdx": number,
        "testIdx": test,
        "promptId": "p",
        "provider": {"id": f"openai:model-{number}", "label": ""},
        "prompt": {"raw": f"Greet person {test}", "label": "Greet {{name}}"},
        "vars": {"name": str(test)},
        "response": {"output": f"Hello {test} from {number}", "tokenUsage": {}},
        "testCase": {"vars": {}, "assert": [], "metadata": {"category": "manners"}},
        "success": True,
        "score": 1,
        "failureReason": 0,
        "latencyMs": 1,
        "namedScores": {},
        "gradingResult": {
            "pass": True,
            "score": 1,
            "reason": "All assertions passed",
            "componentResults": list(components),
        },
    }
    return {**entry, **changes}


def write(path: Path, *results: dict[str, Any], indent: int | None = 2, **config: Any) -> Path:
    data = {
        "evalId": "eval-abc",
        "results": {"version": 3, "timestamp": "2026", "prompts": [], "results": list(results), "stats": {}},
        "config": config,
        "shareableUrl": None,
    }
    path.write_text(json.dumps(data, indent=indent))
    return path


@pytest.mark.parametrize("indent", [2, None])
def test_model_graded_assertions_are_grades_and_others_left_alone(tmp_path: Path, indent: int | None) -> None:
    path = write(tmp_path / "o.json", result(0, 0, component(score=0.5), component("contains")), indent=indent)
    source = open_judgments([path])
    (one,) = source
    assert source.formats[str(path)] == "promptfoo results"
    assert one.verdict is not None
    assert one.verdict.to_json() == 0.5
    assert (one.item.question, one.item.responses) == ("Greet person 0", {"A": "Hello 0 from 0"})
    assert (one.item.models, one.item.category) == ({"A": "openai:model-0"}, "manners")
    assert (one.id, one.judge, one.instruction) == ("eval-abc/0/0/0", "promptfoo/llm-rubric", "greets politely")
    assert one.rationale == "It greets."


def test_the_grader_is_named_by_assertion_test_or_configuration(tmp_path: Path) -> None:
    own = component()
    own["assertion"]["provider"] = {"id": "openai:gpt-4.1"}
    inverted = component("not-g-eval", 0)
    by_test = result(1, 0, component(), testCase={"options": {"provider": "anthropic:x"}})
    default = {"options": {"provider": {"text": "openai:default"}}}
    path = write(tmp_path / "o.json", result(0, 0, own, inverted), by_test, defaultTest=default)
    judgments = list(open_judgments([path]))
    assert [one.meta["judge_model"] for one in judgments] == ["openai:gpt-4.1", "openai:default", "anthropic:x"]
    assert [one.judge for one in judgments] == [
        "openai:gpt-4.1/llm-rubric",
        "openai:default/g-eval",
        "anthropic:x/llm-rubric",
    ]


def test_a_grader_that_failed_gave_no_verdict(tmp_path: Path) -> None:
    failed = component(score=0, reason="Could not extract JSON", metadata={"graderError": True})
    (one,) = open_judgments([write(tmp_path / "o.json", result(0, 0, failed))])
    assert (one.verdict, one.no_verdict) == (None, "the grader failed: Could not extract JSON")


def test_the_rendered_rubric_and_assertions_within_sets(tmp_path: Path) -> None:
    rendered = component(metadata={"renderedAssertionValue": "greets Ann"})
    nested = {"pass": True, "score": 1, "reason": "", "componentResults": [rendered]}
    (one,) = open_judgments([write(tmp_path / "o.json", result(0, 0, nested))])
    assert one.instruction == "greets Ann"


def test_lines_of_results_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    rows = [result(0, 0, component()), result(1, 0, component()), {"testIdx": 3}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = open_judgments([path])
    assert [one.id for one in source] == ["promptfoo/0/0/0", "promptfoo/1/0/0"]


def test_select_best_is_a_verdict_over_the_outputs_of_a_test(tmp_path: Path) -> None:
    def shown(test: int, *chosen: int) -> list[dict[str, Any]]:
        return [
            result(test, n, component("select-best", c, reason="Output selected" if c else "Output not selected"))
            for n, c in enumerate(chosen)
        ]

    path = write(tmp_path / "o.json", *shown(0, 0, 1), *shown(1, 0, 0, 1), *shown(2, 0, 0))
    found = list(open_judgments([path]).scan())
    judgments = [one for one in found if not isinstance(one, Reject)]
    assert [str(one.verdict) for one in judgments] == ["B>A", "C > A = B"]
    assert judgments[0].item.models == {"A": "openai:model-0", "B": "openai:model-1"}
    (reject,) = (one for one in found if isinstance(one, Reject))
    assert reject.reason == "select-best of test 2: 0 of 2 outputs are chosen, not one of several"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (result(0, 0, component(), response=None, error="429"), "response.output is missing: 429"),
        (result(0, 0, component(score="high")), "'score' must be a number, not 'high'"),
        (result(0, 0, component(), prompt=None), "not the shape of a promptfoo result"),
        (result(0, 0, component(score=float("nan"))), "'score' must be a number, not nan"),
    ],
)
def test_a_bad_result_is_a_reject_and_the_others_go_on(tmp_path: Path, bad: dict[str, Any], reason: str) -> None:
    path = write(tmp_path / "o.json", bad, result(1, 0, component()))
    first, second = open_judgments([path]).scan()
    assert isinstance(first, Reject)
    assert reason in first.reason
    assert (first.line, second.id) == (1, "eval-abc/1/0/0")


def test_results_without_a_model_graded_assertion_are_refused_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no assertion was graded by a model .*: its assertions are contains, javascript"
    ):
        open_judgments([write(tmp_path / "o.json", result(0, 0, component("contains"), component("javascript")))])


def test_a_chat_prompt_and_an_object_as_output(tmp_path: Path) -> None:
    chat = json.dumps([{"role": "user", "content": "Hi"}])
    entry = result(0, 0, component(), prompt={"raw": chat, "label": ""}, response={"output": {"a": 1}})
    (one,) = open_judgments([write(tmp_path / "o.json", entry)])
    assert (one.item.question, one.item.responses) == ("Hi", {"A": '{"a":1}'})
