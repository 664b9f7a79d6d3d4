"""Marks, the wording of a guarantee, models as plain numbers, and quality of probabilities."""

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from metajudge.calibration.domain import MEANINGS, Mark, outside_domain
from metajudge.calibration.levels import Boosting, Isotonic, Logistic, Tree
from metajudge.calibration.promise import Promise
from metajudge.calibration.quality import auc, log_losses, precision_at, quality, reliability_bins
from metajudge.calibration.table import build_table
from metajudge.types import GuaranteedThreshold
from tests.doubles.crowds import crowd


def test_every_mark_has_its_meaning_and_puts_a_judgment_outside_and_other_words_do_not():
    assert set(MEANINGS) == set(Mark)
    assert len(set(MEANINGS.values())) == len(Mark)
    assert outside_domain(list(Mark)) == tuple(Mark)
    assert outside_domain(["checked_by_hand", "other_judge"]) == ("other_judge",)
    assert outside_domain([]) == ()


def test_marks_are_stored_by_these_words():
    assert " ".join(mark.value for mark in Mark) == (
        "seen_in_fit question_seen_in_fit unknown_category other_judge absent_signal more_judgments_than_declared "
        "promise_broken dependent_judges transferred no_better_than_base_rate free_evidence_is_better untested_kind"
    )


# Drift of new data against those of a fit.
FREE = ["order", "strength", "peers"]


def counts(table):
    return {name: table.categories.count(name) for name in set(table.categories)}


@pytest.fixture(scope="module")
def fitted():
    return build_table(crowd(100), FREE)


# One wording of a guarantee, never without its scope.
def promise(**changes):
    data = {"threshold": 0.72779, "target": 0.85, "delta": 0.1, "judges": ("jay", "owl"), "questions": 85}
    return Promise(**{**data, "unit": "one_per_question", **changes})


def test_a_promise_is_for_all_its_judges_together_and_none_about_those_kept_alone():
    assert promise().sentence() == (
        "Judgments by jay and owl, taken together and not each judge alone, with a probability of 0.7278 or more: with "
        "90 % confidence at least 85 % of them are right, one judgment drawn per question, on new questions like the 85 "
        "the threshold was set on."
    )
    assert "together" not in promise(judges=("owl",)).sentence()
    assert (promise().label, promise(judges=("owl",)).label) == ("guaranteed 85 %, judges together", "guaranteed 85 %")
    said = promise().sentence(present=["owl"])
    assert said.endswith("Here it decides only on judgments by owl: about these alone nothing is promised.")
    assert promise(decides=("owl",)).sentence() == said
    assert promise().sentence(present=["owl", "jay"]) == promise().sentence()
    assert "alone nothing" not in promise(judges=("owl",)).sentence(present=["owl"])


def test_what_a_sentence_of_a_promise_says_and_an_approximate_or_old_one_does_not():
    assert "one judgment drawn per question" in promise().sentence()
    assert "at least 85 % of the questions with any of them have no wrong one" in promise(unit="any_wrong").sentence()
    old = Promise.of_stamp(GuaranteedThreshold(threshold=0.7, target=0.85, delta=0.1)).sentence()
    assert "the record does not say how judgments of one question were counted" in old
    assert "does not name the judges it covers together: it may be invalid for one of them alone" in old
    assert "new questions like those the threshold was set on" in old
    assert (
        "approximate, since the scores were fitted on the same questions: nothing is proven."
        in promise(approximate=True).sentence()
    )


@pytest.mark.parametrize("one", [promise(), promise(approximate=True, unit="any_wrong", judges=("owl",))])
def test_an_assessment_carries_the_whole_promise(one):
    assert Promise.of_stamp(GuaranteedThreshold.model_validate_json(one.stamp().model_dump_json())) == one


def test_a_stamp_without_scope_is_stored_as_before():
    assert GuaranteedThreshold(threshold=0.7, target=0.85, delta=0.1).model_dump(mode="json") == {
        "threshold": 0.7,
        "target": 0.85,
        "delta": 0.1,
        "approximate": False,
    }


# Fitted models as plain numbers, and what a matrix must have to fit them.
def expit(x):
    return 1 / (1 + math.exp(-x))


STUMP = Tree(feature=(0, -1, -1), threshold=(0.5, 0, 0), left=(1, 0, 0), right=(2, 0, 0), value=(0, -1.0, 2.0))


def test_logistic_by_hand_and_isotonic_linear_between_its_points():
    model = Logistic(penalty=0.1, intercept=0.5, coefficients=(1.0, -2.0))
    found = model.probabilities(np.array([[0.0, 0.0], [2.0, 1.0], [0.0, 1.0]]))
    assert found == pytest.approx([expit(0.5), expit(0.5), expit(-1.5)])
    assert [model.takes(features) for features in (1, 2, 3)] == [False, True, False]
    model = Isotonic(x=(0.0, 2.0), y=(0.2, 0.8))
    found = model.probabilities(np.array([[-5.0, 9.0], [0.5, 9.0], [2.0, 9.0], [7.0, 9.0]]))
    assert found == pytest.approx([0.2, 0.35, 0.8, 0.8])


@pytest.mark.parametrize(
    ("x", "y", "features", "fits"),
    [((0.0,), (0.5,), 1, True), ((0.0,), (0.5,), 0, False), ((), (), 1, False), ((0.0, 1.0), (0.5,), 1, False)],
)
def test_isotonic_needs_a_feature_and_as_many_ordinates(x, y, features, fits):
    assert Isotonic(x=x, y=y).takes(features) == fits


def test_a_tree_sends_its_threshold_to_the_left_and_boosting_adds_its_trees_to_the_baseline():
    deep = Tree(
        feature=(0, 1, -1, -1, -1),
        threshold=(0.5, 3.0, 0, 0, 0),
        left=(1, 3, 0, 0, 0),
        right=(2, 4, 0, 0, 0),
        value=(0, 0, 7.0, -1.0, 1.0),
    )
    rows = np.array([[0.5, 3.0], [0.5, 3.1], [0.6, 0.0], [0.0, -1.0]])
    assert deep.values(rows).tolist() == [-1.0, 1.0, 7.0, -1.0]
    assert deep.values(np.zeros((0, 2))).tolist() == []
    model = Boosting(baseline=0.1, trees=(STUMP, STUMP))
    assert model.probabilities(np.array([[0.0], [1.0]])) == pytest.approx([expit(0.1 - 2), expit(0.1 + 4)])
    assert Boosting(baseline=0.1, trees=()).probabilities(np.zeros((1, 1))) == pytest.approx([expit(0.1)])


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({}, True),
        ({"feature": (1, -1, -1)}, False),
        ({"left": (0, 0, 0)}, False),
        ({"right": (0, 0, 0)}, False),
        ({"left": (3, 0, 0)}, False),
        ({"right": (3, 0, 0)}, False),
        ({"threshold": (0.5, 0)}, False),
        ({"value": ()}, False),
        ({"feature": (-1, -1, -1)}, True),
    ],
)
def test_a_tree_that_does_not_end_or_asks_for_what_is_not_there_is_seen(changes, fits):
    tree = STUMP.model_copy(update=changes)
    assert tree.takes(1) == fits
    assert Boosting(baseline=0.0, trees=(STUMP, tree)).takes(1) == fits
    assert not Tree(feature=(), threshold=(), left=(), right=(), value=()).takes(1), "an empty one"


# Quality of probabilities, on hand-computed examples and against scikit-learn.
def test_precision_at_a_coverage_auc_with_ties_and_a_clipped_log_loss():
    scores, correct = np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False])
    assert precision_at(scores, correct, 0.25) == 1.0
    assert precision_at(scores, correct, 0.5) == pytest.approx((1 + 0.5) / 2)
    assert precision_at(scores, correct, 1.0) == 0.5
    rng = np.random.default_rng(0)
    scores, correct = np.round(rng.random(300), 1), rng.random(300) < 0.4
    assert auc(scores, correct) == pytest.approx(roc_auc_score(correct, scores))
    assert auc(scores, np.ones(300, dtype=bool)) is None
    assert log_losses(np.array([0.5, 0.0]), np.array([True, True])) == pytest.approx([math.log(2), -math.log(1e-3)])


def test_reliability_bins_hold_every_row_once_and_intervals_resample_questions():
    found = reliability_bins(np.array([0.0, 0.05, 0.95, 1.0]), np.array([False, True, True, True]), list("abcd"))
    assert [(one.low, one.high, one.n, one.right) for one in found] == [(0.0, 0.1, 2, 0.5), (0.9, 1.0, 2, 1.0)]
    (apart,) = reliability_bins(np.full(40, 0.85), np.arange(40) % 10 < 8, [str(at) for at in range(40)])
    (alike,) = reliability_bins(np.full(40, 0.85), np.arange(40) % 10 < 8, [str(at % 10) for at in range(40)])
    assert alike.right_high - alike.right_low > 1.5 * (apart.right_high - apart.right_low)
    rng = np.random.default_rng(1)
    truth = rng.random(40)
    correct = np.repeat(rng.random(40) < truth, 10)
    values = np.repeat(np.clip(truth, 0.05, 0.95), 10)
    clustered = quality(values, correct, [f"q{n // 10}" for n in range(400)], 0)
    single = quality(values, correct, [f"q{n}" for n in range(400)], 0)
    assert clustered.brier.value == pytest.approx(single.brier.value)
    width = clustered.auc.high - clustered.auc.low
    assert width > 2 * (single.auc.high - single.auc.low)
    assert (clustered.n, clustered.questions) == (400, 40)


def test_an_interval_needs_two_questions_and_ends_at_either():
    """Of two questions one resample in four holds the first alone, and one in four the second."""
    probabilities, correct = np.array([0.9, 0.8, 0.6, 0.5]), np.ones(4, dtype=bool)
    two = quality(probabilities, correct, list("aabb"), 0).brier
    assert [two.low, two.value, two.high] == pytest.approx([0.025, 0.115, 0.205])
    one = quality(probabilities, correct, list("aaaa"), 0).brier
    assert (one.value, one.low, one.high) == (pytest.approx(0.115), None, None)
