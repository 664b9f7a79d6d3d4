import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments, write_jsonl
from metajudge.readers.jsonl import JudgmentLines
from metajudge.readers.lines import Reject, Source
from metajudge.readers.reader import FoundJudgment
from metajudge.types import Judgment

FULL = {
    "version": 1,
    "id": "q1/gpt/BA",
    "item": {
        "id": "q1",
        "question": 'Ünïcode \u2028 and "quotes" \': x',
        "responses": {"m.1": "", "m-2": "text\nwith lines"},
        "category": "Math",
        "label": "m.1>>m-2",
        "reference": "4",
        "models": {"m.1": "gpt"},
    },
    "judge": "gpt",
    "verdict": "m-2=m.1",
    "rationale": "r",
    "order": ["m-2", "m.1"],
    "labels": ["1", "2"],
    "instruction": "judge",
    "meta": {"a": [1, None, {"b": 1.5}]},
}
OTHERS: list[dict[str, Any]] = [
    {
        "id": "none",
        "verdict": None,
        "no_verdict": "silent",
        "item": {"id": "q", "question": "", "responses": {"A": "x"}},
    },
    {"id": "grade", "verdict": 7.25, "item": {"id": "q", "question": "", "responses": {"A": "x"}}},
    {
        "id": "ranking",
        "verdict": [["c"], ["a", "b"]],
        "item": {"id": "r", "question": "", "responses": {"a": "", "b": "", "c": ""}},
    },
]


@pytest.fixture
def judgments() -> list[Judgment]:
    return [Judgment.model_validate(FULL), *(Judgment.model_validate({**data, "judge": "j"}) for data in OTHERS)]


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_what_is_written_reads_back_equal(tmp_path: Path, judgments: list[Judgment], name: str) -> None:
    path = tmp_path / name
    assert write_jsonl(path, judgments) == 4
    back = list(open_judgments([path]))
    assert back == judgments
    assert [judgment.digest for judgment in back] == [judgment.digest for judgment in judgments]
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_the_same_judgments_give_the_same_bytes(tmp_path: Path, judgments: list[Judgment]) -> None:
    write_jsonl(tmp_path / "a.gz", judgments)
    write_jsonl(tmp_path / "b.gz", judgments)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_a_line_names_its_version_and_leaves_defaults_out(tmp_path: Path, judgments: list[Judgment]) -> None:
    write_jsonl(tmp_path / "x", judgments[1:2])
    data = json.loads((tmp_path / "x").read_text())
    assert next(iter(data)) == "version"
    assert data["verdict"] is None
    assert "rationale" not in data
    assert "reference" not in data["item"]


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path: Path, judgments: list[Judgment]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("old")

    def broken() -> Iterator[Judgment]:
        yield judgments[0]
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_jsonl(path, broken())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_where_no_folder_is_says_so(tmp_path: Path, judgments: list[Judgment]) -> None:
    with pytest.raises(InputError, match=r"cannot write .*missing.*No such file"):
        write_jsonl(tmp_path / "missing" / "x.jsonl", judgments)


def test_a_judgment_that_json_cannot_hold_is_named(tmp_path: Path) -> None:
    odd = Judgment.model_validate({**FULL, "meta": {"x": object()}})
    with pytest.raises(InputError, match="judgment 'q1/gpt/BA' cannot be written"):
        write_jsonl(tmp_path / "x", [odd])
    assert list(tmp_path.iterdir()) == []


def test_bad_records_are_rejected_with_line_and_text_and_the_rest_is_read(
    write: Callable[..., Path], record: Callable[..., dict[str, Any]]
) -> None:
    bad = record("j2", verdict="C>A")
    path = write("x.txt", record("j1"), bad, "no json", record("j3"))
    found = list(JudgmentLines(Source(path, "x.txt")).read())
    assert [entry.judgment.id for entry in found if isinstance(entry, FoundJudgment)] == ["j1", "j3"]
    first, second = (entry for entry in found if isinstance(entry, Reject))
    assert str(first) == "x.txt:2: verdict names 'C', but the item's responses are A, B"
    assert json.loads(first.text) == bad
    assert (second.line, second.text) == (3, "no json")


def test_an_empty_response_is_legal_and_no_response_is_not(
    write: Callable[..., Path], record: Callable[..., dict[str, Any]]
) -> None:
    item = {"id": "q", "question": "", "responses": {"A": "", "B": ""}}
    path = write("x", record("j1", item=item), record("j2", item={**item, "responses": {}}))
    source = open_judgments([path])
    assert [judgment.id for judgment in source] == ["j1"]
    assert source.rejects == 1


def test_a_rationale_of_two_megabytes_is_read_whole(
    write: Callable[..., Path], record: Callable[..., dict[str, Any]]
) -> None:
    rationale = "x\n" * 2**20
    (judgment,) = open_judgments([write("x.gz", record(rationale=rationale), packed=True)])
    assert judgment.rationale == rationale


def test_gzip_by_suffix_is_gzip(tmp_path: Path, judgments: list[Judgment]) -> None:
    write_jsonl(tmp_path / "x.gz", judgments)
    assert gzip.decompress((tmp_path / "x.gz").read_bytes()).count(b"\n") == 4
