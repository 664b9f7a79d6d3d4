"""The study of kinds: its baselines, and its tables."""

import numpy as np
import pytest
from metajudge.benchmarks.kinds_study import SETS, at_shares, compared, guaranteed, lines, posteriors

from metajudge.calibration.table import build_table
from tests.doubles.graders import chosen, graded


def test_posteriors_without_labels_find_the_better_judgments():
    for records in (graded(150), chosen(100)):
        found = posteriors(records)
        assert found.keys() == {one.id for one in records}
        right = np.array([found[one.id] for one in records if one.correct])
        wrong = np.array([found[one.id] for one in records if not one.correct])
        assert right.mean() > wrong.mean() + 0.2


@pytest.mark.slow
def test_where_the_right_answer_stands_in_the_record_is_no_evidence():
    """All judges guess; the right response is always A."""
    skills = dict.fromkeys(("owl", "wren", "jay"), 0.0)
    records = [one for one in chosen(200, skills=skills) if one.item.label.winner == "A"]
    found = posteriors(records)
    means = [np.mean([found[one.id] for one in records if one.correct is is_right]) for is_right in (True, False)]
    assert means[0] - means[1] < 0.05


def test_shares_are_of_the_best():
    found = at_shares(np.arange(10) / 10, np.arange(10) >= 6)
    assert (found["40%"], found["80%"]) == (100, 50)


def test_tables_have_a_row_a_method_and_a_target():
    table = build_table(graded(60), ["peers"])
    scores = [np.linspace(0, 1, len(table))] * 2
    methods = list(compared(table, posteriors(graded(60)), scores))
    assert [one["method"].partition(" (")[0] for one in methods] == [
        "calibrated",
        "Dawid-Skene",
        "majority of peers",
        "best single signal",
    ]
    assert methods[0]["40% sd"] == 0
    found = {"set": next(iter(SETS)), "n": 1, "questions": 1, "raw": 50.0, "methods": methods}
    row = {"target": 0.9, "coverage": 0.0, "precision": None, "abstained": 2, "splits": 2, "approximate": 0.1}
    text = list(lines([found | {"guarantees": [row]}]))
    assert text[2].endswith("(0.0) |")
    assert text[-1].endswith("| 0.9 | 0 % | - | 2 of 2 | 10 % |")


def test_thresholds_are_measured_on_questions_that_neither_step_saw():
    table = build_table(graded(60), ["peers"])
    found = list(guaranteed(table, 1, [np.full(len(table), 0.5)]))
    assert [one["target"] for one in found] == [0.85, 0.9]
    assert all(0 <= one["coverage"] <= 1 for one in found)
