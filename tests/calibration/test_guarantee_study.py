"""The study of guaranteed thresholds on recorded judgments: its known truth and its divisions."""

import numpy as np
import pytest
from metajudge.benchmarks.guarantee_study import SplitResult, StudyCounts, broken, three_parts

from metajudge.calibration.procedures import Procedure

GRID = (0.9, 0.5)


def test_a_procedure_that_promises_too_much_is_found_broken_and_a_valid_one_is_not():
    rng = np.random.default_rng(0)
    scores = np.repeat(GRID, 100)
    correct = rng.permutation(np.arange(200) < 160)  # 80 % right, whatever the score
    valid = [Procedure(grid=GRID, starts=(0,), shares=(1.0,))]
    greedy = [Procedure(grid=GRID, starts=(at,), shares=(1.0,)) for at in (0, 1)] * 2
    rates = [
        np.mean([broken(tried, scores, correct, 0.81, 100, seed) for seed in range(100)]) for tried in (valid, greedy)
    ]
    assert 0 < rates[0] <= 0.1 + 0.02
    assert rates[1] > rates[0]


def test_an_abstention_breaks_no_promise():
    never = [Procedure(grid=(0.99,), starts=(0,), shares=(1.0,))]
    assert broken(never, np.full(50, 0.5), np.zeros(50, dtype=bool), 0.9, 50, 0) == 0


def test_parts_are_by_question_and_of_the_sizes_asked_for():
    questions = tuple(f"q{number // 3}" for number in range(300))
    part = three_parts(questions, 1, (0.3, 0.5, 0.2))
    assert [len({q for q, p in zip(questions, part, strict=True) if p == number}) for number in range(3)] == [
        30,
        50,
        20,
    ]
    assert all(len(set(part[at : at + 3])) == 1 for at in range(0, 300, 3))


def test_abstentions_count_as_no_coverage_and_no_violation():
    tally = StudyCounts(
        [SplitResult(0.8, kept=20, errors=10, questions=40, broken=1.0), SplitResult(None, questions=40, broken=0.0)]
    )
    found = tally.summary(0.9)
    assert found["coverage"] == pytest.approx(0.25)
    assert found["precision"] == 0.5
    assert (found["broken"], found["below"], found["abstained"]) == (0.5, 0.5, 0.5)
