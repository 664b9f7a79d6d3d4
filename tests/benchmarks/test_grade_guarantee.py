"""Guaranteed thresholds on grades keep their promise in a made population."""

import numpy as np
import pytest
from metajudge.benchmarks.grade_guarantee import population, study, true_precision


def test_the_population_has_biases_and_labels():
    records = list(population(400, 0))
    right = {judge: np.mean([one.correct for one in records if one.judge == judge]) for judge in ("ash", "fir")}
    assert right["ash"] > right["fir"] + 0.2
    grades = [one.verdict.value for one in records if one.judge == "oak"]
    assert np.mean(np.array(grades) == 4.0) > 0.6


def test_precision_is_that_of_one_judgment_drawn_from_each_question():
    scores, correct = np.array([0.9, 0.9, 0.9, 0.1]), np.array([True, False, True, False])
    precision, coverage = true_precision(scores, correct, np.array([0, 0, 1, 1]), 0.5)
    assert precision == pytest.approx(1.0 / 1.5)
    assert coverage == 0.75


@pytest.mark.slow
def test_promises_on_grades_are_broken_at_most_as_often_as_allowed():
    for one in study(fits=4, draws=50, delta=0.1, seed=1, questions=3000):
        assert one.rate <= 0.1 + 2 * max(one.error, (0.1 * 0.9 / 200) ** 0.5)
        assert one.coverage > 0.2
