"""The table over all subsets, against every order one by one."""

from itertools import permutations

import numpy as np
import pytest

from metajudge.voting.linear_order.subsets import fill_table, one_order, optimal_paths, subsets


def problem(seed, size=5):
    lead = np.random.default_rng(seed).integers(-2, 3, (size, size))
    return np.maximum(lead - lead.T, 0).astype(float)


def cost(excess, order):
    """What an order costs: the row's excess where it stands before the column."""
    return sum(excess[first, second] for at, first in enumerate(order) for second in order[at + 1 :])


def test_subsets_come_by_size_with_the_place_of_each_without_a_member():
    table = subsets(3)
    assert table.bounds == (0, 1, 4, 7, 8)
    assert table.member.sum(axis=1).tolist() == [0, 1, 1, 1, 2, 2, 2, 3]
    for place in range(8):
        for candidate in range(3):
            smaller = table.without[place, candidate]
            if table.member[place, candidate]:
                assert table.member[smaller].tolist() == [
                    float(bool(table.member[place, other]) and other != candidate) for other in range(3)
                ]
            else:
                assert smaller == 8


@pytest.mark.parametrize("seed", range(8))
def test_cost_and_orders_are_those_of_all_permutations(seed):
    excess = problem(seed)
    filled = fill_table(excess)
    costs = {order: cost(excess, order) for order in permutations(range(5))}
    least = {order for order, value in costs.items() if value == min(costs.values())}
    assert filled.cost == min(costs.values())
    assert one_order(filled) in least
    assert set(optimal_paths(filled).orders(1000)) == least
