"""Fitted models as plain numbers, and what a matrix must have to fit them."""

import math

import numpy as np
import pytest

from metajudge.calibration.model import Boosting, Isotonic, Logistic, Tree


def expit(x):
    return 1 / (1 + math.exp(-x))


STUMP = Tree(feature=(0, -1, -1), threshold=(0.5, 0, 0), left=(1, 0, 0), right=(2, 0, 0), value=(0, -1.0, 2.0))


def test_logistic_by_hand():
    model = Logistic(penalty=0.1, intercept=0.5, coefficients=(1.0, -2.0))
    found = model.probabilities(np.array([[0.0, 0.0], [2.0, 1.0], [0.0, 1.0]]))
    assert found == pytest.approx([expit(0.5), expit(0.5), expit(-1.5)])
    assert [model.takes(features) for features in (1, 2, 3)] == [False, True, False]


def test_isotonic_is_linear_between_its_points_and_flat_beyond():
    model = Isotonic(x=(0.0, 2.0), y=(0.2, 0.8))
    found = model.probabilities(np.array([[-5.0, 9.0], [0.5, 9.0], [2.0, 9.0], [7.0, 9.0]]))
    assert found == pytest.approx([0.2, 0.35, 0.8, 0.8])


@pytest.mark.parametrize(
    ("x", "y", "features", "fits"),
    [((0.0,), (0.5,), 1, True), ((0.0,), (0.5,), 0, False), ((), (), 1, False), ((0.0, 1.0), (0.5,), 1, False)],
)
def test_isotonic_needs_a_feature_and_as_many_ordinates(x, y, features, fits):
    assert Isotonic(x=x, y=y).takes(features) == fits


def test_a_tree_sends_its_threshold_to_the_left():
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


def test_boosting_adds_its_trees_to_the_baseline():
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


def test_an_empty_tree_fits_nothing():
    assert not Tree(feature=(), threshold=(), left=(), right=(), value=()).takes(1)
