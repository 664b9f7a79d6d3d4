"""All orders of least cost as the paths of a layered graph: its nodes are the sets that come first.

They are found by dynamic programming over those sets (Held and Karp, 1962), given which pairs are certain. Where many
pairs have the same order in every optimum, few sets of candidates can come first, and all optima of far more candidates
than 20 can be counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metajudge.stats.arrays import Bools, Floats

Counts: TypeAlias = NDArray[Any]
"""Whole numbers: int64 where they fit, else Python's own."""

Edges: TypeAlias = NDArray[np.int32]

TimeLeft: TypeAlias = Callable[[], float]
"""Gives the seconds that are left for a proof."""

MOST_CANDIDATES = 63
"""Bits of a mask."""

MOST_SETS = 1 << 18
"""Sets visited before counting is given up; for up to 20 candidates all are, if need be."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """The edges between two layers: who may come next after which set.

    Attributes:
        before: [edges] node in the layer before, ascending.
        after: [edges] node in the layer after.
        candidate: [edges] who is added.
        nodes: number of nodes in the layer after.
    """

    before: Edges
    after: Edges
    candidate: Edges
    nodes: int


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Every path from the empty set to the full one is an order of least cost, and the other way round.

    Attributes:
        steps: one a place, first place first.
    """

    steps: tuple[Step, ...]

    def positions(self) -> Counts:
        """[candidates, places] number of orders that put the candidate at the place; each row sums to their number."""
        size = len(self.steps)
        # 20! fits into 63 bits, and no node or edge lies on more paths than there are orders.
        kind: type = np.int64 if size <= 20 else object
        forward: list[Counts] = [np.ones(1, dtype=kind)]
        for step in self.steps:
            forward.append(_sums(step.after, forward[-1][step.before], step.nodes, kind))
        found: Counts = np.zeros((size, size), dtype=kind)
        backward: Counts = np.ones(1, dtype=kind)
        for place in range(size - 1, -1, -1):
            step = self.steps[place]
            through = backward[step.after]
            np.add.at(found[:, place], step.candidate, forward[place][step.before] * through)
            backward = _sums(step.before, through, len(forward[place]), kind)
        return found

    def certain(self) -> Bools:
        """[candidates, candidates] whether row precedes column in every order."""
        size = len(self.steps)
        common = np.zeros((1, size), dtype=bool)  # members that every way into a node shares: all of its members
        certain = np.ones((size, size), dtype=bool)
        for step in self.steps:
            members = common[step.before]
            np.logical_and.at(certain.T, step.candidate, members)
            common = np.zeros((step.nodes, size), dtype=bool)
            members = members.copy()
            members[np.arange(len(members)), step.candidate] = True
            common[step.after] = members
        return certain

    def orders(self, limit: int) -> list[tuple[int, ...]]:
        """At most ``limit`` of the orders."""
        found: list[tuple[int, ...]] = []
        stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        while stack and len(found) < limit:
            node, order = stack.pop()
            if len(order) == len(self.steps):
                found.append(order)
                continue
            step = self.steps[len(order)]
            start, end = np.searchsorted(step.before, (node, node + 1))
            following = zip(step.after[start:end].tolist(), step.candidate[start:end].tolist(), strict=True)
            stack += [(after, (*order, candidate)) for after, candidate in reversed(list(following))]
        return found


def _sums(at: Edges, values: Counts, count: int, kind: type) -> Counts:
    sums: Counts = np.zeros(count, dtype=kind)
    np.add.at(sums, at, values)
    return sums


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
    masks, cost, steps = np.zeros(1, dtype=np.uint64), np.zeros(1), list[Step]()
    room = max(MOST_SETS, 1 << size) if size <= 20 else MOST_SETS
    for place in range(size):
        if time_left is not None and time_left() < 0:
            return None
        inside = (masks[:, None] & bits) != 0
        before, candidate = np.nonzero(~inside & ((masks[:, None] & needed) == needed))
        if len(before) > room * (place + 1):  # a set has at most as many ways into it as members
            return None
        reached = cost[before] + (inside.astype(np.float64) @ excess)[before, candidate]
        kept = reached <= limit
        before, candidate, reached = before[kept], candidate[kept], reached[kept]
        masks, after = np.unique(masks[before] | bits[candidate], return_inverse=True)
        cost = np.full(len(masks), np.inf)
        np.minimum.at(cost, after, reached)
        least = reached == cost[after]
        steps.append(Step(_narrow(before[least]), _narrow(after[least]), _narrow(candidate[least]), len(masks)))
        room -= len(masks)
    return Paths(_followed_back(steps))


def _followed_back(steps: list[Step]) -> tuple[Step, ...]:
    """Keeps what lies on a path to the full set."""
    kept: list[Step] = []
    nodes: NDArray[np.integer] = np.zeros(1, dtype=np.int64)
    for step in reversed(steps):
        place = np.full(step.nodes, -1)
        place[nodes] = np.arange(len(nodes))
        on = place[step.after] >= 0
        earlier, before = np.unique(step.before[on], return_inverse=True)
        kept.append(Step(_narrow(before), _narrow(place[step.after[on]]), step.candidate[on], len(nodes)))
        nodes = earlier
    return tuple(reversed(kept))


def _narrow(column: NDArray[np.integer]) -> Edges:
    return column.astype(np.int32)  # there may be millions
