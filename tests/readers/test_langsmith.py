import csv
import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import Reject, open_judgments, parse_map
from metajudge.readers.langsmith import run_of
from metajudge.readers.lines import BadLine
from metajudge.types import Category
from tests.readers.conftest import Write

RUN = {
    "id": "r1",
    "name": "qa",
    "run_type": "chain",
    "inputs": {"question": "Why?"},
    "outputs": {"output": {"role": "assistant", "content": "Because."}},
}


def feedback(id: str = "f1", **changes: Any) -> dict[str, Any]:
    """A record as the page "Feedback data format" lists its fields."""
    row = (
        {"id": id, "created_at": "2026-05-05T23:23:11", "modified_at": "2026-05-05T23:23:12"}
        | {"session_id": "s", "run_id": "r1", "key": "correctness", "score": 1.0, "value": None}
        | {"comment": "Right.", "correction": None, "feedback_source": {"type": "model", "metadata": {}}}
    )
    return {**row, **changes}


def test_feedback_is_joined_with_its_runs_and_peoples_is_a_label(write: Write) -> None:
    app = {"type": "app", "user_name": "Ann"}
    rows = [feedback(), feedback("f2", feedback_source=app), feedback("f3", score=False, key="safe")]
    rows.append(feedback("f4", feedback_source=json.dumps(app)))
    folder = write("x/feedback.jsonl", *rows).parent
    write("x/runs.jsonl", RUN)
    source = open_judgments([folder])
    first, second = source
    assert source.formats == {str(folder): "LangSmith feedback"}
    assert (first.id, first.judge, first.rationale) == ("f1", "correctness", "Right.")
    assert (first.item.question, first.item.responses, first.item.category) == ("Why?", {"A": "Because."}, "qa")
    assert [one.verdict.to_json() for one in (first, second) if one.verdict] == [1.0, 0.0]
    assert [len(one.item.labels) for one in (first, second)] == [2, 0]
    assert (source.people.count, dict(source.people.annotators)) == (2, {"Ann": 2})
    assert [one.item.id for one in (first, second)] == ["r1/correctness", "r1/safe"]


def test_a_value_is_a_category_and_a_missing_run_is_said(write: Write) -> None:
    rows = [feedback("f1", score=None, value="good"), feedback("f2", run_id="gone"), feedback("f3", score=None)]
    folder = write("x/feedback.jsonl", *rows).parent
    write("x/runs.jsonl", RUN)
    category, missing, empty = open_judgments([folder]).scan()
    assert category.verdict == Category("good")
    assert "no run with id 'gone'" in missing.reason
    assert empty.no_verdict == "the score has no value"
    told, *_ = open_judgments([folder], mapping=parse_map([], ["good=0.8"]))
    assert told.verdict.to_json() == 0.8


def test_feedback_or_runs_alone_point_to_the_folder(write: Write) -> None:
    with pytest.raises(InputError, match="but not the runs it is about"):
        open_judgments([write("a/feedback.jsonl", feedback())])
    with pytest.raises(InputError, match="but not the runs it is about"):
        open_judgments([write("b/feedback.jsonl", feedback()).parent])
    with pytest.raises(InputError, match="LangSmith runs, but no feedback"):
        open_judgments([write("c/runs.jsonl", RUN)])


def test_a_run_without_its_texts_is_said(write: Write) -> None:
    folder = write("x/feedback.jsonl", feedback(), feedback("f2", run_id="r2")).parent
    write("x/runs.jsonl", RUN, RUN | {"id": "r2", "outputs": None})
    _, reject = open_judgments([folder]).scan()
    assert "the run 'r2' has no output in this export" in reject.reason


def test_an_experiments_table_gives_a_judgment_a_feedback_column(tmp_path: Path) -> None:
    path = tmp_path / "experiment.csv"
    header = ["input.question", "outputs.answer", "reference.answer", "feedback.correctness", "feedback.tone", "id"]
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerows([header, ["Why?", "Because.", "So.", "1.0", "", "r1"], ["How?", "", "", "0", "bad", "r2"]])
    found = list(open_judgments([path]).scan())
    judgments = [one for one in found if not isinstance(one, Reject)]
    assert [(one.id, one.judge) for one in judgments] == [("r1/correctness", "correctness")]
    assert (judgments[0].item.reference, judgments[0].item.responses) == ("So.", {"A": "Because."})
    assert [one.reason.split(":")[0] for one in found if isinstance(one, Reject)] == [
        "feedback.correctness",
        "feedback.tone",
    ]


def test_a_run_of_several_turns_is_never_the_first_question_with_the_last_answer():
    messages = [{"role": role, "content": text} for role, text in (("user", "a"), ("assistant", "b"), ("user", "c"))]
    last = {"role": "assistant", "content": "d"}
    run = run_of({"id": "r", "inputs": {"question": "a"}, "outputs": {"messages": [*messages, last]}})
    assert run.question == "[turn 1] user: a\n\n[turn 2] user: c"
    assert run.answer == "[turn 1] assistant: b\n\n[turn 2] assistant: d"
    tool = {"role": "tool", "content": "x"}
    broken = run_of({"id": "r", "inputs": {"question": "a"}, "outputs": {"messages": [*messages, tool, last]}})
    with pytest.raises(BadLine, match="the role 'tool'"):
        broken.item()
