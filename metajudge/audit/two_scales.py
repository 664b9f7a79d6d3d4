"""What can still be said of a judge whose grades are not on people's scale: nothing but the order."""

import numpy as np

from metajudge.audit.table import Table
from metajudge.stats.arrays import Floats

FEWEST = 3
"""Verdicts from which an order is compared."""


def on_two_scales(table: Table) -> list[str]:
    """What was not compared, and how far each such judge puts things in people's order."""
    found = table.scales.sentences()
    for judge in np.flatnonzero(table.unlike).tolist():
        rows = np.flatnonzero((table.judge == judge) & ~np.isnan(table.label_number[table.thing]))
        rows = rows[~np.isnan(table.number[rows])]
        agreement = spearman(table.number[rows], table.label_number[table.thing[rows]])
        if agreement is not None:
            name = table.source.judges.values[judge]
            found.append(f"Spearman's rank correlation of {name} and people: {agreement:.3f} (n = {len(rows):,}).")
    return found


def spearman(first: Floats, second: Floats) -> float | None:
    """Spearman's rank correlation of [n] and [n] numbers, in [-1, 1]; equal numbers share the mean of their ranks.

    None with fewer than :data:`FEWEST` of them, and where one side does not vary.
    """
    if len(first) < FEWEST:
        return None
    one, other = _ranks(first), _ranks(second)
    if one.std() == 0 or other.std() == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


def _ranks(values: Floats) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place.ravel()], dtype=np.float64)
