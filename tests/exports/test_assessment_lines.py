"""Assessments of a file."""

import json

import pytest

from metajudge import vet
from metajudge.errors import InputError
from metajudge.exports.assessment_lines import read_assessments
from tests.doubles.judgments import judgment


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "assessments.jsonl"
    found = vet([judgment(f"j{i}") for i in range(30)])
    path.write_text("".join(one.model_dump_json() + "\n" for one in found))
    return path


def test_each_line_is_an_assessment_in_its_order(file):
    assert [one.judgment_id for one in read_assessments(file)] == [f"j{i}" for i in range(30)]


@pytest.mark.parametrize(
    "last",
    [
        *({"judgment_id": 7}, {"judge": ["a"]}, {"final_score": "high"}, {"status": "unknown"}),
        *({"signals": {"order": {"value": "x", "state": "s"}}}, "[1]", "x"),
    ],
)
def test_what_is_no_assessment_is_told_with_its_place_and_field(file, last):
    fields = isinstance(last, dict)
    first = json.loads(file.read_text().splitlines()[0])
    file.write_text(file.read_text() + (json.dumps(first | last) if fields else last))
    with pytest.raises(
        InputError, match=rf"assessments\.jsonl:31: no assessment: {next(iter(last)) if fields else ''}"
    ):
        list(read_assessments(file))
