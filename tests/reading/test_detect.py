import json
import re
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.reading.containers.lines import MAX_LINE_BYTES
from metajudge.types import Judgment
from tests.reading.conftest import Record, Write

PAIR = {"item_id": "p", "question": "?", "response_a": "x", "response_b": "y", "label": "A>B"}
GAME = {"item_id": "p", "judge_model": "j", "order": "AB", "decision": "A>B", "judgment_text": "", "label": "A>B"}
OUTPUT = {
    "pair_id": "p",
    "question": "?",
    "response_A": "x",
    "response_B": "y",
    "label": "A>B",
    "judgments": [{"judgment": {"judge_model": "j", "response": ""}, "decision": "A>B"}],
}


def refused(*paths: Path) -> str:
    with pytest.raises(InputError) as caught:
        open_judgments(paths)
    return str(caught.value)


def test_the_format_is_chosen_by_content_whatever_the_name(write: Write, record: Record) -> None:
    ours = write("pairs.csv", record())
    upstream = write("judgments.jsonl.gz", OUTPUT)
    source = open_judgments([ours, upstream])
    assert source.formats == {str(ours): "metajudge JSONL", str(upstream): "JudgeBench output"}
    assert [judgment.id for judgment in source] == ["j1", "p/j/AB"]


def test_bad_lines_at_the_top_do_not_hide_the_format(write: Write, record: Record) -> None:
    source = open_judgments([write("x", "garbage", "", {"note": "made by hand"}, record())])
    assert [judgment.id for judgment in source] == ["j1"]
    assert source.rejects == 2


def test_a_folder_of_outputs_and_own_records_is_read_whole_and_the_rest_left_alone(
    write: Write, record: Record
) -> None:
    write("f/a.jsonl", OUTPUT)
    write("f/b.jsonl", record())
    write("f/.hidden.jsonl", record("j2"))
    write("f/README.md", "# Notes", "text")
    write("f/c.db", b"\0\0\0")
    write("f/out.rejects.jsonl", {"file": "x", "line": 1, "reason": "r", "text": "t"})
    path = write("f/deeper/d.jsonl", record("j3")).parent.parent
    source = open_judgments([path])
    assert [judgment.id for judgment in source] == ["p/j/AB", "j1"]
    assert source.rejects == 0
    assert source.formats == {str(path): "JudgeBench output and metajudge JSONL"}


def test_a_folder_of_one_record_a_file_is_a_table_of_them(write: Write, record: Record) -> None:
    for n in range(3):
        row = {"question": f"Why {n}?", "responses": {"A": "x"}, "responses.A": "x", "judge": "j", "verdict": n}
        folder = write(f"r/{n}.json", json.dumps(row, indent=1)).parent
    source = open_judgments([folder])
    assert [str(one.verdict) for one in source] == ["0", "1", "2"]
    assert source.formats == {str(folder): "folder of JSON objects, mapped"}
    for n in range(2):
        folder = write(f"own/{n}.json", json.dumps(record(f"j{n}"), indent=1)).parent
    assert [one.id for one in open_judgments([folder])] == ["j0", "j1"]


def test_judgments_without_their_pairs_point_to_the_folder(write: Write) -> None:
    path = write("judgments.jsonl.gz", GAME, packed=True)
    assert "contains judgments that name pairs by item_id, but not the pairs: give the folder" in refused(path)
    assert "contains pairs, but no judgments: give the folder" in refused(write("pairs.jsonl", PAIR))
    assert "but not the pairs they name" in refused(write("alone/judgments.jsonl", GAME).parent)
    assert "contains no file of judgments (found: pairs.jsonl)" in refused(write("pairs/pairs.jsonl", PAIR).parent)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((), r"x\.jsonl is empty$"),
        (("", "   "), r"is empty"),
        (
            ({"a": 1, "b": 2},),
            r"no known format:\n  a  1 .*not used\n  b .*Missing: verdict, judge. Give --map verdict=COLUMN",
        ),
        (("{}",), r"line 1 is an empty object"),
        (("id,judge,verdict", "1,2,3"), r"line 1: not JSON: the line starts with 'id,judge,verdict'"),
        (("[", "{}", "]"), r"contains no judgment that can be read: row 1 is an empty object"),
        (
            ("{", '  "id": "j1"', "}"),
            r"is one JSON object of no known tool: id \(j1\); `metajudge inspect --formats` lists",
        ),
        ((b"\0\1\2",), r"is not text"),
        ((b"\xff\xfe{\0",), r"damaged or ends early"),
        ((b"\x1f\x8bgarbage",), r"is damaged or ends early"),
        ((b"\xff\xfa",), r"not UTF-8"),
        (({"item": {}, "judge": "j"},), r"no readable judgments: 1 bad line, the first at .*:1: .*missing field"),
    ],
)
def test_what_cannot_be_read_says_what_was_found_and_looked_for(
    write: Write, lines: tuple[Any, ...], expected: str
) -> None:
    path = write("x.jsonl", *lines)
    message = refused(path)
    assert re.search(expected, message, re.S)
    assert str(path) in message


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": "j1", "judge": "a \\ud800"}', "contains half of a surrogate pair"),
        ('{"id": "j1", "id": "j2", "judge": "a"}', "the key 'id' is given twice"),
        ('{"id": "j1", "judge": "' + "x" * MAX_LINE_BYTES + '"}', "the line is longer than 16 MiB"),
        ('{"id": "j1", "judge": "a\0b", "rationale": "as long as usual"}', "contains a NUL byte"),
        ("[" * 10_000 + "]" * 10_000, "nested too deeply"),
        ("[1, 2]", "contains a list, not an object"),
    ],
    ids=["surrogate", "twice", "long", "NUL", "deep", "list"],
)
def test_a_bad_first_line_is_that_line_alone_and_its_own_reason(
    write: Write, record: Record, line: str, reason: str
) -> None:
    source = open_judgments([write("many.jsonl", line, record("j2"))])
    records = list(source.scan())
    assert reason in str(records[0])
    assert [one.id for one in records[1:] if isinstance(one, Judgment)] == ["j2"]
    if line[0] == "{":
        assert f"line 1: {reason}" in refused(write("one.jsonl", line)).replace("the line contains", "contains")


def test_a_missing_path_and_an_empty_folder(tmp_path: Path) -> None:
    assert re.search(r"cannot read .*missing: No such file", refused(tmp_path / "missing"))
    assert "contains no file of judgments (found: nothing); `metajudge inspect" in refused(tmp_path)


def test_no_input_at_all() -> None:
    assert "no input given" in refused()
