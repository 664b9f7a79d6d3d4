"""``metajudge calibrate`` on grades and categories."""

import json

import pytest

from metajudge.readers import write_jsonl
from tests.cli.conftest import Command
from tests.doubles.crowds import crowd
from tests.doubles.graders import graded


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    write_jsonl(folder / "labels.jsonl", graded(200))
    write_jsonl(folder / "mixed.jsonl", [*graded(4), *crowd(4)])
    return folder


@pytest.mark.slow
def test_a_threshold_on_categories_is_found_by_the_same_commands(folder):
    command = Command(folder)
    done = command("calibrate", "fit", "--data", "labels.jsonl", "--share", ".4", "--out", "c.json")
    assert done.returncode == 0, done.stderr
    assert "Verdicts: category; right by the rule equal" in done.stdout
    made = json.loads((folder / "c.json").read_text())
    assert made["identity"]["kind"] == "category"
    options = ("--calibration", "c.json", "--data", "labels.jsonl", "--target", ".7")
    done = command("calibrate", "threshold", *options, "--kind", "category", "--right", "equal")
    assert done.returncode == 0, done.stderr
    assert "right by the rule equal" in done.stdout
    assert json.loads((folder / "c.json").read_text())["guarantees"]
    for flag, value in (("--kind", "grade"), ("--right", "side:1")):
        done = command("calibrate", "threshold", *options, flag, value)
        assert done.returncode == 2
        assert f"this calibration was fitted with {flag}" in done.stderr
