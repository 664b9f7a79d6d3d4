import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import Reject, open_judgments
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS
from tests.readers.interop_files import INTEROP


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
    assert one.verdict.to_json() == 0.5
    assert (one.item.question, one.item.responses) == ("Greet person 0", {"A": "Hello 0 from 0"})
    assert (one.item.models, one.item.category) == ({"A": "openai:model-0"}, "manners")
    assert (one.id, one.judge, one.instruction) == ("promptfoo/row-0-0/0", "promptfoo/llm-rubric", "greets politely")
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
    assert [one.id for one in source] == ["promptfoo/row-0-0/0", "promptfoo/row-1-0/0"]


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
        (result(0, 0, component(score=float("inf"))), "'score' is infinite"),
        (result(0, 0, component(score=[1])), "'score' must be a number, not '[1]'"),
    ],
)
def test_a_bad_result_is_a_reject_and_the_others_go_on(tmp_path: Path, bad: dict[str, Any], reason: str) -> None:
    path = write(tmp_path / "o.json", bad, result(1, 0, component()))
    bad["testCase"]["options"] = {"provider": {"id": "openai:x", "config": {"apiKey": "sk-within-the-file"}}}
    first, second = open_judgments([path]).scan()
    assert reason in first.reason
    assert (first.line, second.id) == (1, "promptfoo/row-1-0/0")
    assert "sk-" not in first.text


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


FAILED = {"score": 0, "reason": "Could not extract JSON", "metadata": {"graderError": True}}
NO_VERDICTS = [
    *(({"score": score}, "'score' has no value") for score in (None, float("nan"), "NaN", "")),
    (FAILED, "the grader failed: Could not extract JSON"),
    *(
        ({"kind": kind, "score": 0, "reason": reason}, f"the grader failed: {reason}")  # which is not flagged
        for kind, reason in (
            ("factuality", "Factuality checker output did not match expected format: hm"),
            ("model-graded-closedqa", "Model grader produced a malformed response:\nhm"),
            ("llm-rubric", "API error: 429 Too Many Requests"),
            ("llm-rubric", "No output"),
        )
    ),
]


@pytest.mark.parametrize(("given", "why"), NO_VERDICTS)
def test_a_score_without_a_value_or_a_grader_that_failed_is_no_verdict(tmp_path: Path, given: Any, why: str) -> None:
    (one,) = open_judgments([write(tmp_path / "o.json", result(0, 0, component(**given)))])
    assert (one.verdict, one.no_verdict) == (None, why)


def test_a_failed_choice_is_no_verdict(tmp_path: Path) -> None:
    failed = component("select-best", 0, reason="Invalid select-best verdict: NaN")
    (one,) = open_judgments([write(tmp_path / "o.json", result(0, 1, failed), result(0, 0, failed))])
    assert (one.id, one.no_verdict) == (
        "promptfoo/row-0-0/select-best",
        "the grader failed: Invalid select-best verdict: NaN",
    )


def test_several_assertions_are_items_apart_and_two_graders_of_one_are_not(tmp_path: Path) -> None:
    other = component(score=0)
    other["assertion"]["provider"] = "anthropic:x"
    tone = component(score=0)
    tone["assertion"] |= {"value": "is brief", "metric": "brevity"}
    again = component("llm-rubric", 1)
    again["assertion"] = {"type": "llm-rubric", "value": "ends politely"}
    elsewhere = result(1, 0, again, prompt={"raw": "Greet person 0"}, response={"output": "Hello 0 from 0"})
    path = write(tmp_path / "o.json", result(0, 0, component(), other, tone, again), elsewhere)
    first, second, brief, polite, repeated = open_judgments([path])
    assert first.item.id == second.item.id
    assert polite.item.id == repeated.item.id
    assert len({one.item.id for one in (first, brief, polite)}) == 3
    assert len({one.id for one in (first, second, brief, polite, repeated)}) == 5


def test_a_persons_rating_is_a_label_of_the_only_thing_graded(tmp_path: Path) -> None:
    human = component("human", 0, reason="Manual result (overrides all other grading results)")
    source = open_judgments([write(tmp_path / "o.json", result(0, 0, component(), human))])
    (one,) = source
    assert [(label.value, label.annotator) for label in one.item.labels] == [(Category(False), None)]
    other = component()
    other["assertion"] = {"type": "g-eval", "value": "tone"}
    source = open_judgments([write(tmp_path / "several.json", result(0, 0, component(), other, human))])
    assert [one.item.labels for one in source] == [(), ()]
    assert "the export does not say of what" in source.people.unmatched[0]


def test_results_of_version_2_have_neither_ids_nor_numbers(tmp_path: Path) -> None:
    gone = ("id", "testIdx", "promptIdx", "promptId", "testCase")
    rows = [{key: value for key, value in result(n, 0, component()).items() if key not in gone} for n in range(2)]
    path = tmp_path / "o.json"
    path.write_text(json.dumps({"results": {"version": 2, "results": rows, "stats": {}, "table": {}}, "config": {}}))
    assert [one.id for one in open_judgments([path])] == ["promptfoo/0/0/0", "promptfoo/1/0/0"]


RUN = INTEROP / "promptfoo"


@pytest.mark.parametrize(
    "names", [["results.json"], ["results.jsonl"], ["results.csv", "results.json", "results.jsonl"]]
)
def test_what_promptfoo_wrote_is_read_without_flags_and_counts_once(names: list[str]) -> None:
    source = open_judgments([RUN / name for name in names])
    found = list(source)
    assert (len(found), source.rejects, source.duplicates) == (9, 0, 9 * (len(names) - 1))
    told = {case.question: case for case in CASES}
    for one in found:
        case = told[one.item.question]
        assert (one.item.responses, one.item.models) == ({"A": case.answer}, {"A": "openai:chat:answerer"})
        assert one.meta["judge_model"] == "openai:chat:gpt-4o-mini"
        if one.meta["metric"] == "tone":
            assert (one.verdict, one.judge) == (Grade(0.8), "openai:chat:gpt-4o-mini/g-eval")
        elif case.judge is None:
            assert one.no_verdict == "the grader failed: Could not extract JSON from llm-rubric response"
        else:
            assert (one.verdict, one.rationale) == (Grade(float(case.judge)), EXPLANATIONS[case.judge])
            assert one.instruction == f"The answer to this is right: {case.question}"
            assert datetime.fromisoformat(one.meta["time"]).year == 2026
    repeated = [one for one in found if one.item.question == CASES[0].question]
    assert (len(repeated), len({one.item.id for one in repeated})) == (4, 2)
    labelled = [one.item.labels[0].value for one in found if one.item.labels]
    assert labelled == ([] if names == ["results.jsonl"] else [Category(False)])


def test_a_choice_that_promptfoo_wrote() -> None:
    (one,) = open_judgments([RUN / "best.json"])
    assert (str(one.verdict), one.item.responses) == ("B>A", {"A": "144", "B": "144"})
