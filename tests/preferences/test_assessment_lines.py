"""Assessments of a file, to lines."""

import json

import pytest

from metajudge import vet
from metajudge.errors import InputError
from metajudge.preferences.assessment_lines import read_assessments, write_assessments
from tests.doubles.judgments import judgment


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "assessments.jsonl"
    found = vet([judgment(f"j{i}") for i in range(30)])
    path.write_text("".join(one.model_dump_json() + "\n" for one in found))
    return path


def rows_of(path):
    out = path.with_name("out")
    write_assessments(read_assessments(path), out)
    return [json.loads(line) for line in out.read_bytes().splitlines()]


def test_each_assessment_is_a_line_in_its_order(file):
    assert [(row["line"], row["judgment_id"]) for row in rows_of(file)] == [(i, f"j{i}") for i in range(30)]


@pytest.mark.parametrize(
    "changes",
    [
        {"judgment_id": 7},
        {"judge": ["a"]},
        {"final_score": "high"},
        {"signals": {"order": {"value": "x", "state": "s"}}},
        {"status": "unknown"},
    ],
)
def test_a_field_that_is_wrong_is_told_with_its_place(file, changes):
    (name,) = changes
    first = json.loads(file.read_text().splitlines()[0])
    file.write_text(file.read_text() + json.dumps(first | changes) + "\n")
    with pytest.raises(InputError, match=rf"assessments\.jsonl:31: no assessment: {name}"):
        rows_of(file)


@pytest.mark.parametrize("last", ["[1]", "x"])
def test_what_is_no_assessment_is_told_with_its_place(file, last):
    file.write_text(file.read_text() + last)
    with pytest.raises(InputError, match=":31: no assessment"):
        rows_of(file)
