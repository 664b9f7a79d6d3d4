import json
import re
import shutil
from pathlib import Path

import pytest

from metajudge.readers import Reject, open_judgments
from metajudge.types import Grade
from tests.readers.interop_files import INTEROP

TABLE = INTEROP / "promptfoo" / "results.csv"
LAST = ["Status", "Score", "Named Scores", "Grader Reason", "Comment"]


def write(path: Path, *rows: list[str]) -> Path:
    path.write_text("".join(",".join(json.dumps(cell).replace('\\"', '""') for cell in row) + "\n" for row in rows))
    return path


def test_the_table_that_promptfoo_wrote_read_alone(tmp_path: Path) -> None:
    source = open_judgments([shutil.copy(TABLE, tmp_path / "results.csv")])
    found = list(source)
    assert source.formats[str(tmp_path / "results.csv")] == "promptfoo table"
    assert [(one.judge, one.verdict) for one in found[:3]] == [
        ("promptfoo/correctness", Grade(1)),
        ("promptfoo/tone", Grade(0.8)),
        ("promptfoo/correctness", Grade(1)),
    ]
    first, tone, *_ = found
    assert first.item.question == "What is 12 times 12?"
    assert (first.item.responses, first.item.models) == ({"A": "144"}, {"A": "openai:chat:answerer"})
    assert first.item.id != tone.item.id
    failed = next(one for one in found if one.item.question == "Who wrote the play Hamlet?")
    assert failed.no_verdict == "the grader failed: Could not extract JSON from llm-rubric response"
    wrong = next(one for one in found if one.item.question == "Name a mammal that lays eggs.")
    assert wrong.rationale == "The answer is wrong."


def test_the_same_run_beside_it_is_read_in_its_place_and_another_run_is_not(tmp_path: Path) -> None:
    copy = Path(shutil.copy(TABLE, tmp_path / "results.csv"))
    results = Path(shutil.copy(TABLE.with_suffix(".jsonl"), tmp_path / "results.jsonl"))
    source = open_judgments([copy])
    assert next(one.judge for one in source) == "openai:chat:gpt-4o-mini/llm-rubric"
    assert f"of the same run in {results}" in source.formats[str(copy)]
    results.write_text(results.read_text().replace("Venus is.", "Mercury is."))
    assert next(iter(open_judgments([copy]))).judge == "promptfoo/correctness"


def test_two_prompts_have_columns_of_the_same_names(tmp_path: Path) -> None:
    header = ["name", "[openai:a] Hi {{name}}", *LAST, "greeting.txt", *LAST]
    row = ["Ann", "Hello Ann", "PASS", "1.00", "", "Polite.", "", "Hey", "FAIL", "0.25", "", "Curt.", "agreed"]
    failed = ["Ben", "", "ERROR", "0.00", "", "429", "", "", "", "", "", "", ""]
    found = list(open_judgments([write(tmp_path / "t.csv", header, row, failed)]).scan())
    first, second, reject = found
    assert (first.item.question, first.verdict, first.rationale, first.judge) == (
        "Hi Ann",
        Grade(1),
        "Polite.",
        "promptfoo",
    )
    assert (second.item.question, second.verdict) == ("greeting.txt\nname: Ann", Grade(0.25))
    assert second.meta == {"comment": "agreed"}
    assert "the status ERROR: 429" in reject.reason


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (["Ann", "Hello", "PASS", "high", "", "", ""], "'Score' must be a number, not 'high'"),
        (["Ann", "Hello", "PASS", "Infinity", "", "", ""], "infinite"),
        (["Ann", "Hello", "PASS", "1.00", "{", "", ""], "not the shape|Named Scores|unexpected end"),
        (["Ann", "Hello"], "the row has 2 cells, the header 7"),
    ],
)
def test_a_bad_row_is_a_reject_and_the_others_go_on(tmp_path: Path, cells: list[str], reason: str) -> None:
    good = ["Ben", "Hello", "PASS", "1.00", "", "", ""]
    path = write(tmp_path / "t.csv", ["name", "Hi {{name}}", *LAST], cells, good)
    found = list(open_judgments([path]).scan())
    (reject,) = (one for one in found if isinstance(one, Reject))
    assert len(found) == 2
    assert re.search(reason, reject.reason)
