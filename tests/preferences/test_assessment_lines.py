"""Assessments to lines, here and in a process beside."""

import json

import pytest

from metajudge import vet
from metajudge.errors import InputError
from metajudge.preferences import assessment_lines
from metajudge.preferences.assessment_lines import writing_assessments
from tests.doubles.judgments import judgment


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "assessments.jsonl"
    found = vet([judgment(f"j{i}") for i in range(30)])
    path.write_text("".join(one.model_dump_json() + "\n" for one in found))
    return path


def written(file, out):
    with writing_assessments(file, out):
        pass
    return out.read_bytes()


def test_a_process_beside_writes_the_same(file, tmp_path, monkeypatch):
    here = written(file, tmp_path / "here")
    monkeypatch.setattr(assessment_lines, "LARGE", 1)
    assert written(file, tmp_path / "beside") == here
    assert here.count(b"\n") == 30


def test_a_bad_line_is_told_with_its_place_by_both(file, tmp_path, monkeypatch):
    with file.open("a") as stream:
        stream.write('{"judgment_id": 3}\n')
    with pytest.raises(InputError) as here:
        written(file, tmp_path / "here")
    monkeypatch.setattr(assessment_lines, "LARGE", 1)
    with pytest.raises(InputError) as beside:
        written(file, tmp_path / "beside")
    assert str(beside.value) == str(here.value)
    assert f"{file}:31: no assessment" in str(here.value)


def test_an_error_meanwhile_ends_the_process(file, tmp_path, monkeypatch):
    monkeypatch.setattr(assessment_lines, "LARGE", 1)
    started = []
    real = assessment_lines.subprocess.Popen

    def remembering(*arguments, **options):
        started.append(real(*arguments, **options))
        return started[0]

    monkeypatch.setattr(assessment_lines.subprocess, "Popen", remembering)
    with pytest.raises(KeyboardInterrupt), writing_assessments(file, tmp_path / "out"):
        raise KeyboardInterrupt
    assert started[0].returncode is not None


def rows_of(path, monkeypatch, kept):
    """The rows of a file, where so many checked lines are kept for comparison; or what is wrong with it."""
    monkeypatch.setattr(assessment_lines, "MOST_KEPT", kept)
    try:
        rows = list(assessment_lines.assessment_rows(path))
    except InputError as error:
        return str(error)
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


ODD = {
    "judgment_id": [7, None, ""],
    "judge": [True, ["a"]],
    "final_score": ["high", True, 4, [1.0]],
    "probability": ["0.5", 1, None, 0.25],
    "signals": [
        *(None, {}, [], {"order": None}, {"order": {"value": 1.0}}),
        {"order": {"value": "x", "state": "s"}},
        {"order": {"value": 1.0, "state": "s", "detail": 3}},
        {"order": {"value": 1, "state": "s", "detail": "d"}},
    ],
    "threshold": ["x", 3, 3.5],
    "status": ["failed", "unknown"],
    "do": [None, 3, {"action": "ask"}],
    "unknown": [1],
    "agents": [[{"agent": "a", "model": "m", "weight": 1.0}]],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in ODD.items() for value in values])
def test_a_line_is_read_the_same_after_lines_like_it(file, monkeypatch, name, value):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {**lines[0], name: value}]))
    assert rows_of(file, monkeypatch, 1_000) == rows_of(file, monkeypatch, 0)


@pytest.mark.parametrize("last", ["{}", "[1]", "x", '{"judgment_id": NaN}'])
def test_what_is_no_assessment_is_told_after_lines_that_are(file, monkeypatch, last):
    file.write_text(file.read_text() + last)
    assert rows_of(file, monkeypatch, 1_000) == rows_of(file, monkeypatch, 0)
    assert f"{file}:31: no assessment" in rows_of(file, monkeypatch, 1_000)


def test_lines_that_differ_in_what_is_their_own_are_checked_once(file, monkeypatch):
    checked = []
    monkeypatch.setattr(
        assessment_lines, "_read", lambda *given, real=assessment_lines._read: checked.append(given) or real(*given)
    )
    rows = rows_of(file, monkeypatch, 1_000)
    assert (len(rows), len(checked)) == (30, 1)
    assert [row["judgment_id"] for row in rows] == [f"j{i}" for i in range(30)]
