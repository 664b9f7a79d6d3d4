"""How signals were distributed in a fit, and how far new data are from that."""

from collections.abc import Mapping, Sequence

import numpy as np

from metajudge.calibration.table import SignalTable
from metajudge.errors import InputError
from metajudge.evidence.consensus import Column
from metajudge.types.frozen import Frozen

BINS = 10

SMOOTHING = 0.5
"""Added to each bin's count, so that an empty bin has a finite logarithm."""


class Profile(Frozen):
    """Distribution of one signal over bins.

    Attributes:
        edges: inner edges of the bins, ascending; a value equal to an edge lies to its left.
        counts: per bin, then the number of rows where the signal was absent.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]

    def is_always(self, value: float) -> bool:
        """Whether the signal was present with this one value, its least, on every row."""
        return self.edges == (value,) and not any(self.counts[1:])


class Drift(Frozen):
    """Population stability index of one signal: ``sum (q - p) ln(q / p)`` over bins, absent as a bin of its own.

    Attributes:
        signal: the column, or ``category``.
        psi: 0 for equal distributions; below .1 is usually taken as stable, above .25 as shifted.
        expected: what equal distributions give on average with so few rows, about ``(bins - 1) (1/n + 1/m)``.
    """

    signal: str
    psi: float
    expected: float
    n: int
    m: int

    @property
    def shifted(self) -> bool:
        """Whether the index exceeds .25 beyond what chance explains."""
        return self.psi > 0.25 + self.expected


def profiles_of(table: SignalTable) -> dict[str, Profile]:
    """Profiles of a table's columns by name, and of its categories as ``category:NAME`` shares under ``category``."""
    return {name: _profile(column) for name, column in sorted(table.columns.items())}


def drift(profiles: Mapping[str, Profile], categories: Mapping[str, int], table: SignalTable) -> list[Drift]:
    """How far a table is from a fit, the largest index first.

    Args:
        categories: category -> rows, of the fit.

    Raises:
        InputError: the table is empty.
    """
    if not len(table):
        raise InputError(f"there is no decided {table.kind} judgment to compare with the calibration's")
    found = []
    for name, profile in profiles.items():
        column = table.columns.get(name) or Column(np.zeros(len(table)), np.zeros(len(table), dtype=bool))
        found.append(_drift(name, profile.counts, _counts(column, profile.edges)))
    names = sorted({*categories, *table.categories})
    here = [table.categories.count(name) for name in names]
    found.append(_drift("category", [categories.get(name, 0) for name in names], here))
    return sorted(found, key=lambda one: (-one.psi, one.signal))


def _profile(column: Column) -> Profile:
    values = column.values[column.present]
    quantiles = np.quantile(values, np.arange(1, BINS) / BINS, method="inverted_cdf") if len(values) else np.zeros(0)
    edges = tuple(float(edge) for edge in np.unique(np.round(quantiles, 9)))
    return Profile(edges=edges, counts=tuple(_counts(column, edges)))


def _counts(column: Column, edges: Sequence[float]) -> list[int]:
    place = np.searchsorted(np.array(edges), np.round(column.values[column.present], 9), side="left")
    counts = np.bincount(place, minlength=len(edges) + 1)
    return [*(int(count) for count in counts), int((~column.present).sum())]


def _drift(name: str, fitted: Sequence[int], here: Sequence[int]) -> Drift:
    used = np.array([a + b > 0 for a, b in zip(fitted, here, strict=True)])
    p, q = (np.array(counts, dtype=np.float64)[used] + SMOOTHING for counts in (fitted, here))
    n, m = int(sum(fitted)), int(sum(here))
    p, q = p / p.sum(), q / q.sum()
    psi = float(((q - p) * np.log(q / p)).sum())
    return Drift(signal=name, psi=psi, expected=(int(used.sum()) - 1) * (1 / n + 1 / m), n=n, m=m)
