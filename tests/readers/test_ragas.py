"""Ragas' frames, experiments and annotations, as ragas wrote them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS
from tests.readers.interop_files import INTEROP

Write = Callable[..., Path]
RAGAS = INTEROP / "ragas"


@pytest.mark.parametrize("name", ["ragas-frame.csv", "ragas-frame.jsonl"])
def test_each_metric_of_a_frame_is_a_verdict(name: str) -> None:
    source = open_judgments([RAGAS / name])
    found = list(source)
    assert (source.formats, source.rejects) == ({str(RAGAS / name): "Ragas scores"}, 0)
    assert [one.judge for one in found[:4]] == ["correctness", "tone", "faithfulness", "exact_match"]
    assert len(found) == 4 * len(CASES)
    assert [one.verdict for one in found[:2]] == [Grade(10), Grade(9)]
    assert all(one.verdict is None and one.no_verdict for one in found if one.judge == "faithfulness")
    item = found[0].item
    assert item.question == f"{CASES[0].question}\n\nRetrieved contexts:\n1. Notes on: {CASES[0].question}\n" + (
        "2. Nothing else was found."
    )
    assert (item.responses, item.reference) == ({"A": "144"}, "144")


def test_the_csv_and_the_jsonl_frame_have_the_same_items() -> None:
    items = [{one.item.id for one in open_judgments([RAGAS / f"ragas-frame.{end}"])} for end in ("csv", "jsonl")]
    assert items[0] == items[1]


def test_a_metric_of_an_experiment_has_its_reason() -> None:
    found = list(open_judgments([RAGAS / "ragas-experiment.csv"]))
    assert {one.judge for one in found} == {"correctness"}
    assert {one.verdict for one in found} == {Category("pass"), Category("fail")}
    assert all(one.rationale.endswith(".") for one in found)


def test_what_people_accepted_or_edited_is_the_label() -> None:
    source = open_judgments([RAGAS / "ragas-annotations.json"])
    found = list(source)
    judged = [case for case in CASES if case.judge is not None]
    assert source.formats == {str(RAGAS / "ragas-annotations.json"): "Ragas annotations"}
    for case, one in zip(judged, found, strict=True):
        assert case.judge is not None
        accepted = all(right == case.judge for right in case.people.values())
        assert (one.verdict, one.rationale) == (Grade(float(case.judge)), EXPLANATIONS[case.judge])
        assert [label.value for label in one.item.labels] == [Grade(float(case.judge == accepted))]


def test_an_output_that_was_not_accepted_and_not_edited_has_no_label(write: Write) -> None:
    row = {
        "metric_input": {"user_input": "?", "response": "!"},
        "metric_output": 1.0,
        "prompts": {},
        "is_accepted": False,
    }
    (one,) = open_judgments([write("a.json", {"m": [row]})])
    assert (one.verdict, one.item.labels) == (Grade(1), ())
    (one,) = open_judgments([write("b.json", {"m": [{**row, "target": 0.5}]})])
    assert [label.value for label in one.item.labels] == [Grade(0.5)]


def test_a_conversation_is_judged_by_its_last_answer(write: Write) -> None:
    talk = [{"content": "Hi", "type": "human"}, {"content": "Hello", "type": "ai"}]
    row: dict[str, Any] = {"user_input": talk, "goal_accuracy": 1, "judge_model": "heron"}
    (one,) = open_judgments([write("a.jsonl", row)])
    assert (one.item.question, one.item.responses, one.judge) == ("Hi", {"A": "Hello"}, "heron/goal_accuracy")
    with pytest.raises(InputError, match="does not end with an answer"):
        open_judgments([write("b.jsonl", {**row, "user_input": talk[:1]})])


def test_a_sample_without_metrics_is_not_taken_for_scores(write: Write) -> None:
    with pytest.raises(InputError, match="no column looks like a verdict"):
        open_judgments([write("a.jsonl", {"user_input": "?", "response": "!", "reference": "."})])


def test_a_mapping_kept_for_the_file_is_used_and_one_of_other_columns_is_not(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("frame.jsonl", {"user_input": "?", "response": "!", "tone": 1, "fit": 2})
    monkeypatch.chdir(path.parent)
    for column, kind in (("fit", "JSONL, mapped"), ("gone", "Ragas scores")):
        write(
            "metajudge-inputs.toml",
            '[inputs."frame.jsonl".columns]',
            f'verdict = "{column}"\nquestion = "user_input"\n"responses.A" = "response"',
            '[inputs."frame.jsonl".constants]\njudge = "g"',
        )
        assert open_judgments([Path("frame.jsonl")]).formats == {"frame.jsonl": kind}
