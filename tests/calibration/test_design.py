"""From signals to a matrix: filled in, indicators of absence, products, standardised; learned from training rows alone."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from metajudge.calibration.design import (
    BaseMatrix,
    Design,
    Factor,
    Feature,
    layout_of,
    learn,
    transform,
)
from metajudge.calibration.table import build_table
from metajudge.evidence.consensus import Column
from tests.doubles.crowds import crowd


@pytest.fixture(scope="module")
def table():
    made = build_table(crowd(20), ["order", "strength"])
    there = np.arange(len(made)) % 4 > 0
    columns = {
        "order.signed": Column(np.where(there, 1.0, 0.0), there),
        "format.words": Column(np.arange(len(made), dtype=np.float64), np.ones(len(made), dtype=bool)),
        "agents.mean": Column(np.where(there, 4.0 + np.arange(len(made)) % 3, 0.0), there),
        "peers.of:x": Column(np.where(there, 0.5, 0.0), there),
        "strength.strong": Column(np.ones(len(made)), np.ones(len(made), dtype=bool)),
    }
    return replace(made, columns=columns)


def signal(name):
    return Factor(kind="signal", name=name)


def base(values, absent=None):
    values = np.array(values, dtype=np.float64)
    return BaseMatrix(values, np.zeros(values.shape, dtype=bool) if absent is None else np.array(absent))


def test_an_absent_signed_signal_is_filled_with_nothing_and_others_with_their_mean():
    layout = layout_of([signal("order.signed"), signal("agents.mean")], [0, 1], {})
    rows = base([[1, 4], [0, 0], [1, 2]], [[False, False], [True, True], [False, False]])
    fitted = learn(rows, layout)
    assert fitted.fill.tolist() == [0, 3]
    assert fitted.centre.tolist() == pytest.approx([2 / 3, 3])


def test_columns_are_standardised_by_the_training_rows_and_weighed_by_their_prior():
    layout = layout_of([signal("x"), signal("y")], [0], {(0, 1): 0.5})
    train = base([[1, 2], [3, 6]])
    fitted = learn(train, layout)
    assert transform(train, layout, fitted)[:, 0].tolist() == [-1, 1]
    raw = np.array([1 * (2 - 4.0), 3 * (6 - 4.0)])
    assert transform(train, layout, fitted)[:, 1] == pytest.approx(0.5 * (raw - raw.mean()) / raw.std())
    other = transform(base([[5, 4]]), layout, fitted)
    assert other[0, 0] == 3
    assert other[0, 1] == pytest.approx(0.5 * (0 - raw.mean()) / raw.std())


def test_products_with_the_consensus_keep_their_sign():
    """Of a vote for and one against, 1 or 3 times another factor less its mean of 2: (1 * -1, -1 * 1)."""
    layout = layout_of([signal("x"), signal("consensus.sum")], [1], {(1, 0): 1.0})
    fitted = learn(base([[1, 1], [3, -1], [2, 3]]), layout)
    assert fitted.mean.tolist() == [1, 0]  # the sum itself is centred, its product is not
    assert fitted.scale == pytest.approx([np.sqrt(8 / 3), np.sqrt(2 / 3)])


def test_a_constant_column_is_not_blown_up():
    layout = layout_of([signal("x")], [0], {})
    fitted = learn(base([[2.0], [2.0 + 1e-12]]), layout)
    assert fitted.scale.tolist() == [1.0]
    assert abs(transform(base([[3.0]]), layout, fitted)[0, 0] - 1) < 1e-6


@pytest.mark.parametrize("feature", [Feature(factor=1), Feature(factor=0, times=1), Feature(factor=-1)])
def test_a_feature_beyond_the_factors_is_refused(feature):
    with pytest.raises(ValidationError, match="points beyond the 1 factors"):
        Design(factors=(signal("x"),), features=(feature,))
    Design(factors=(signal("x"),), features=(Feature(factor=0, times=0),))
