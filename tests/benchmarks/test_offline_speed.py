"""The table of what offline commands cost."""

import itertools
import sys

import pytest
from metajudge.benchmarks.offline_speed import PARSING, Cost, commands, measured, rows


def test_figures_are_medians_a_judgment_and_against_parsing():
    costs = {PARSING: [Cost(1.0, 10), Cost(2.0, 11), Cost(9.0, 12)], "vet": [Cost(30.0, 100), Cost(40.0, 90)]}
    parsing, vet = rows(costs, 1_000_000)
    assert (parsing.microseconds, parsing.ratio, parsing.megabytes) == (2.0, 1.0, 12)
    assert (vet.microseconds, vet.ratio, vet.megabytes) == (35.0, 17.5, 100)
    assert str(vet).split() == ["vet", "35.0", "17.5", "100"]


def test_what_a_command_reads_is_made_by_an_earlier_one(tmp_path):
    made = set()
    for name, command in commands(tmp_path / "in.jsonl", tmp_path).items():
        options = dict(itertools.pairwise(command))
        needed = {options[one] for one in ("--calibration", "--assessments") if one in options}
        assert needed <= made, name
        made |= {options[one] for one in ("--out", "--store") if one in options}


def test_cpu_time_of_a_process_is_measured_and_its_failure_told(tmp_path):
    assert measured([sys.executable, "-c", "sum(range(10**5))"], tmp_path).seconds > 0
    with pytest.raises(RuntimeError, match=r"ended with 1: .*out of order"):
        measured([sys.executable, "-c", "raise SystemExit('out of order')"], tmp_path)
