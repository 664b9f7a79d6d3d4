"""Pearson's correlation and Kendall's tau-b of places, many at once, with what cannot be computed left out."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from metajudge.stats.arrays import Bools, Floats, Indices

Measure: TypeAlias = Literal["pearson", "kendall"]
MEASURES: tuple[Measure, ...] = ("pearson", "kendall")

DEFINED, TOO_FEW, CONSTANT, CONSTANT_REFERENCE = range(4)
REASONS = {
    TOO_FEW: "fewer than two models in common",
    CONSTANT: "all models share one place, so no correlation is defined",
    CONSTANT_REFERENCE: "the reference puts all models in one place, so no correlation is defined",
}
_DIGITS = 9
"""Places are compared after rounding: means of optima carry float noise."""


@dataclass(frozen=True, slots=True)
class Correlations:
    """Correlations of N rankings with one reference each.

    Attributes:
        values: [N] in [-1, 1]; 0 where not defined, so look at ``defined`` first.
        states: [N] :data:`DEFINED` or why there is no value, see :data:`REASONS`.
    """

    values: Floats
    states: Indices

    @property
    def defined(self) -> Bools:
        """[N]: whether there is a value."""
        return np.asarray(self.states == DEFINED)

    def why(self) -> dict[str, int]:
        """How many have no value, by reason."""
        counts = Counter(int(state) for state in self.states if state != DEFINED)
        return {REASONS[state]: count for state, count in sorted(counts.items())}


def correlate(places: Floats, there: Bools, reference: Floats, known: Bools, measure: Measure) -> Correlations:
    """Correlates rankings with references over the models both of them place.

    Pearson's correlation of places is Spearman's rho with ties; tau-b divides by the geometric mean of the pairs that
    are not tied in each of the two (Kendall, 1945).

    Args:
        places: [N, K]; ``there`` [N, K] says which models are placed.
        reference: [K] or [N, K]; ``known`` [K] or [N, K] likewise.
        measure: ``pearson`` or ``kendall``.
    """
    both = there & known
    one, other = np.round(places, _DIGITS), np.broadcast_to(np.round(reference, _DIGITS), places.shape)
    products, first, second = (_sums_pearson if measure == "pearson" else _sums_kendall)(one, other, both)
    states = np.full(len(places), DEFINED, dtype=np.intp)
    states[first <= 1e-12] = CONSTANT
    states[second <= 1e-12] = CONSTANT_REFERENCE
    states[both.sum(axis=1) < 2] = TOO_FEW
    defined = states == DEFINED
    scale = np.sqrt(np.where(defined, first * second, 1.0))
    values = np.clip(np.where(defined, products / scale, 0.0), -1.0, 1.0)
    return Correlations(np.round(values, 12) + 0.0, states)  # no -0 and no 0.9999999999999999


def _sums_pearson(one: Floats, other: Floats, both: Bools) -> tuple[Floats, Floats, Floats]:
    count = np.maximum(both.sum(axis=1, keepdims=True), 1)
    x, y = (np.where(both, v - np.sum(v * both, axis=1, keepdims=True) / count, 0.0) for v in (one, other))
    return np.sum(x * y, axis=1), np.sum(x * x, axis=1), np.sum(y * y, axis=1)


def _sums_kendall(one: Floats, other: Floats, both: Bools) -> tuple[Floats, Floats, Floats]:
    left, right = np.triu_indices(one.shape[1], 1)
    pairs = both[:, left] & both[:, right]
    x, y = (np.sign(v[:, left] - v[:, right]) * pairs for v in (one, other))
    return np.sum(x * y, axis=1), np.sum(x * x, axis=1), np.sum(y * y, axis=1)
