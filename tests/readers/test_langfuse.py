import csv
import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import Reject, open_judgments, parse_map
from metajudge.types import Category, Grade
from tests.readers.conftest import Write


def score(id: str = "s1", **changes: Any) -> dict[str, Any]:
    """A row of ``scores/`` as the blob storage export documents it."""
    row = (
        {"id": id, "timestamp": "2026-05-29 13:46:19.963000", "project_id": "p", "environment": "default"}
        | {"trace_id": "t1", "observation_id": None, "session_id": None, "dataset_run_id": None}
        | {"name": "helpfulness", "value": 0.75, "source": "EVAL", "comment": "Mostly helpful."}
        | {"data_type": "NUMERIC", "string_value": None}
    )
    return {**row, **changes}


TRACE = {
    "id": "t1",
    "timestamp": "2026-05-29",
    "project_id": "p",
    "name": "chat",
    "input": "Why?",
    "output": "Because.",
}
ROOT = {
    "id": "o1",
    "trace_id": "t1",
    "project_id": "p",
    "parent_observation_id": "",
    "input": '{"messages": [{"role": "user", "content": "Why?"}]}',
    "output": '{"role": "assistant", "content": "Because."}',
    "provided_model_name": "gpt-4o",
    "trace_name": "chat",
}
CHILD = ROOT | {"id": "o2", "parent_observation_id": "o1", "input": "search", "output": "found"}


def test_scores_are_joined_with_their_traces_and_peoples_are_labels(write: Write) -> None:
    rows = [score(), score("s2", source="ANNOTATION"), score("s3", data_type="BOOLEAN", value=1, name="polite")]
    folder = write("x/scores/1.jsonl", *rows).parent.parent
    write("x/traces/1.jsonl", TRACE)
    source = open_judgments([folder])
    first, second = source
    assert source.formats == {str(folder): "Langfuse scores"}
    assert (first.id, first.judge, first.rationale) == ("s1", "helpfulness", "Mostly helpful.")
    assert [one.verdict.to_json() for one in (first, second) if one.verdict] == [0.75, True]
    assert [label.value for label in first.item.labels] == [Grade(0.75)]
    assert second.item.labels == ()
    assert (first.item.question, first.item.responses, first.item.category) == ("Why?", {"A": "Because."}, "chat")
    assert source.rejects == 0


def test_observations_answer_for_their_trace_or_for_themselves(write: Write) -> None:
    folder = write("x/scores/1.jsonl", score(), score("s2", observation_id="o2")).parent.parent
    write("x/observations_v2/1.jsonl", CHILD, ROOT)
    first, second = open_judgments([folder])
    assert (first.item.question, first.item.responses["A"], first.item.models) == ("Why?", "Because.", {"A": "gpt-4o"})
    assert (second.item.question, second.item.responses["A"]) == ("search", "found")


def test_a_score_of_an_observation_is_never_put_on_another(write: Write) -> None:
    folder = write("x/scores.jsonl", score(), score("s2", observation_id="gone")).parent
    write("x/traces.jsonl", TRACE)
    found = list(open_judgments([folder]).scan())
    (reject,) = (one for one in found if isinstance(one, Reject))
    assert "no run with id 'gone'" in reject.reason
    assert len(found) == 2


def test_csv_exports_are_read_too(tmp_path: Path) -> None:
    for name, rows in (("scores", [score()]), ("traces", [TRACE])):
        with (tmp_path / f"{name}.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    (one,) = open_judgments([tmp_path])
    assert one.verdict.to_json() == 0.75


def test_a_category_is_its_word_or_the_grade_that_it_is_said_to_be(write: Write) -> None:
    rows = [score("s1", data_type="CATEGORICAL", string_value="good", value=0), score("s2", data_type="TEXT", value=0)]
    folder = write("x/scores.jsonl", *rows, score("s3", value=None)).parent
    write("x/traces.jsonl", TRACE)
    category, text, empty = open_judgments([folder]).scan()
    assert category.verdict == Category("good")
    assert "a TEXT score is no grade" in text.reason
    assert empty.no_verdict == "the score has no value"
    told, *_ = open_judgments([folder], mapping=parse_map([], ["good=1"]))
    assert told.verdict.to_json() == 1.0


def test_scores_alone_point_to_what_is_missing(write: Write) -> None:
    path = write("x/scores.jsonl", score())
    for given in (path, path.parent):
        with pytest.raises(InputError, match="but not the traces they are about"):
            open_judgments([given])


@pytest.mark.parametrize("nested", [False, True])
def test_a_trace_as_the_interface_downloads_it(tmp_path: Path, nested: bool) -> None:
    scores = [
        {
            "id": "s1",
            "traceId": "t1",
            "name": "good",
            "value": 1,
            "source": "EVAL",
            "dataType": "NUMERIC",
            "comment": "y",
        },
        {"id": "s2", "traceId": "t1", "observationId": "o2", "name": "good", "value": 0, "source": "API"},
        {"id": "s3", "traceId": "t1", "name": "good", "value": 0, "source": "ANNOTATION"},
        {"id": "s4", "traceId": "t1", "observationId": "gone", "name": "good", "value": 0, "source": "EVAL"},
    ]
    trace = {"id": "t1", "input": {"question": "Why?"}, "output": {"answer": "Because."}, "name": "chat"}
    observations = [{"id": "o2", "traceId": "t1", "parentObservationId": "o1", "input": "search", "output": "found"}]
    data = {"trace": trace, "observations": observations, "scores": scores}
    path = tmp_path / "trace-t1.json"
    path.write_text(json.dumps(data if nested else trace | {"scores": scores, "observations": observations}, indent=1))
    first, second, reject = open_judgments([path]).scan()
    assert (first.item.question, first.item.responses) == ("Why?", {"A": "Because."})
    assert (second.item.question, second.item.responses) == ("search", {"A": "found"})
    assert "no observation 'gone'" in reject.reason
