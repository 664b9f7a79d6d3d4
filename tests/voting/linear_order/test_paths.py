"""All orders of least cost as paths: counted by place, certain pairs, and listed."""

from itertools import permutations

import numpy as np
import pytest

from metajudge.voting.linear_order.ideals import optimal_paths
from tests.voting.linear_order.test_solve import small_problem


@pytest.mark.parametrize("seed", range(6))
def test_positions_and_certain_pairs_are_those_of_the_listed_orders(seed):
    found = optimal_paths(small_problem(seed))
    orders = found.orders(1000)
    places = np.zeros((5, 5), dtype=int)
    for order in orders:
        for place, candidate in enumerate(order):
            places[candidate, place] += 1
    assert found.positions().tolist() == places.tolist()
    before = np.array(
        [[all(one.index(a) < one.index(b) for one in orders) if a != b else False for b in range(5)] for a in range(5)]
    )
    certain = found.certain()
    np.fill_diagonal(certain, False)
    assert certain.tolist() == before.tolist()


def test_a_level_problem_has_every_order_of_which_some_are_listed_and_no_certain_pair():
    found = optimal_paths(np.zeros((4, 4)))
    assert set(found.orders(100)) == set(permutations(range(4)))
    assert found.positions().tolist() == [[6] * 4] * 4
    assert not found.certain()[~np.eye(4, dtype=bool)].any()
    few = found.orders(5)
    assert len(few) == len(set(few)) == 5, "no more than asked for"
