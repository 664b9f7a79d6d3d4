"""Sequential tests over a grid of thresholds or in ranks, bets, folds and splits by question."""

import numpy as np
import pytest
from scipy.stats import binom

from metajudge.calibration.folds import question_folds, question_split
from metajudge.calibration.labelled_sample import LabelledSample, anytime_p_values
from metajudge.calibration.procedures import (
    START,
    Procedure,
    Reference,
    Setting,
    fewest_kept,
    floor_for,
    last_rejected,
    procedure_in_ranks,
    rounded,
)
from metajudge.errors import InputError
from tests.calibration.populations import DELTA, SHAPES, violations

GRID = tuple(float(value) for value in (np.arange(59, -1, -1) + 0.5) / 60)


def uncorrected(kept, errors, target, delta, procedure, questions):
    """What must not be done: every threshold tested at the whole of delta."""
    passed = (binom.cdf(errors, np.maximum(kept, 1), 1 - target) <= delta) & (kept > 0)
    return np.where(passed.any(axis=1), passed.shape[1] - 1 - passed[:, ::-1].argmax(axis=1), -1)


def test_the_search_ends_at_the_first_that_does_not_pass_and_the_simulation_would_notice_none():
    shape = SHAPES["flat at the target less a hair"]
    procedure = Procedure(grid=GRID)
    assert violations(shape, procedure, np.random.default_rng(17), 2000, uncorrected) > 2 * DELTA
    p_values = np.random.default_rng(3).random((50, len(GRID))) * 0.2
    together = last_rejected(p_values, DELTA)
    assert together.tolist() == [int(last_rejected(one, DELTA)) for one in p_values]
    assert len(set(together.tolist())) > 1
    assert int(last_rejected(np.array([0.01, 0.1, 0.2, 0.01]), 0.1)) == 1
    assert int(last_rejected(np.array([0.11, 0.01]), 0.1)) == -1


@pytest.mark.parametrize("share", [0.1, 0.025])
def test_the_fewest_kept_is_the_first_number_that_passes_without_errors(share):
    n = fewest_kept(0.9, share)
    assert binom.cdf(0, n, 0.1) <= share < binom.cdf(0, n - 1, 0.1)


# Bets that may be looked at after any label.
def test_looking_after_every_label_keeps_the_level_and_more_labels_never_take_a_rejection_back():
    rng, broken, repetitions = np.random.default_rng(3), 0, 1000
    for _ in range(repetitions):
        kept = rng.integers(1, 4, size=(150, 1))
        errors = kept * (rng.random((150, 1)) < 0.15)  # all of a question or none: exactly the target
        broken += anytime_p_values(errors, kept, 0.85, 3)[0] <= 0.1
    assert broken / repetitions <= 0.1 + 2 * np.sqrt(0.09 / repetitions)
    kept, errors = np.ones((200, 1), int), np.zeros((200, 1), int)
    early = anytime_p_values(errors[:80], kept[:80], 0.9, 1)[0]
    errors[80:] = 1
    assert anytime_p_values(errors, kept, 0.9, 1)[0] <= early < 0.01


# Folds and splits by question.
QUESTIONS = [f"q{number % 17}" for number in range(100)]


def sides(questions, part):
    return {
        question: {int(side) for name, side in zip(questions, part, strict=True) if name == question}
        for question in questions
    }


def test_folds_are_even_by_question_whatever_the_order_and_a_split_gives_each_side_one():
    assert all(len(side) == 1 for side in sides(QUESTIONS, question_folds(QUESTIONS, 5, [0])).values())
    assert all(len(side) == 1 for side in sides(QUESTIONS, question_split(QUESTIONS, 0.3, 0)).values())
    fold = question_folds(QUESTIONS, 5, [3])
    backwards = question_folds(QUESTIONS[::-1], 5, [3])
    assert np.array_equal(fold, backwards[::-1])
    counts = np.bincount([min(side) for side in sides(QUESTIONS, fold).values()])
    assert counts.max() - counts.min() <= 1
    assert set(question_split(["a", "b"], 0.01, 0).tolist()) == {0, 1}


# Procedures in ranks of scores without labels.
NAMES = ("ranks", "e_process")
SCORES = np.random.default_rng(0).normal(size=200)


def kept_by(procedure, scores):
    return [int((rounded(scores) >= one).sum()) for one in procedure.grid]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("most", [1, 3])
def test_any_increasing_change_of_the_scores_changes_no_rank(name, most):
    places = None if most == 1 else [f"q{number // 3}" for number in range(200)]
    setting = Setting(0.85, 0.1, 90, most)
    plain = procedure_in_ranks(name, Reference.of(SCORES, places), setting)
    for change in (lambda x: 0.6 * x, lambda x: 1.6 * x, lambda x: x + 1, np.exp):
        other = procedure_in_ranks(name, Reference.of(change(SCORES), places), setting)
        assert other.credited == plain.credited
        assert kept_by(plain, SCORES) == kept_by(other, change(SCORES))


def start_share(number, target=0.85, most=1, places=None):
    made = procedure_in_ranks("ranks", Reference.of(SCORES, places), Setting(target, 0.1, number, most))
    return float((made.grid[0] <= SCORES).mean())


def test_the_start_keeps_more_with_few_labels():
    assert start_share(100) == START
    # 22 right ones are needed at .9: with 60 questions, 27 are kept, so that 22 are nearly always drawn.
    assert start_share(60, 0.9) == pytest.approx(27 / 60, abs=0.02)
    assert start_share(400) < 0.25
    places = [f"q{number // 8}" for number in range(200)]
    assert 0.03 < start_share(1000, 0.8, 8, places) < START
    made = procedure_in_ranks("ranks", Reference.of(SCORES, places), Setting(0.8, 0.1, 1000, 8))
    assert made.credited in (6, 7)  # nine tenths of the questions keep at most so many of their eight at 60 %
    alone = procedure_in_ranks("ranks", Reference.of(SCORES, None), Setting(0.8, 0.1, 1000, 8))
    assert alone.credited is None  # nothing is known of how many a question keeps


@pytest.mark.parametrize(
    ("probabilities", "target", "kept"),
    [
        ([*[1.0] * 50, *[0.5] * 50], 0.8, 81),  # 50 sure ones carry 31 of .5 down to a mean of .809, and 32 to .805
        ([*[0.9] * 40, *[0.1] * 60], 0.99, 40),  # not even the best reach it: the start has to lie above the floor
        ([0.95] * 90, 0.9, None),
    ],
)
def test_a_floor_lies_where_what_is_foreseen_falls_below_the_target_and_never_above_the_start(
    probabilities, target, kept
):
    values = np.array(probabilities) - np.arange(len(probabilities)) * 1e-6
    floor = floor_for(values[::-1], target)
    below = 0 if floor is None else int((rounded(values) < floor).sum())
    if kept is None:
        assert floor is None
    elif kept == 40:
        assert len(values) - below == np.ceil(START * len(values))
    else:
        mean = np.cumsum(values) / np.arange(1, 101)
        assert mean[len(values) - below - 1] >= target - 0.02 > mean[len(values) - below]


def test_above_a_floor_no_threshold_lies_below_and_shares_are_of_the_questions_above():
    reference = Reference.of(SCORES, None)
    floor = float(np.sort(rounded(SCORES))[100])
    made = procedure_in_ranks("ranks", reference, Setting(0.85, 0.1, 90, 1), floor)
    assert min(made.grid) == floor
    assert kept_by(made, SCORES)[0] == START * 100
    pairs = Reference.of([0.9, 0.1, 0.2, 0.3], ["a", "a", "b", "b"]).above(0.5)
    assert pairs.scores.tolist() == [0.9, 0.1]  # a question is drawn with all its judgments


# Labelled judgments by question.
SAMPLE = LabelledSample.of([0.9, 0.8, 0.9, 0.1], [True, False, True, True], ["b", "b", "a", "c"])


def test_counts_are_by_question_and_order_whatever_is_added_or_set_aside():
    counts = SAMPLE.counts([0.9, 0.5])
    assert SAMPLE.names == ("a", "b", "c")
    assert counts.kept.tolist() == [[1, 1], [1, 2], [0, 0]]
    assert counts.errors.tolist() == [[0, 0], [0, 1], [0, 0]]
    assert (counts.questions, counts.judgments, SAMPLE.most) == (3, 4, 2)
    early = LabelledSample.of([0.5] * 20, [True] * 20, [f"q{at}" for at in range(20)])
    late = LabelledSample.of([0.5] * 40, [True] * 40, [f"q{at}" for at in range(40)])
    first = early.in_order({}).names
    assert late.in_order({name: 1 if name in first else 2 for name in late.names}).names[:20] == first
    names = [f"q{at // 2}" for at in range(80)]
    scores = np.linspace(0, 1, 80)
    kept, reference = LabelledSample.of(scores, [True] * 80, names).set_aside()
    other, _ = LabelledSample.of(scores[::-1], [False] * 80, names[::-1]).set_aside()
    assert kept.names == other.names
    assert (len(kept.names), int(reference.place.max()) + 1) == (34, 6)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        *((lambda grid=grid: Procedure(grid=grid), "must fall") for grid in ((0.5, 0.9), (0.9, 0.9), ())),
        (lambda: question_folds(QUESTIONS, 18, [0]), "17 questions for 18 folds"),
        (lambda: question_folds(QUESTIONS, 1, [0]), "at least 2"),
        *((lambda share=share: question_split(QUESTIONS, share, 0), "strictly between") for share in (0.0, 1.0, 50.0)),
        (lambda: Reference.of([float("nan")], None), "finite numbers"),
        (lambda: Reference.of([0.1, 0.2], ["a"]), "match one to one"),
    ],
)
def test_what_would_not_be_valid_is_refused(made, message):
    with pytest.raises(InputError, match=message):
        made()
