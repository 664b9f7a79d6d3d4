"""Models as plain numbers give scikit-learn's own probabilities."""

import numpy as np
import pytest
from pydantic import TypeAdapter
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from metajudge.calibration.estimators import FLOOR, boosting, boosting_estimator, isotonic, logistic
from metajudge.calibration.model import Model


@pytest.fixture(autouse=True)
def one_thread():
    """As in a fit: small trees on several threads spend their time waiting where others work, too."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(400, 6))
    matrix[:, 3] = np.round(matrix[:, 3])
    return matrix, rng.random(400) < 1 / (1 + np.exp(-matrix @ [1, -1, 0.5, 0.3, 0, 0]))


def through_json(model):
    adapter = TypeAdapter(Model)
    return adapter.validate_json(adapter.dump_json(model))


def test_logistic_equals_scikit_learn(data):
    matrix, correct = data
    expected = LogisticRegression(C=0.1, max_iter=1000, tol=1e-9).fit(matrix, correct).predict_proba(matrix)[:, 1]
    assert through_json(logistic(matrix, correct, 0.1)).probabilities(matrix) == pytest.approx(expected, abs=1e-6)


def test_isotonic_equals_scikit_learn_beyond_its_ends_too(data):
    matrix, correct = data
    fitted = IsotonicRegression(y_min=FLOOR, y_max=1 - FLOOR, out_of_bounds="clip").fit(matrix[:, 0], correct)
    probe = np.linspace(-9, 9, 1001)[:, None]
    assert through_json(isotonic(matrix, correct)).probabilities(probe) == pytest.approx(
        fitted.predict(probe[:, 0]), abs=1e-9
    )


def test_boosting_equals_scikit_learn(data):
    matrix, correct = data
    expected = boosting_estimator(len(matrix)).fit(matrix, correct)
    model = through_json(boosting(matrix, correct))
    probe = np.vstack([matrix, np.random.default_rng(1).normal(size=(500, 6)) * 3])
    assert model.probabilities(probe) == pytest.approx(expected.predict_proba(probe)[:, 1], abs=1e-9)
    assert len(model.trees) == 30
