"""Models that know categories to some depth, and which of them answers for a judgment."""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from metajudge.calibration.design import Design
from metajudge.calibration.domain import Mark
from metajudge.calibration.fallback import draw_in
from metajudge.calibration.model import Logistic, Model
from metajudge.calibration.predictions import Marks, Named
from metajudge.calibration.shipped import Shrink
from metajudge.calibration.table import SignalTable
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types.frozen import Frozen

AT_ONCE = 65_536
"""Rows whose matrix of features is in memory together."""

Depth: TypeAlias = Literal["full", "parent", "none"]


class Level(Frozen):
    """A model that knows categories to some depth: ``full`` names, their ``parent`` (``A/B`` of ``A/B/C``), or none.

    The coarser ones answer for categories that were not fitted on, with log-odds drawn to ``centre`` by ``slope`` (see
    :mod:`metajudge.calibration.fallback`).
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

    def known_as(self, category: str) -> str | None:
        """The name under which this level knows a category, None where it does not."""
        name = category_at(category, self.depth)
        return name if self.depth == "none" or name in self.categories else None

    def probabilities(self, table: SignalTable, rows: Indices) -> Floats:
        """P(correct) of chosen rows of a table; memory does not grow with their number."""
        found = np.zeros(len(rows))
        for start in range(0, len(rows), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            one = table.select(rows[part])
            names = [category_at(category, self.depth) for category in one.categories]
            matrix = self.design.matrix(one, names)
            if self.prior is not None and isinstance(self.model, Logistic):
                right = self.model.probabilities(matrix, self.prior.odds(one))
            else:
                right = self.model.probabilities(matrix)
            found[part] = draw_in(right, self.slope, self.centre)
        return found

    def mark(self, table: SignalTable, rows: Bools, marks: Marks) -> None:
        """Marks rows of unknown categories and, where no signal was ever absent in the fit, those that lack one."""
        marks.add(Mark.UNKNOWN_CATEGORY, rows & ~Named.of(table.categories).among(self.categories))
        factors = self.design.factors
        may_be_absent = {factor.name for factor in factors if factor.kind == "absent"}
        if may_be_absent:
            return
        for factor in factors:
            if factor.kind != "signal" or factor.name.startswith(("peers.", "voices.")):
                continue
            column = table.columns.get(factor.name)
            marks.add(Mark.ABSENT_SIGNAL, rows if column is None else rows & ~column.present)


def answering(levels: Sequence[Level], table: SignalTable, rows: Indices) -> Iterator[tuple[Level, Indices]]:
    """Each level with the rows for which it is the first that knows the category."""
    categories = Named.of([table.categories[row] for row in rows.tolist()])
    first = [next(at for at, one in enumerate(levels) if one.known_as(name) is not None) for name in categories.names]
    of_row = np.array(first, dtype=np.intp)[categories.codes] if first else np.zeros(0, dtype=np.intp)
    for at, level in enumerate(levels):
        mine = rows[of_row == at]
        if len(mine):
            yield level, mine


def category_at(category: str, depth: str) -> str:
    """A category as a level knows it: ``A/B/C``, its parent ``A/B`` (a name without a slash is its own), or nothing."""
    if depth == "none":
        return ""
    return category.rpartition("/")[0] or category if depth == "parent" else category
