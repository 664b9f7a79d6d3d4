"""Dynamic programming over all subsets: exact for up to some 16 candidates (Held and Karp, 1962)."""

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from metajudge.stats.arrays import Floats, Ints
from metajudge.voting.linear_order.paths import Paths, Step


@dataclass(frozen=True, slots=True, eq=False)
class Subsets:
    """All subsets of n candidates, by size and then by their bits.

    Attributes:
        member: [2^n, n] 1 where the subset contains the candidate.
        without: [2^n, n] the subset less that candidate; 2^n, a place for infinity, where it does not contain it.
        bounds: [n + 2] where each size begins.
    """

    member: Floats
    without: NDArray[np.intp]
    bounds: tuple[int, ...]


@lru_cache(maxsize=16)
def subsets(size: int) -> Subsets:
    """The table of subsets, kept for the next problem of that size."""
    masks = np.arange(1 << size)
    order = np.lexsort((masks, np.bitwise_count(masks)))
    place = np.empty(len(masks), dtype=np.intp)
    place[order] = masks
    bits = 1 << np.arange(size)
    member = (order[:, None] & bits) != 0
    without = np.where(member, place[order[:, None] ^ bits], len(masks))
    bounds = np.cumsum([0, *(comb(size, k) for k in range(size + 1))])
    return Subsets(member.astype(np.float64), without, tuple(bounds.tolist()))


@dataclass(frozen=True, slots=True, eq=False)
class SubsetTable:
    """What it costs at least to place the members of each subset first.

    Attributes:
        best: [2^n + 1] least cost; infinity at the end.
        adding: [2^n, n] what a member costs as the last of its subset.
        excess: the problem.
    """

    best: Floats
    adding: Floats

    @property
    def cost(self) -> float:
        """Least cost of a whole order."""
        return float(self.best[-2])


def fill_table(excess: Floats) -> SubsetTable:
    """Finds the least cost of every subset, all of one size at a time."""
    size = len(excess)
    table = subsets(size)
    adding = table.member @ excess
    best = np.empty(len(adding) + 1)
    best[0], best[-1] = 0.0, np.inf
    for low, high in zip(table.bounds[1:-1], table.bounds[2:], strict=True):
        reached = best[table.without[low:high]]
        reached += adding[low:high]
        reached.min(axis=1, out=best[low:high])
    return SubsetTable(best, adding)


def one_order(filled: SubsetTable) -> tuple[int, ...]:
    """One order of least cost."""
    without = subsets(filled.adding.shape[1]).without
    order: list[int] = []
    node = len(without) - 1
    while node:
        last = int(np.argmin(filled.best[without[node]] + filled.adding[node]))
        order.append(last)
        node = int(without[node, last])
    return tuple(reversed(order))


def optimal_paths(filled: SubsetTable) -> Paths:
    """All orders of least cost, followed back from the full set."""
    table = subsets(filled.adding.shape[1])
    without = table.without
    nodes: Ints = np.array([len(without) - 1])
    place = np.zeros(len(without), dtype=np.int64)
    steps: list[Step] = []
    for low, high in zip(reversed(table.bounds[:-2]), reversed(table.bounds[1:-1]), strict=True):
        fewer = without[nodes]
        least = filled.best[fewer] + filled.adding[nodes] == filled.best[nodes][:, None]
        after, candidate = np.nonzero(least)
        before = fewer[after, candidate]
        place[before] = 1
        nodes_before = np.flatnonzero(place[low:high]) + low
        place[nodes_before] = np.arange(len(nodes_before))
        steps.append(Step(place[before], after, candidate, len(nodes)))
        place[nodes_before] = 0
        nodes = nodes_before
    return Paths(tuple(reversed(steps)))
