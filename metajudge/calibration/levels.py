"""Fitted models as plain numbers, to what depth they know categories, and which of them answers for a judgment.

scikit-learn is not needed to apply them.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, TypeAlias

import numpy as np
from pydantic import Field, model_validator
from scipy.special import expit, logit

from metajudge.calibration.design import Design
from metajudge.calibration.domain import Mark
from metajudge.calibration.predictions import Marks, Named
from metajudge.calibration.shipped import Shrink
from metajudge.calibration.table import SignalTable
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types.frozen import Frozen

AT_ONCE = 65_536
"""Rows whose matrix of features is in memory together."""

EDGE = 1e-6
"""Probabilities nearer to 0 or 1 count as this before their log-odds are drawn in."""

UNKNOWN = 0.8
"""Slope of log-odds for categories that were not fitted on: evidence from other tasks says less about a new one."""

Depth: TypeAlias = Literal["full", "parent", "none"]


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


class Level(Frozen):
    """A model that knows categories to some depth: ``full`` names, their ``parent`` (``A/B`` of ``A/B/C``), or none.

    The first level that knows a category answers, else the last one: with what holds for all categories, its log-odds
    drawn to ``centre`` by :data:`UNKNOWN`. Files of earlier versions have several levels with slopes of their own.
    """

    depth: Depth
    categories: tuple[str, ...]
    design: Design
    model: Model
    slope: float = 1.0
    centre: float = 0.0
    prior: Shrink | None = Field(default=None, exclude_if=lambda given: given is None)

    @model_validator(mode="after")
    def _check_shapes(self) -> "Level":
        """A file that was cut or edited must not fail later, or worse: answer."""
        if not self.model.takes(len(self.design.features)):
            raise ValueError(f"the model does not fit its design of {len(self.design.features)} features")
        return self

    def knows(self, category: str) -> bool:
        """Whether a category was fitted on, as far as this level tells them apart."""
        return self.depth == "none" or category_at(category, self.depth) in self.categories

    def probabilities(self, table: SignalTable, rows: Indices) -> Floats:
        """P(correct) of chosen rows of a table; memory does not grow with their number."""
        found = np.zeros(len(rows))
        for start in range(0, len(rows), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            one = table.select(rows[part])
            matrix = self.design.matrix(
                self.design.base(one, [category_at(name, self.depth) for name in one.categories])
            )
            if self.prior is not None and isinstance(self.model, Logistic):
                right = self.model.probabilities(matrix, self.prior.odds(one))
            else:
                right = self.model.probabilities(matrix)
            slope = np.where([self.knows(name) for name in one.categories], self.slope, UNKNOWN)
            if (slope != 1).any():
                odds = logit(np.clip(right, EDGE, 1 - EDGE))
                right = np.where(slope == 1, right, expit(self.centre + slope * (odds - self.centre)))
            found[part] = right
        return found

    def mark(self, table: SignalTable, rows: Bools, marks: Marks) -> None:
        """Marks rows of unknown categories and, where no signal was ever absent in the fit, those that lack one."""
        marks.add(Mark.UNKNOWN_CATEGORY, rows & ~Named.of(table.categories).among(self.categories))
        factors = self.design.factors
        if any(factor.kind == "absent" for factor in factors):
            return
        for factor in factors:
            if factor.kind != "signal" or factor.name.startswith(("peers.", "voices.")):
                continue
            column = table.columns.get(factor.name)
            marks.add(Mark.ABSENT_SIGNAL, rows if column is None else rows & ~column.present)


def answering(levels: Sequence[Level], table: SignalTable, rows: Indices) -> Iterator[tuple[Level, Indices]]:
    """Each level with the rows for which it is the first that knows the category, or the last."""
    categories = Named.of([table.categories[row] for row in rows.tolist()])
    first = [next((at for at, one in enumerate(levels) if one.knows(name)), -1) for name in categories.names]
    of_row = (np.array(first, dtype=np.intp) % len(levels))[categories.codes] if first else np.zeros(0, dtype=np.intp)
    for at, level in enumerate(levels):
        mine = rows[of_row == at]
        if len(mine):
            yield level, mine


def category_at(category: str, depth: Depth) -> str:
    """A category as a level knows it: ``A/B/C``, its parent ``A/B`` (a name without a slash is its own), or nothing."""
    if depth == "none":
        return ""
    return category.rpartition("/")[0] or category if depth == "parent" else category
