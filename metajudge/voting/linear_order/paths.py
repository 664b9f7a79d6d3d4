"""All orders of least cost as the paths of a layered graph: its nodes are the sets that come first."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metajudge.stats.arrays import Bools, Ints

Counts: TypeAlias = NDArray[Any]
"""Whole numbers: int64 where they fit, else Python's own."""

TimeLeft: TypeAlias = Callable[[], float]
"""Gives the seconds that are left for a proof."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """The edges between two layers: who may come next after which set.

    Attributes:
        before: [edges] node in the layer before.
        after: [edges] node in the layer after.
        candidate: [edges] who is added.
        nodes: number of nodes in the layer after.
    """

    before: Ints
    after: Ints
    candidate: Ints
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
        followers = [_Followers(step) for step in self.steps]
        found: list[tuple[int, ...]] = []
        stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        while stack and len(found) < limit:
            node, order = stack.pop()
            if len(order) == len(followers):
                found.append(order)
                continue
            stack += [(after, (*order, candidate)) for candidate, after in followers[len(order)].of(node)]
        return found


class _Followers:
    """Who may come next, by node; only nodes that are asked for are turned into lists."""

    def __init__(self, step: Step) -> None:
        self.known: dict[int, list[tuple[int, int]]] = {}
        order = np.argsort(step.before, kind="stable")[::-1]
        self.candidates, self.after = step.candidate[order], step.after[order]
        self.ends = len(order) - np.concatenate([[0], np.cumsum(np.bincount(step.before))])

    def of(self, node: int) -> list[tuple[int, int]]:
        """(candidate, node after), last first, as a stack takes them."""
        if node not in self.known:
            part = slice(self.ends[node + 1], self.ends[node])
            self.known[node] = list(zip(self.candidates[part].tolist(), self.after[part].tolist(), strict=True))
        return self.known[node]


def _sums(at: Ints, values: Counts, count: int, kind: type) -> Counts:
    sums: Counts = np.zeros(count, dtype=kind)
    np.add.at(sums, at, values)
    return sums
