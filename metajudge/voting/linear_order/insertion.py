"""A good order quickly: sort by pairwise lead, then move single candidates while that helps."""

import numpy as np

from metajudge.stats.arrays import Floats, Ints

_MOST_MOVES = 10_000


def cost_of(excess: Floats, order: Ints) -> float:
    """What an order costs."""
    return float(np.triu(excess[np.ix_(order, order)], 1).sum())


def improved(excess: Floats, order: Ints) -> Ints:
    """Makes the best move of a single candidate until none helps (insertion neighbourhood)."""
    order = order.copy()
    size = len(order)
    each = np.arange(size)
    later = each[None, :] > each[:, None]
    lead = excess - excess.T
    for _ in range(_MOST_MOVES):
        # Passing a candidate changes the cost by the difference of the two directions, so one cumulative sum a row
        # contains the gain of every move.
        passed = np.cumsum(lead[np.ix_(order, order)], axis=1)
        gain = np.where(later, passed, np.concatenate([np.zeros((size, 1)), passed[:, :-1]], axis=1))
        gain -= passed[each, each][:, None]
        best = int(np.argmax(gain))
        if gain.flat[best] <= 0:
            break
        start, end = divmod(best, size)
        candidate = order[start]
        order = np.insert(np.delete(order, start), end, candidate)
    return order


def good_order(excess: Floats, place: Floats | None = None) -> Ints:
    """A locally optimal order.

    Args:
        excess: the problem.
        place: [n, n] how far the row's candidate precedes the column's, from a relaxation; None: the problem's own
            leads.
    """
    lead = (excess.T - excess) if place is None else place
    return improved(excess, np.argsort(-lead.sum(axis=1), kind="stable"))
