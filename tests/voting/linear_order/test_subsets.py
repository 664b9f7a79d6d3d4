"""The table over all subsets, against every order one by one."""

from itertools import permutations

import numpy as np
import pytest

from metajudge.voting.linear_order.subsets import fill_table, one_order, optimal_paths


def problem(seed, size=5):
    lead = np.random.default_rng(seed).integers(-2, 3, (size, size))
    return np.maximum(lead - lead.T, 0).astype(float)


def cost(excess, order):
    """What an order costs: the row's excess where it stands before the column."""
    return sum(excess[first, second] for at, first in enumerate(order) for second in order[at + 1 :])


@pytest.mark.parametrize("seed", range(8))
def test_cost_and_orders_are_those_of_all_permutations(seed):
    excess = problem(seed)
    filled = fill_table(excess)
    costs = {order: cost(excess, order) for order in permutations(range(5))}
    least = {order for order, value in costs.items() if value == min(costs.values())}
    assert filled.cost == min(costs.values())
    assert one_order(filled) in least
    assert set(optimal_paths(filled).orders(1000)) == least
