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
    *("repeats.support", "versions.support"),
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


@dataclass(frozen=True, slots=True)
class Base:
    """The factors of a table's rows: values [n, factors], and where they are absent."""

    values: Floats
    absent: Bools

    def rows(self, chosen: Indices) -> "Base":
        return Base(self.values[chosen], self.absent[chosen])


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

    def base(self, table: SignalTable, categories: Sequence[str]) -> Base:
        """The factors of a table's rows; ``categories`` [n] as the model knows them."""
        values, absent = (
            np.zeros((len(table), len(self.factors))),
            np.zeros((len(table), len(self.factors)), dtype=bool),
        )
        names = {"category": categories, "judge": table.judges, "side": table.sides}
        labels = {kind: np.array(values, dtype=object) for kind, values in names.items()}
        for at, factor in enumerate(self.factors):
            column = table.columns.get(factor.name)
            if factor.kind in labels:
                values[:, at] = labels[factor.kind] == factor.name
            elif factor.kind == "absent":
                values[:, at] = 1.0 if column is None else ~column.present
            elif column is None:
                absent[:, at] = True
            else:
                values[:, at], absent[:, at] = column.values, ~column.present
        return Base(values, absent)

    def matrix(self, base: Base) -> Floats:
        """[n, features] standardised."""
        fill, centre = (np.array([getattr(one, what) for one in self.factors]) for what in ("fill", "centre"))
        mean, scale, prior = (
            np.array([getattr(one, what) for one in self.features]) for what in ("mean", "scale", "prior")
        )
        raw = self._products(np.where(base.absent, fill, base.values), centre)
        raw -= mean
        raw /= scale
        raw *= prior
        return raw

    def learned(self, base: Base) -> "Design":
        """The same design with fill values, centres, means and scales of the training rows given."""
        present = ~base.absent
        means = np.where(present, base.values, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
        fill = np.where([one.kind == "signal" and one.name.startswith(SIGNED) for one in self.factors], 0.0, means)
        filled = np.where(base.absent, fill, base.values)
        # A label is there or not: products with one are the factor on the rows that have it.
        centre = np.where([one.kind in LABELS for one in self.factors], 0.0, filled.mean(axis=0))
        raw = self._products(filled, centre)
        mean, scale = raw.mean(axis=0), raw.std(axis=0)
        # Votes keep their sign, and one scale: what a rare judge says must not be blown up.
        votes = np.array([one.name.startswith("voices.") for one in self.factors], dtype=bool)
        if votes.any():
            scale = np.where(votes[self._left], np.sqrt((filled[:, votes] ** 2).mean()), scale)
        sums = np.array([one.name == "consensus.sum" for one in self.factors], dtype=bool)[self._left]
        sums &= self._times >= 0
        scale = np.where(sums, np.sqrt((raw**2).mean(axis=0)), scale)
        mean = np.where(votes[self._left] | sums, 0.0, mean)
        # A column that is constant up to rounding must not be blown up.
        scale = np.where(scale > 1e-9, scale, 1.0)
        factors = [
            one.model_copy(update={"fill": float(fill[at]), "centre": float(centre[at])})
            for at, one in enumerate(self.factors)
        ]
        features = [
            one.model_copy(update={"mean": float(mean[at]), "scale": float(scale[at])})
            for at, one in enumerate(self.features)
        ]
        return Design(factors=tuple(factors), features=tuple(features))

    def names(self) -> list[str]:
        """What each feature is made of."""
        titles = [factor.title for factor in self.factors]
        return [titles[one.factor] + ("" if one.times is None else f" * {titles[one.times]}") for one in self.features]

    @property
    def _left(self) -> Indices:
        return np.array([one.factor for one in self.features], dtype=np.intp)

    @property
    def _times(self) -> Indices:
        """-1 where there is no second factor."""
        return np.array([-1 if one.times is None else one.times for one in self.features], dtype=np.intp)

    def _products(self, filled: Floats, centre: Floats) -> Floats:
        raw, products = np.take(filled, self._left, axis=1), np.flatnonzero(self._times >= 0)
        raw[:, products] *= np.take(filled - centre, self._times[products], axis=1)
        return raw


def varying_factors(table: SignalTable, categories: Sequence[str]) -> list[Factor]:
    """The factors of a table that are not constant: signals, an indicator for each pattern of absence, and labels.

    Args:
        categories: [n] as the model is to know them.
    """
    factors: list[Factor] = []
    patterns: dict[bytes, Factor] = {}
    for name, column in sorted(table.columns.items()):
        there = column.values[column.present]
        if not len(there) or (np.ptp(there) == 0 and column.present.all()):
            continue
        factors.append(Factor(kind="signal", name=name))
        # A family that did not vote is no news beside how many peers there are.
        if not column.present.all() and not name.startswith(("peers.", "voices.")):
            patterns.setdefault(column.present.tobytes(), Factor(kind="absent", name=name))
    factors += patterns.values()
    labels: Mapping[FactorKind, Sequence[str]] = {"category": categories, "judge": table.judges, "side": table.sides}
    for kind, values in labels.items():
        names = sorted(set(values))
        factors += [Factor(kind=kind, name=name) for name in names if len(names) > 1]
    return factors


def design_of(factors: Sequence[Factor], main: Sequence[int], products: Mapping[tuple[int, int], float]) -> Design:
    """A design of main effects and products (pair of factors -> prior); factors that none of them uses are dropped."""
    used = sorted({*main, *(index for pair in products for index in pair)})
    place = {index: at for at, index in enumerate(used)}
    features = [Feature(factor=place[index]) for index in main]
    features += [
        Feature(factor=place[left], times=place[times], prior=prior) for (left, times), prior in products.items()
    ]
    return Design(factors=tuple(factors[index] for index in used), features=tuple(features))
