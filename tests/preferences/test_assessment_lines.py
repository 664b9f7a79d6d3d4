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


def test_a_bad_line_is_told_with_its_place(file):
    with file.open("a") as stream:
        stream.write('{"judgment_id": 3}\n')
    with pytest.raises(InputError, match="no assessment") as told:
        rows_of(file)
    assert f"{file}:31: no assessment" in str(told.value)


WRONG = {
    "judgment_id": [7, None],
    "judge": [True, ["a"]],
    "final_score": ["high", [1.0]],
    "signals": [[], {"order": None}, {"order": {"value": "x", "state": "s"}}],
    "threshold": ["x"],
    "status": ["unknown"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_field_that_is_wrong_is_told_after_lines_that_are_right(file, name, value):
    first = json.loads(file.read_text().splitlines()[0])
    file.write_text(file.read_text() + json.dumps({**first, name: value}) + "\n")
    with pytest.raises(InputError, match=rf":31: no assessment: {name}"):
        rows_of(file)


@pytest.mark.parametrize("last", ["{}", "[1]", "x", '{"judgment_id": NaN}'])
def test_what_is_no_assessment_is_told_after_lines_that_are(file, last):
    file.write_text(file.read_text() + last)
    with pytest.raises(InputError, match=":31: no assessment"):
        rows_of(file)
