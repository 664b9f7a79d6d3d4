"""Assessments to lines, here and in a process beside."""

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
