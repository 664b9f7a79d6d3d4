"""Folds and splits by question."""

import numpy as np
import pytest

from metajudge.calibration.folds import question_folds, question_split
from metajudge.errors import InputError

QUESTIONS = [f"q{number % 17}" for number in range(100)]


def sides(questions, part):
    return {
        question: {int(side) for name, side in zip(questions, part, strict=True) if name == question}
        for question in questions
    }


def test_a_question_never_stands_in_two_folds():
    assert all(len(side) == 1 for side in sides(QUESTIONS, question_folds(QUESTIONS, 5, [0])).values())
    assert all(len(side) == 1 for side in sides(QUESTIONS, question_split(QUESTIONS, 0.3, 0)).values())


def test_folds_are_even_and_do_not_depend_on_the_order_of_rows():
    fold = question_folds(QUESTIONS, 5, [3])
    backwards = question_folds(QUESTIONS[::-1], 5, [3])
    assert np.array_equal(fold, backwards[::-1])
    counts = np.bincount([min(side) for side in sides(QUESTIONS, fold).values()])
    assert counts.max() - counts.min() <= 1


def test_a_split_gives_each_side_a_question_at_least():
    assert set(question_split(["a", "b"], 0.01, 0).tolist()) == {0, 1}


@pytest.mark.parametrize(("folds", "message"), [(18, "17 questions for 18 folds"), (1, "at least 2")])
def test_fewer_questions_than_folds_is_said(folds, message):
    with pytest.raises(InputError, match=message):
        question_folds(QUESTIONS, folds, [0])


@pytest.mark.parametrize("share", [0.0, 1.0, 50.0])
def test_a_share_that_leaves_one_side_empty_is_refused(share):
    with pytest.raises(InputError, match="strictly between"):
        question_split(QUESTIONS, share, 0)
