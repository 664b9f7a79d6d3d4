"""``metajudge demo``: what it prints is what vetting does, and it leaves one report behind."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from metajudge import vet
from metajudge.types import Judgment
from metajudge.vetting.demo import demonstrate, sample_text

ROOT = Path(__file__).parents[2]


def demo(folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "metajudge", "demo", *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        timeout=120,
    )


def test_it_keeps_exactly_what_vetting_keeps():
    judgments = [Judgment.model_validate_json(line) for line in sample_text().splitlines()]
    vetted = vet(judgments, calibration="none")
    kept = {one.judgment_id for one in vetted if one.accepted}
    found = demonstrate()
    right = sum(bool(one.correct) for one in judgments if one.id in kept)
    assert (found.rows["kept"].n, found.rows["kept"].right) == (len(kept), right)
    assert found.rows["discarded"].n == sum(one.accepted is False for one in vetted)
    by_id = {one.judgment_id: one for one in vetted}
    for example in (found.example_kept, found.example_discarded, *found.fooled):
        assert example.assessment == by_id[example.judgment.id]
    assert found.example_kept.right
    assert not found.example_discarded.right
    assert not any(one.right for one in found.fooled)


def test_it_leaves_one_report_and_a_terminal_without_these_letters_gets_others(tmp_path):
    done = demo(tmp_path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert [one.name for one in tmp_path.iterdir()] == ["demo-report.html"]
    assert "##############......" in done.stdout.decode("ascii")


@pytest.mark.slow
def test_the_report_of_the_sample_stands_where_it_says_and_overwrites_no_other_file(tmp_path):
    report = tmp_path / "demo-report.html"
    for _ in range(2):  # its own report is replaced
        done = demo(tmp_path)
        assert (done.returncode, b"Report: demo-report.html" in done.stdout) == (0, True), done.stderr
    page = report.read_text("utf-8")
    assert re.search(r"Keep \d+ of 96: \d+ % right", page)
    assert "measures nothing" in page
    assert "<script" not in page
    report.write_text("mine")
    assert b"No report: demo-report.html is another file" in demo(tmp_path).stdout
    assert report.read_text() == "mine"
    assert demo(tmp_path, "--report", "page.txt").returncode == 2
