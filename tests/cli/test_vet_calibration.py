"""``metajudge vet --calibration`` as a user runs it."""

import json

import pytest

from metajudge.readers import write_jsonl
from tests.doubles.crowds import crowd
from tests.doubles.jsonl import lines

pytestmark = pytest.mark.slow  # every test is a process of its own, or several


@pytest.fixture
def files(metajudge):
    write_jsonl(metajudge.folder / "labelled.jsonl", crowd(60))
    write_jsonl(metajudge.folder / "fresh.jsonl", crowd(20, seed=9, prefix="new", labelled=False))
    done = metajudge(
        "calibrate", "fit", "--data", "labelled.jsonl", "--signals", "order,strength,peers", "--out", "cal.json"
    )
    assert done.returncode == 0, done.stderr
    return metajudge


def test_every_assessment_gets_its_probability_and_the_guarantee_decides(files):
    done = files("vet", "fresh.jsonl", "--calibration", "cal.json", "--out", "plain.jsonl")
    assert done.returncode == 0, done.stderr
    assert "120 of 120 judgments have a calibrated probability" in done.stdout
    assert "kept by the score alone" in done.stdout
    plain = lines(files.folder / "plain.jsonl")
    assert all(0 < one["probability"] < 1 for one in plain)
    assert {one["guarantee"] is None for one in plain} == {True}

    done = files("calibrate", "threshold", "--calibration", "cal.json", "--data", "labelled.jsonl", "--target", "0.7")
    assert done.returncode == 0, done.stdout + done.stderr
    done = files("vet", "fresh.jsonl", "--calibration", "cal.json", "--out", "kept.jsonl")
    assert "at least 70 % of all of them are right on new questions like" in done.stdout
    assert "The guarantee covers 120 of 120 judgments." in done.stdout
    kept = lines(files.folder / "kept.jsonl")
    assert [one["probability"] for one in kept] == [one["probability"] for one in plain]
    assert all(one["accepted"] == (one["probability"] >= one["guarantee"]["threshold"]) for one in kept)

    done = files("vet", "labelled.jsonl", "--calibration", "cal.json")
    assert "The guarantee covers 0 of 360 judgments." in done.stdout, "questions of the fit are outside its domain"
    assert "kept under the guarantee   nothing" in done.stdout

    summary, code = files.json("vet", "fresh.jsonl", "--calibration", "cal.json")
    assert (code, summary["with_probability"], summary["probability_marks"]) == (0, 120, {})


def test_a_probability_is_explained_by_the_store_after_its_calibrations_file_is_gone(files):
    assert files("vet", "fresh.jsonl", "--calibration", "cal.json", "--out", "out.jsonl").returncode == 0
    whole = json.loads((files.folder / "cal.json").read_text())
    (files.folder / "cal.json").unlink()
    one = lines(files.folder / "out.jsonl")[0]
    shown = json.loads(files("show", one["judgment_id"], "--json").stdout)
    assert shown["calibrations"][one["calibration"]]["identity"] == whole["identity"]
    (entry,) = json.loads(files("show", one["calibration"], "--json").stdout)["audit_log"]
    assert entry["payload"] == whole


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot read"),
        ("", "is no calibration: not valid JSON"),
        ("[1]", "is no calibration: make one with"),
        ('{"identity": {"version": 99}}', "is a calibration of version 99"),
        ('{"identity": {"version": 1}}', "is a damaged calibration"),
    ],
)
def test_a_file_that_is_no_calibration_stops_before_anything_is_asked(metajudge, content, said):
    write_jsonl(metajudge.folder / "fresh.jsonl", crowd(2))
    if content is not None:
        (metajudge.folder / "cal.json").write_text(content)
    done = metajudge("vet", "fresh.jsonl", "--calibration", "cal.json")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
