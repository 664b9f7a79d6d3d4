"""Fitted models as plain numbers, and the probabilities they give; scikit-learn is not needed to apply them."""

from typing import Annotated, Literal, TypeAlias

import numpy as np
from pydantic import Field
from scipy.special import expit

from metajudge.stats.arrays import Floats
from metajudge.types.frozen import Frozen


class Logistic(Frozen):
    """Logistic regression: ``p = 1 / (1 + exp(-(intercept + x coefficients)))``."""

    kind: Literal["logistic"] = "logistic"
    penalty: float = Field(description="C, the inverse strength of the L2 penalty.")
    intercept: float
    coefficients: tuple[float, ...]

    def takes(self, features: int) -> bool:
        """Whether a matrix with so many columns fits."""
        return len(self.coefficients) == features

    def probabilities(self, matrix: Floats, known: Floats | float = 0.0) -> Floats:
        """[n]; ``known`` [n] log-odds are added."""
        return np.asarray(expit(self.intercept + matrix @ np.array(self.coefficients) + known))


class Isotonic(Frozen):
    """A non-decreasing piecewise linear function of the first feature, constant beyond its ends."""

    kind: Literal["isotonic"] = "isotonic"
    x: tuple[float, ...]
    y: tuple[float, ...]

    def takes(self, features: int) -> bool:
        """Whether a matrix with so many columns fits."""
        return features > 0 and len(self.x) == len(self.y) > 0

    def probabilities(self, matrix: Floats) -> Floats:
        return np.asarray(np.interp(matrix[:, 0], self.x, self.y))


class Tree(Frozen):
    """A regression tree as parallel arrays; a node with feature -1 is a leaf. ``x <= threshold`` goes left."""

    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]

    def takes(self, features: int) -> bool:
        """Whether every way ends in a leaf: children stand behind their parents, and features exist."""
        nodes = len(self.value)
        if not nodes or {len(self.feature), len(self.threshold), len(self.left), len(self.right)} != {nodes}:
            return False
        return all(
            feature < 0 or (feature < features and node < left < nodes and node < right < nodes)
            for node, (feature, left, right) in enumerate(zip(self.feature, self.left, self.right, strict=True))
        )

    def values(self, matrix: Floats) -> Floats:
        """[n] the value of the leaf that each row ends in."""
        feature, threshold = np.array(self.feature), np.array(self.threshold)
        left, right = np.array(self.left), np.array(self.right)
        node = np.zeros(len(matrix), dtype=np.intp)
        rows = np.arange(len(matrix))
        while (open_ := feature[node] >= 0).any():
            at = rows[open_]
            here = node[at]
            goes_left = matrix[at, feature[here]] <= threshold[here]
            node[at] = np.where(goes_left, left[here], right[here])
        return np.asarray(np.array(self.value)[node])


class Boosting(Frozen):
    """Gradient boosted trees: ``p = 1 / (1 + exp(-(baseline + sum of tree values)))``; learning rate included."""

    kind: Literal["boosting"] = "boosting"
    baseline: float
    trees: tuple[Tree, ...]

    def takes(self, features: int) -> bool:
        """Whether a matrix with so many columns fits."""
        return all(tree.takes(features) for tree in self.trees)

    def probabilities(self, matrix: Floats) -> Floats:
        total = np.full(len(matrix), self.baseline)
        for tree in self.trees:
            total += tree.values(matrix)
        return np.asarray(expit(total))


Model: TypeAlias = Annotated[Logistic | Isotonic | Boosting, Field(discriminator="kind")]
