"""Solves a linear ordering problem block by block, each by the cheapest exact method for its size."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, permutations, product

import numpy as np

from metajudge.stats.arrays import Bools, Floats, Ints
from metajudge.voting.linear_order.paths import Counts, Paths, TimeLeft, optimal_paths
from metajudge.voting.linear_order.program import Bounded, cost_of, solve_program
from metajudge.voting.pairwise import reachable

SMALL = 12
"""Blocks of at most this many candidates are solved over all subsets, with every optimum."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The orders of least cost of one block.

    Attributes:
        members: the block's candidates as indices into the whole problem.
        cost: least cost found.
        bound: no order of the block costs less.
        orders: some of the orders, as indices into the whole problem.
        positions: [members, places] number of orders that put the member at the place within the block; None where the
            orders were not counted.
        certain: [members, members] whether row is known to stand before column in every order of least cost; given
            where the orders were not counted.
    """

    members: tuple[int, ...]
    cost: float
    bound: float
    orders: tuple[tuple[int, ...], ...]
    positions: Counts | None
    certain: Bools | None = None

    @property
    def count(self) -> int | None:
        """Number of orders of least cost; None where they were not counted."""
        return None if self.positions is None else int(self.positions[0].sum())


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Every order of least cost is one order of each block, one block after the other."""

    blocks: tuple[Block, ...]

    @property
    def cost(self) -> float:
        return sum(block.cost for block in self.blocks)

    @property
    def bound(self) -> float:
        """No order costs less; equal to the cost where that is proven."""
        return sum(block.bound for block in self.blocks)

    @property
    def proven(self) -> bool:
        return all(block.bound == block.cost for block in self.blocks)

    @property
    def count(self) -> int | None:
        """Number of orders of least cost; None where a block's were not counted."""
        counts = [block.count for block in self.blocks]
        return None if None in counts else math.prod(count for count in counts if count is not None)

    @property
    def at_least(self) -> int:
        """A number of orders of least cost that were certainly found."""
        return math.prod(block.count or len(block.orders) for block in self.blocks)

    def orders(self, limit: int) -> tuple[tuple[int, ...], ...]:
        """At most ``limit`` of the orders of the whole problem."""
        combined = product(*(block.orders for block in self.blocks))
        return tuple(tuple(i for part in parts for i in part) for parts in islice(combined, limit))


def solve(excess: Floats, max_orders: int, time_left: TimeLeft | None = None) -> Solution:
    """Finds the orders of least cost.

    Args:
        excess: [n, n] the problem; see the package.
        max_orders: how many orders to list; with 1, blocks above :data:`SMALL` are not counted.
        time_left: seconds that are left; None for no limit. What is not proven by then keeps a bound below its cost.
    """
    return Solution(tuple(_solve_block(excess, block, max_orders, time_left) for block in separate_blocks(excess)))


def _solve_block(excess: Floats, block: Ints, max_orders: int, time_left: TimeLeft | None) -> Block:
    members = tuple(block.tolist())
    part = excess[np.ix_(block, block)]
    if not part.any():
        return _all_level(members, max_orders)
    if len(members) <= SMALL:
        return _counted(members, *_over_all_sets(part), max_orders)
    found = solve_majorities(part, time_left, thorough=max_orders > 1)
    if found.proven and max_orders > 1:
        paths = optimal_paths(part, found.certain, found.cost, time_left)
        if paths is not None:
            return _counted(members, found.cost, paths, max_orders)
    orders = [tuple(found.order.tolist())]
    if found.proven:
        orders = swapped_neighbours(part, orders[0], max_orders)
    bound = found.cost if found.proven else found.bound
    return Block(members, found.cost, bound, _named(members, orders), None, found.certain)


def _all_level(members: tuple[int, ...], max_orders: int) -> Block:
    """Nothing is preferred over anything, so every order costs the same."""
    size = len(members)
    positions = np.full((size, size), math.factorial(size - 1), dtype=np.int64 if size <= 20 else object)
    return Block(members, 0.0, 0.0, tuple(islice(permutations(members), max_orders)), positions)


def _over_all_sets(excess: Floats) -> tuple[float, Paths]:
    """The least cost of a small problem, and all orders of that cost."""
    paths = optimal_paths(excess)
    assert paths is not None, "the sets of a small problem are few"
    return cost_of(excess, np.array(paths.orders(1)[0])), paths


def _counted(members: tuple[int, ...], cost: float, paths: Paths, max_orders: int) -> Block:
    return Block(members, cost, cost, _named(members, paths.orders(max_orders)), paths.positions())


def _named(members: tuple[int, ...], orders: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(members[i] for i in order) for order in orders)


def solve_majorities(excess: Floats, time_left: TimeLeft | None, *, thorough: bool) -> Bounded:
    """One order of least cost: the components of the strict majority one after the other.

    Args:
        excess: [n, n] the problem.
        time_left: seconds that are left; None for no limit.
        thorough: looks for as many certain pairs as it can.
    """
    certain = excess < excess.T
    order: list[int] = []
    cost = bound = 0.0
    for block in majority_blocks(excess):
        within = np.ix_(block, block)
        found = _solve_component(excess[within], time_left, thorough=thorough)
        order += block[found.order].tolist()
        cost += found.cost
        bound += found.cost if found.proven else found.bound
        certain[within] = found.certain
    return Bounded(np.array(order), cost, bound, certain)


def _solve_component(excess: Floats, time_left: TimeLeft | None, *, thorough: bool) -> Bounded:
    if len(excess) > SMALL:
        return solve_program(excess, time_left, thorough=thorough)
    cost, paths = _over_all_sets(excess)
    certain = paths.certain() if thorough else np.zeros(excess.shape, dtype=bool)
    return Bounded(np.array(paths.orders(1)[0]), cost, cost, certain)


def swapped_neighbours(excess: Floats, order: tuple[int, ...], limit: int) -> list[tuple[int, ...]]:
    """Orders of equal cost reached by swapping neighbours that cost the same either way, at most ``limit``."""
    found = {order: None}
    waiting = deque([order])
    while waiting:
        current = waiting.popleft()
        for i, (first, second) in enumerate(pairwise(current)):
            if excess[first, second] == excess[second, first]:
                swapped = (*current[:i], second, first, *current[i + 2 :])
                if swapped not in found:
                    if len(found) >= limit:
                        return list(found)
                    found[swapped] = None
                    waiting.append(swapped)
    return list(found)


def separate_blocks(excess: Floats) -> list[Ints]:
    """Blocks that stand one after the other in **every** order of least cost.

    Each member of a block costs something behind any member of a later one, so an order that mixes them can be improved
    (Truchon, "An extension of the Condorcet criterion and Kemeny orders", 1998). These are the strongly connected
    components of "at least as good", a relation in which every pair is joined; there a sort by score finds them: the
    first k form such a prefix if their scores reach the largest possible sum.

    Returns:
        Arrays of indices, in their order.
    """
    size = len(excess)
    beats = excess < excess.T
    scores = beats.sum(axis=1) * 2 + (excess == excess.T).sum(axis=1) - 1
    order = np.argsort(-scores, kind="stable")
    count = np.arange(1, size + 1)
    largest = count * (count - 1) + 2 * count * (size - count)
    cuts = (np.flatnonzero(np.cumsum(scores[order]) == largest) + 1).tolist()
    return [order[start:end] for start, end in pairwise([0, *cuts])]


def majority_blocks(excess: Floats) -> list[Ints]:
    """Strongly connected components of the strict majority relation, in an order that costs nothing between them.

    Enough for **one** order of least cost: each optimal order orders every component optimally. Other optimal orders
    may interleave components that are tied.
    """
    reach = reachable(excess < excess.T)
    both = reach & reach.T
    first = both.argmax(axis=1)
    # A component that reaches another reaches more than it, so counting the reached sorts them.
    blocks = [np.flatnonzero(first == leader) for leader in np.unique(first)]
    return sorted(blocks, key=lambda block: -int(reach[block[0]].sum()))
