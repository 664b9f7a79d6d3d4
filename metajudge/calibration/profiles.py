"""How signals were distributed in a fit."""

from collections.abc import Sequence

import numpy as np

from metajudge.calibration.table import SignalTable
from metajudge.evidence.consensus import Column
from metajudge.types.frozen import Frozen

BINS = 10


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


def profiles_of(table: SignalTable) -> dict[str, Profile]:
    """Profiles of a table's columns by name."""
    return {name: _profile(column) for name, column in sorted(table.columns.items())}


def _profile(column: Column) -> Profile:
    values = column.values[column.present]
    quantiles = np.quantile(values, np.arange(1, BINS) / BINS, method="inverted_cdf") if len(values) else np.zeros(0)
    edges = tuple(float(edge) for edge in np.unique(np.round(quantiles, 9)))
    return Profile(edges=edges, counts=tuple(_counts(column, edges)))


def _counts(column: Column, edges: Sequence[float]) -> list[int]:
    place = np.searchsorted(np.array(edges), np.round(column.values[column.present], 9), side="left")
    counts = np.bincount(place, minlength=len(edges) + 1)
    return [*(int(count) for count in counts), int((~column.present).sum())]
