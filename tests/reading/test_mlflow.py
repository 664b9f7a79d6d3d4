"""MLflow's traces: from files that mlflow wrote, and details of their shape."""

from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.reading.joined_labels import join
from metajudge.reading.label_files import read_labels
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS, JUDGE_MODEL
from tests.reading.conftest import Write
from tests.reading.interop_files import INTEROP


@pytest.mark.parametrize("name", ["mlflow-traces.jsonl", "mlflow-frame.jsonl", "mlflow-frame.csv"])
def test_what_mlflow_wrote_is_read_without_flags(name: str) -> None:
    source = open_judgments([INTEROP / name])
    found = list(source)
    assert source.formats == {str(INTEROP / name): "MLflow traces"}
    assert source.rejects == 0
    correct = [one for one in found if one.judge == f"{JUDGE_MODEL}/correctness"]
    tones = [one for one in found if one.judge == f"{JUDGE_MODEL}/tone"]
    cases = CASES[: len(correct)]
    assert len(cases) == (6 if name == "mlflow-traces.jsonl" else 3)
    for case, judgment, tone in zip(cases, correct, tones, strict=True):
        assert (judgment.item.question, judgment.item.responses) == (case.question, {"A": case.answer})
        assert judgment.verdict == (None if case.judge is None else Category(case.judge))
        assert judgment.rationale == EXPLANATIONS[case.judge]
        said = {one.annotator: one.value for one in judgment.item.labels}
        assert said == {person: Category(right) for person, right in case.people.items()}
        assert all(one.time is not None for one in judgment.item.labels)
        assert tone.verdict == Grade(case.tone)
        assert (tone.item.labels, tone.item.id) == ((), judgment.item.id.replace("correctness", "tone"))
    assert correct[0].item.reference == "144"
    assert source.people.matched == source.people.count == sum(len(case.people) for case in cases)


def test_a_judge_that_failed_is_no_verdict_with_its_reason() -> None:
    (failed,) = (one for one in open_judgments([INTEROP / "mlflow-traces.jsonl"]) if one.verdict is None)
    assert failed.no_verdict == "the judge gave no answer in time"


def trace(*assessments: dict[str, Any]) -> dict[str, Any]:
    spans = [
        {
            "parent_span_id": None,
            "attributes": {"mlflow.spanInputs": '{"query": "Why?"}', "mlflow.spanOutputs": '"So."'},
        }
    ]
    return {"info": {"trace_id": "t", "assessments": list(assessments)}, "data": {"spans": spans}}


def assessment(kind: str, value: Any, name: str = "ok", **more: Any) -> dict[str, Any]:
    source = {"source_type": kind, "source_id": more.pop("by", "x")}
    return {"assessment_name": name, "source": source, "feedback": {"value": value}, "trace_id": "t"} | more


def test_people_alone_are_labels_of_another_file(write: Write, tmp_path: Path) -> None:
    people = write("people.jsonl", trace(assessment("HUMAN", False, by="ann")))
    judged = list(open_judgments([write("judged.jsonl", trace(assessment("LLM_JUDGE", True)))]))
    (found,), report = join(judged, read_labels([people]))
    assert (report.on, report.matched) == ("item", 1)
    assert [label.annotator for label in found.item.labels] == ["ann"]


def test_labels_of_another_file_are_about_the_verdicts_of_their_name(write: Write) -> None:
    names = ("ok", "tone")
    judged = list(open_judgments([write("j.jsonl", trace(*(assessment("LLM_JUDGE", 1, name) for name in names)))]))
    both = write("both.jsonl", trace(*(assessment("HUMAN", name == "ok", name, by="ann") for name in names)))
    one = write("one.jsonl", trace(assessment("HUMAN", True, "ok", by="ann")))
    found, report = join(judged, read_labels([both]))
    assert report.on == "item+response"
    assert [[label.value for label in each.item.labels] for each in found] == [[Category(True)], [Category(False)]]
    found, _ = join(judged, read_labels([one]))
    assert [len(each.item.labels) for each in found] == [1, 0]
    single = list(open_judgments([write("s.jsonl", trace(assessment("LLM_JUDGE", 1, "ok")))]))
    with pytest.raises(InputError, match="no label matches a judgment"):
        join(single, read_labels([both]))  # which of the two names the verdict is about is not in its item
