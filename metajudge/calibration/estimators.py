"""Fitting with scikit-learn; what was learned leaves as plain numbers."""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from metajudge.calibration.model import Boosting, Isotonic, Logistic, Tree
from metajudge.stats.arrays import Bools, Floats

FLOOR = 0.02
"""Isotonic regression says nothing more extreme than this: a pure block of few rows is no certainty."""


def logistic(matrix: Floats, correct: Bools, penalty: float, weights: Floats | None = None) -> Logistic:
    """Fits an L2-penalised logistic regression on standardised columns."""
    # A few exact Newton steps: faster than many approximate ones where there are far more rows than columns.
    fitted = LogisticRegression(C=penalty, solver="newton-cholesky", max_iter=1000, tol=1e-6)
    fitted.fit(matrix, correct, sample_weight=weights)
    return Logistic(
        penalty=penalty,
        intercept=float(fitted.intercept_[0]),
        coefficients=tuple(float(value) for value in fitted.coef_[0]),
    )


def isotonic(matrix: Floats, correct: Bools, weights: Floats | None = None) -> Isotonic:
    """Fits an isotonic regression on the first column."""
    fitted = IsotonicRegression(y_min=FLOOR, y_max=1 - FLOOR, out_of_bounds="clip").fit(
        matrix[:, 0], correct.astype(np.float64), sample_weight=weights
    )
    return Isotonic(
        x=tuple(float(value) for value in fitted.X_thresholds_), y=tuple(float(value) for value in fitted.y_thresholds_)
    )


def boosting_estimator(rows: int, seed: int = 0) -> Any:
    """The gradient boosting that :func:`boosting` fits: small trees for small data."""
    large = rows > 10_000
    return HistGradientBoostingClassifier(
        max_iter=100 if large else 30,
        learning_rate=0.1 if large else 0.13,
        max_leaf_nodes=15 if large else 6,
        min_samples_leaf=60 if large else 30,
        l2_regularization=5,
        early_stopping=False,
        random_state=seed,
    )


def boosting(matrix: Floats, correct: Bools, seed: int = 0, weights: Floats | None = None) -> Boosting:
    """Fits gradient boosted trees."""
    fitted = boosting_estimator(len(matrix), seed).fit(matrix, correct, sample_weight=weights)
    # There is no public view of the fitted trees; tests compare the probabilities with scikit-learn's own.
    trees = tuple(_tree(predictors[0].nodes) for predictors in fitted._predictors)
    return Boosting(baseline=float(np.ravel(fitted._baseline_prediction)[0]), trees=trees)


def _tree(nodes: Any) -> Tree:
    leaf = nodes["is_leaf"].astype(bool)
    return Tree(
        feature=tuple(int(value) for value in np.where(leaf, -1, nodes["feature_idx"])),
        threshold=tuple(float(value) for value in np.where(leaf, 0.0, nodes["num_threshold"])),
        left=tuple(int(value) for value in np.where(leaf, 0, nodes["left"])),
        right=tuple(int(value) for value in np.where(leaf, 0, nodes["right"])),
        value=tuple(float(value) for value in nodes["value"]),
    )
