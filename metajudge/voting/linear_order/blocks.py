"""Splits a linear ordering problem into blocks that can be ordered on their own."""

from itertools import pairwise

import numpy as np

from metajudge.stats.arrays import Floats, Ints
from metajudge.voting.connection import reachable


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
