"""DeepEval's test runs, as it wrote them and in the shapes of other versions."""

import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import Reject, open_judgments
from metajudge.types import Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS
from tests.readers.interop_files import INTEROP


def metric(score: Any = 1.0, **changes: Any) -> dict[str, Any]:
    return {"name": "Tone", "score": score, "reason": "Kind.", "evaluationModel": "gpt-4o", "success": True} | changes


def case(*metrics: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"name": "c", "input": "Hi?", "actualOutput": "Hello.", "metricsData": list(metrics)} | changes


def write(path: Path, *cases: dict[str, Any], **run: Any) -> Path:
    path.write_text(json.dumps({"testCases": list(cases), **run}))
    return path


@pytest.mark.parametrize("names", [["test_run.json"], ["results.json"], ["results.json", "test_run.json"]])
def test_what_deepeval_wrote_is_read_without_flags_and_counts_once(names: list[str]) -> None:
    source = open_judgments([INTEROP / "deepeval" / name for name in names])
    found = {(one.judge, one.item.question): one for one in source}
    assert (len(found), source.rejects, source.duplicates) == (12, 0, 12 * (len(names) - 1))
    for told in CASES:
        right = found["gpt-4o-mini/Correctness [GEval]", told.question]
        tone = found["gpt-4o-mini/Tone [GEval]", told.question]
        assert right.item.responses == {"A": told.answer}
        assert right.item.id != tone.item.id
        assert (right.meta["judge_model"], right.item.reference) == ("gpt-4o-mini", told.answer)
        if told.judge is None:
            assert right.no_verdict.startswith("the metric ended with an error: ")
        else:
            assert (right.verdict, right.rationale) == (Grade(float(told.judge)), EXPLANATIONS[told.judge])
            assert (tone.verdict, tone.instruction) == (Grade(told.tone / 5), "The tone is friendly.")


@pytest.mark.parametrize(("score", "verdict"), [(None, None), ("nan", None), ("0.5", Grade(0.5)), (True, Grade(1))])
def test_scores_as_tools_write_them(tmp_path: Path, score: Any, verdict: Grade | None) -> None:
    (one,) = open_judgments([write(tmp_path / "r.json", case(metric(score, reason={"why": ["so"]})))])
    assert (one.verdict, one.rationale) == (verdict, '{"why":["so"]}')


def test_what_cannot_be_read_is_a_reject_and_the_rest_is_read(tmp_path: Path) -> None:
    bad = case(metric(float("inf"), name="A"), metric("high", name="B"), metric(name="C"))
    path = write(tmp_path / "r.json", bad, case(metric(), actualOutput=None), hyperparameters={"key": "sk-in-the-file"})
    found = list(open_judgments([path]).scan())
    rejects = [one for one in found if isinstance(one, Reject)]
    assert [one.reason for one in rejects] == [
        "A: 'score' is infinite, which is no grade",
        "B: 'score' must be a number, not 'high'",
        "Tone: the test case 'c' has no actualOutput",
    ]
    assert len(found) == 4
    assert "sk-in-the-file" not in "".join(one.text for one in rejects)


def test_a_conversation_is_the_turns_before_the_last_answer(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    path = tmp_path / "r.json"
    spoken = {"name": "c", "turns": turns, "metricsData": [metric()]}
    path.write_text(json.dumps({"conversationalTestCases": [spoken, spoken | {"turns": turns[:1]}]}))
    first, second = open_judgments([path]).scan()
    assert (first.item.question, first.item.responses) == ("Hi", {"A": "Hello."})
    assert "does not end with the assistant's turn" in str(second)


def test_an_older_run_and_passages(tmp_path: Path) -> None:
    old = {"metric": "Faithfulness", "score": 0.5, "evaluation_model": "gpt-4"}
    data = {"testRunData": {"testCases": [case(metricsMetadata=[old], metricsData=None, context=["It is so."])]}}
    path = tmp_path / "r.json"
    path.write_text(json.dumps(data))
    (one,) = open_judgments([path])
    assert (one.judge, one.item.question) == ("gpt-4/Faithfulness", "Hi?\n\nContext:\n- It is so.")


def test_two_equal_measurements_are_two_judgments_of_one_item(tmp_path: Path) -> None:
    first, second = open_judgments([write(tmp_path / "r.json", case(metric()), case(metric()))])
    assert first.item.id == second.item.id
    assert first.id != second.id


def test_a_run_that_no_model_graded_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no metric names the model .*: its metrics are Exact Match"):
        open_judgments([write(tmp_path / "r.json", case(metric(name="Exact Match", evaluationModel=None)))])
