"""From a table of signals to a matrix: filling in, indicators of absence, products, standardisation.

What is learned (fill values, centres, means, scales) comes from the training rows alone and is kept as plain numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import model_validator

from metajudge.calibration.table import SignalTable
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types.frozen import Frozen

FactorKind = Literal["signal", "absent", "category", "judge", "side"]

SIGNED = (
    *("order.signed", "peers.", "voices.", "consensus.", "rewards.", "rationale.agrees", "format.length_ratio"),
    *("repeats.support", "versions.support", "question.", "scale.gap", "scale.level_gap"),
)
"""Signals that speak for the verdict above 0 and against it below: an absent one is filled with 0.

Others are filled with the mean of the training rows.
"""

LABELS: tuple[FactorKind, ...] = ("category", "judge", "side")


class Factor(Frozen):
    """One column as it is read off a table.

    ``signal`` is a column's value, ``absent`` 1 where it has none, ``category``, ``judge`` and ``side`` 1 on the rows
    of that category, judge or answer.
    """

    kind: FactorKind
    name: str
    fill: float = 0.0
    centre: float = 0.0

    @property
    def title(self) -> str:
        return self.name if self.kind == "signal" else f"{self.kind}:{self.name}"


class Feature(Frozen):
    """A column of the matrix: a factor, or a factor times another one less its centre; standardised, times ``prior``.

    A ``prior`` below 1 makes the feature smaller, so that the same penalty shrinks its coefficient more.
    """

    factor: int
    times: int | None = None
    prior: float = 1.0
    mean: float = 0.0
    scale: float = 1.0


class Design(Frozen):
    """Everything needed to turn a table into the matrix a model was fitted on."""

    factors: tuple[Factor, ...]
    features: tuple[Feature, ...]

    @model_validator(mode="after")
    def _check_places(self) -> "Design":
        places = [place for one in self.features for place in (one.factor, one.times) if place is not None]
        if not all(0 <= place < len(self.factors) for place in places):
            raise ValueError(f"a feature points beyond the {len(self.factors)} factors")
        return self

    def matrix(self, table: SignalTable, categories: Sequence[str]) -> Floats:
        """[n, features] for a table; ``categories`` [n] as the model knows them."""
        base = BaseMatrix.of(table, categories, self.factors)
        fitted = Learned(
            np.array([factor.fill for factor in self.factors]),
            np.array([factor.centre for factor in self.factors]),
            np.array([feature.mean for feature in self.features]),
            np.array([feature.scale for feature in self.features]),
        )
        return transform(base, Layout.of(self), fitted)

    def names(self) -> list[str]:
        titles = [factor.title for factor in self.factors]
        return [
            titles[feature.factor] + ("" if feature.times is None else f" * {titles[feature.times]}")
            for feature in self.features
        ]


@dataclass(frozen=True, slots=True)
class Layout:
    """Which factors make which features, as arrays; ``times`` is -1 where there is no second factor."""

    factors: tuple[Factor, ...]
    left: Indices
    times: Indices
    prior: Floats

    @classmethod
    def of(cls, design: Design) -> "Layout":
        return cls(
            design.factors,
            np.array([feature.factor for feature in design.features], dtype=np.intp),
            np.array([-1 if feature.times is None else feature.times for feature in design.features], dtype=np.intp),
            np.array([feature.prior for feature in design.features]),
        )


@dataclass(frozen=True, slots=True)
class BaseMatrix:
    """The factors of a table's rows: values [n, factors], and where they are absent."""

    values: Floats
    absent: Bools

    @classmethod
    def of(cls, table: SignalTable, categories: Sequence[str], factors: Sequence[Factor]) -> "BaseMatrix":
        values, absent = np.zeros((len(table), len(factors))), np.zeros((len(table), len(factors)), dtype=bool)
        names = {"category": categories, "judge": table.judges, "side": table.sides}
        labels = {kind: np.array(values, dtype=object) for kind, values in names.items()}
        for at, factor in enumerate(factors):
            column = table.columns.get(factor.name)
            if factor.kind in labels:
                values[:, at] = labels[factor.kind] == factor.name
            elif factor.kind == "absent":
                values[:, at] = 1.0 if column is None else ~column.present
            elif column is None:
                absent[:, at] = True
            else:
                values[:, at], absent[:, at] = column.values, ~column.present
        return cls(values, absent)

    def rows(self, chosen: Indices) -> "BaseMatrix":
        return BaseMatrix(self.values[chosen], self.absent[chosen])


@dataclass(frozen=True, slots=True)
class Learned:
    """Learned from training rows: fill and centre [factors], mean and scale [features]."""

    fill: Floats
    centre: Floats
    mean: Floats
    scale: Floats


def learn(base: BaseMatrix, layout: Layout) -> Learned:
    """Fill values, centres, means and scales of the training rows given."""
    factors = layout.factors
    present = ~base.absent
    means = np.where(present, base.values, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    signed = np.array([factor.kind == "signal" and factor.name.startswith(SIGNED) for factor in factors])
    fill = np.where(signed, 0.0, means)
    filled = np.where(base.absent, fill, base.values)
    # A label is there or not: products with one are the factor on the rows that have it.
    centre = np.where([factor.kind in LABELS for factor in factors], 0.0, filled.mean(axis=0))
    raw = _products(filled, layout, centre)
    mean, scale = raw.mean(axis=0), raw.std(axis=0)
    # Votes keep their sign, and one scale: what a rare judge says must not be blown up.
    votes = np.array([factor.name.startswith("voices.") for factor in factors], dtype=bool)
    if votes.any():
        scale = np.where(votes[layout.left], np.sqrt((filled[:, votes] ** 2).mean()), scale)
    total = np.array([factor.name == "consensus.sum" for factor in factors], dtype=bool)[layout.left] & (
        layout.times >= 0
    )
    scale = np.where(total, np.sqrt((raw**2).mean(axis=0)), scale)
    mean = np.where(votes[layout.left] | total, 0.0, mean)
    # A column that is constant up to rounding must not be blown up.
    return Learned(fill, centre, mean, np.where(scale > 1e-9, scale, 1.0))


def transform(base: BaseMatrix, layout: Layout, fitted: Learned) -> Floats:
    """[n, features] standardised."""
    raw = _products(np.where(base.absent, fitted.fill, base.values), layout, fitted.centre)
    raw -= fitted.mean
    raw /= fitted.scale
    raw *= layout.prior
    return raw


def design_of(layout: Layout, fitted: Learned) -> Design:
    """A layout with what was learned, as numbers."""
    factors = tuple(
        factor.model_copy(update={"fill": float(fill), "centre": float(centre)})
        for factor, fill, centre in zip(layout.factors, fitted.fill, fitted.centre, strict=True)
    )
    features = tuple(
        Feature(
            factor=int(layout.left[at]),
            times=None if layout.times[at] < 0 else int(layout.times[at]),
            prior=float(layout.prior[at]),
            mean=float(fitted.mean[at]),
            scale=float(fitted.scale[at]),
        )
        for at in range(len(layout.left))
    )
    return Design(factors=factors, features=features)


def _products(filled: Floats, layout: Layout, centre: Floats) -> Floats:
    raw = np.take(filled, layout.left, axis=1)
    products = np.flatnonzero(layout.times >= 0)
    if len(products):
        times = np.take(filled - centre, layout.times[products], axis=1)
        together = products[-1] - products[0] + 1 == len(products)
        raw[:, slice(products[0], products[-1] + 1) if together else products] *= times
    return raw


def varying_factors(table: SignalTable, categories: Sequence[str], *, judges: bool) -> list[Factor]:
    """The factors of a table that are not constant: signals, one indicator for each pattern of absence, categories.

    Args:
        categories: [n] as the model is to know them.
    """
    factors: list[Factor] = []
    patterns: dict[bytes, Factor] = {}
    for name in sorted(table.columns):
        column = table.columns[name]
        there = column.values[column.present]
        if not len(there) or (np.ptp(there) == 0 and column.present.all()):
            continue
        factors.append(Factor(kind="signal", name=name))
        # A family that did not vote is no news beside how many peers there are.
        if not column.present.all() and not name.startswith(("peers.", "voices.")):
            patterns.setdefault(column.present.tobytes(), Factor(kind="absent", name=name))
    factors += list(patterns.values())
    factors += _labels("category", categories)
    if judges:
        factors += _labels("judge", table.judges)
    return factors + _labels("side", table.sides)


def _labels(kind: Literal["category", "judge", "side"], values: Sequence[str]) -> list[Factor]:
    names = sorted(set(values))
    return [Factor(kind=kind, name=name) for name in names] if len(names) > 1 else []


def layout_of(factors: Sequence[Factor], main: Sequence[int], products: Mapping[tuple[int, int], float]) -> Layout:
    """A layout of main effects and products (pair of factors -> prior); factors that none of them uses are dropped."""
    used = sorted({*main, *(index for pair in products for index in pair)})
    place = {index: at for at, index in enumerate(used)}
    pairs = list(products)
    return Layout(
        tuple(factors[index] for index in used),
        np.array([place[index] for index in (*main, *(left for left, _ in pairs))], dtype=np.intp),
        np.array([*(-1 for _ in main), *(place[times] for _, times in pairs)], dtype=np.intp),
        np.array([*(1.0 for _ in main), *products.values()]),
    )
