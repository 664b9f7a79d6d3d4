"""Dynamic programming over the sets that can come first (Held and Karp, 1962), given which pairs are certain.

Where many pairs have the same order in every optimum, few sets of candidates can come first, and all optima of far more
candidates than 20 can be counted.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metajudge.stats.arrays import Bools, Floats, Ints
from metajudge.voting.linear_order.paths import Paths, Step, TimeLeft

MOST_CANDIDATES = 63
"""Bits of a mask."""

MOST_SETS = 1 << 18
"""Sets visited before counting is given up; for up to 20 candidates all are, if need be."""


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """Sets of one size, and the cheapest ways into them.

    Attributes:
        masks: [sets] as bits.
        cost: [sets] least cost of ordering the set's members.
        before: [edges] index of the set without the last member.
        after: [edges] index of the set.
        candidate: [edges] the last member.
    """

    masks: NDArray[np.uint64]
    cost: Floats
    before: Ints
    after: Ints
    candidate: Ints


def optimal_paths(
    excess: Floats, certain: Bools | None = None, limit: float = np.inf, time_left: TimeLeft | None = None
) -> Paths | None:
    """All orders of least cost as paths, or None where there are too many sets to visit, or the time is over.

    Args:
        excess: [n, n] the problem.
        certain: [n, n] pairs known to have row before column in every order of least cost; need not be transitive. None
            where nothing is known.
        limit: the least cost, where it is known; sets that cost more are left out.
        time_left: seconds that are left, below 0 when the time is over; None for no limit.
    """
    size = len(excess)
    if size > MOST_CANDIDATES:
        return None
    bits = np.uint64(1) << np.arange(size, dtype=np.uint64)
    needed = np.zeros_like(bits) if certain is None else (certain * bits[:, None]).sum(axis=0, dtype=np.uint64)
    layers = [_Layer(np.zeros(1, dtype=np.uint64), np.zeros(1), *(np.zeros(0, dtype=np.int64) for _ in range(3)))]
    most = max(MOST_SETS, 1 << size) if size <= 20 else MOST_SETS
    visited = 1
    for _ in range(size):
        if time_left is not None and time_left() < 0:
            return None
        layer = _next_layer(layers[-1], excess, bits, needed, limit, most - visited)
        if layer is None:
            return None
        layers.append(layer)
        visited += len(layer.masks)
    return _followed_back(layers)


def _next_layer(
    layer: _Layer, excess: Floats, bits: NDArray[np.uint64], needed: NDArray[np.uint64], limit: float, room: int
) -> _Layer | None:
    """The sets with one member more; None where there are more than ``room``."""
    masks = layer.masks[:, None]
    inside = (masks & bits) != 0
    before, candidate = np.nonzero(~inside & ((masks & needed) == needed))
    size = int(inside[0].sum()) + 1
    if len(before) > room * size:  # a set has at most as many ways into it as members
        return None
    cost = layer.cost[before] + (inside.astype(np.float64) @ excess)[before, candidate]
    kept = cost <= limit
    before, candidate, cost = before[kept], candidate[kept], cost[kept]
    found, after = np.unique(layer.masks[before] | bits[candidate], return_inverse=True)
    best = np.full(len(found), np.inf)
    np.minimum.at(best, after, cost)
    least = cost == best[after]
    edges = (column[least].astype(np.int32) for column in (before, after, candidate))  # there may be millions
    return _Layer(found, best, *edges)


def _followed_back(layers: list[_Layer]) -> Paths:
    """Keeps what lies on a path to the full set."""
    steps: list[Step] = []
    nodes: Ints = np.zeros(1, dtype=np.int64)
    while len(layers) > 1:
        layer = layers.pop()
        place = np.full(len(layer.masks), -1)
        place[nodes] = np.arange(len(nodes))
        kept = place[layer.after] >= 0
        earlier, before = np.unique(layer.before[kept], return_inverse=True)
        after = place[layer.after[kept]]
        steps.append(Step(before.astype(np.int32), after.astype(np.int32), layer.candidate[kept], len(nodes)))
        nodes = earlier
    return Paths(tuple(reversed(steps)))
