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
    done = metajudge("calibrate", "fit", "--data", "labelled.jsonl", "--signals", "peers", "--out", "cal.json")
    assert done.returncode == 0, done.stderr
    return metajudge


def test_a_probability_is_explained_by_the_store_after_its_calibrations_file_is_gone(files):
    assert files("vet", "fresh.jsonl", "--calibration", "cal.json", "--out", "out.jsonl").returncode == 0
    whole = json.loads((files.folder / "cal.json").read_text())
    (files.folder / "cal.json").unlink()
    one = lines(files.folder / "out.jsonl")[0]
    shown = json.loads(files("show", one["judgment_id"], "--json").stdout)
    assert shown["calibrations"][one["calibration"]]["identity"] == whole["identity"]
    (entry,) = json.loads(files("show", one["calibration"], "--json").stdout)["audit_log"]
    assert entry["payload"] == whole
