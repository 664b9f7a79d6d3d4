"""Figures by the influence of questions, against direct computation and against the bootstrap."""

import numpy as np
import pytest

from metajudge.calibration.quality import auc
from metajudge.errors import InputError
from metajudge.stats.influence import area, combined, covariances, log_ratio, mean


def made(seed, n=200, lift=1.0):
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.6
    scores = np.round(rng.normal(size=n) + lift * right, 1)
    return scores, right, [f"q{number // 2}" for number in range(n)]


def test_the_area_is_that_of_the_ranks_and_its_influences_sum_to_zero():
    scores, right, questions = made(0)
    found = area(scores, right, questions)
    assert found.estimate == pytest.approx(auc(scores, right))
    assert sum(found.by_question.values()) == pytest.approx(0, abs=1e-12)
    assert len(found.by_question) == 100


def test_the_error_is_delongs_where_each_question_has_one_judgment():
    scores, right, _ = made(1)
    found = area(scores, right, [str(number) for number in range(len(scores))])
    ones, zeros = scores[right], scores[~right]
    wins = (ones[:, None] > zeros) + 0.5 * (ones[:, None] == zeros)
    delong = wins.mean(axis=1).var(ddof=1) / len(ones) + wins.mean(axis=0).var(ddof=1) / len(zeros)
    assert np.sqrt(found.error**2 - found.most**2) == pytest.approx(np.sqrt(delong), rel=0.01)


def test_the_error_of_a_paired_difference_is_that_of_resampled_questions():
    scores, right, questions = made(2)
    other = np.round(scores + np.random.default_rng(9).normal(size=len(scores)), 1)
    found = area(scores, right, questions).minus(area(other, right, questions))
    rng, of, drawn = np.random.default_rng(0), np.array(questions), []
    rows = [np.flatnonzero(of == name) for name in dict.fromkeys(questions)]
    for _ in range(600):
        at = np.concatenate([rows[one] for one in rng.integers(0, len(rows), len(rows))])
        drawn.append(auc(scores[at], right[at]) - auc(other[at], right[at]))
    assert found.error == pytest.approx(np.std(drawn), rel=0.15)


def test_copied_judgments_of_a_question_are_no_further_evidence():
    scores, right, _ = made(3)
    alone = area(scores, right, [str(number) for number in range(len(scores))]).error
    copied = area(np.tile(scores, 3), np.tile(right, 3), [str(number) for number in range(len(scores))] * 3)
    assert np.sqrt(copied.error**2 - copied.most**2) == pytest.approx(np.sqrt(alone**2 - (1 / (~right).sum()) ** 2))


def test_two_equal_scores_differ_by_nothing_but_are_not_known_exactly():
    scores, right, questions = made(4)
    one = area(scores, right, questions)
    found = one.minus(one).effect()
    assert found.estimate == 0
    assert found.low < 0 < found.high
    assert found.p_value == 1


def test_an_area_needs_right_and_wrong_ones():
    with pytest.raises(InputError, match="3 are right and 0 wrong"):
        area([1, 2, 3], [1, 1, 1], ["a", "b", "c"])
    with pytest.raises(InputError, match="not finite"):
        area([1, np.nan], [1, 0], ["a", "b"])
    with pytest.raises(InputError, match="give one each"):
        area([1, 2], [1, 0], ["a"])


def test_the_interval_of_a_mean_is_students_but_for_one_more_question():
    values = [0.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    found = mean(values, list("abcdef"))
    assert np.sqrt(found.error**2 - found.most**2) == pytest.approx(np.std(values, ddof=1) / np.sqrt(6))


def test_the_log_of_a_ratio_moves_by_its_parts():
    found = log_ratio([2.0, 4.0, 6.0], [1, 1, 0], ["a", "b", "c"])
    assert found.estimate == pytest.approx(np.log(6))
    assert found.by_question["c"] == pytest.approx(0.5)
    with pytest.raises(InputError, match="no logarithm"):
        log_ratio([2.0], [0], ["a"])


def test_figures_of_other_questions_are_independent_and_those_of_the_same_are_not():
    scores, right, questions = made(5)
    one = area(scores, right, questions)
    other = area(scores, right, [f"other {name}" for name in questions])
    assert covariances([one, other])[0, 1] == pytest.approx(0)
    same = covariances([one, one])
    assert same[0, 1] == pytest.approx(same[0, 0] - one.most**2)
    assert combined([one, one], [0.5, 0.5]).error > combined([one, other], [0.5, 0.5]).error


@pytest.mark.slow
def test_intervals_of_differences_cover_at_least_their_level():
    """Planted difference 0: scores of equal quality, few distinct values, 60 questions."""
    rng, outside, runs = np.random.default_rng(7), 0, 2000
    for _ in range(runs):
        right = rng.random(60) < 0.6
        one, other = (np.where(rng.random(60) < 0.75, right, ~right).astype(float) for _ in range(2))
        questions = [str(number) for number in range(60)]
        found = area(one, right, questions).minus(area(other, right, questions)).effect(0.95)
        outside += not found.low <= 0 <= found.high
    assert outside / runs <= 0.055
