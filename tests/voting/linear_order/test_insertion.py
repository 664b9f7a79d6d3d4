import numpy as np
import pytest

from metajudge.voting.linear_order.program import cost_of, good_order, improved


def problem(seed, size=9):
    lead = np.random.default_rng(seed).integers(-3, 4, (size, size))
    return np.maximum(lead - lead.T, 0).astype(float)


@pytest.mark.parametrize("seed", range(8))
def test_no_single_move_helps_an_improved_order(seed):
    excess = problem(seed)
    order = improved(excess, np.arange(9))
    cost = cost_of(excess, order)
    assert cost <= cost_of(excess, np.arange(9))
    for start in range(9):
        for end in range(9):
            moved = np.insert(np.delete(order, start), end, order[start])
            assert cost_of(excess, moved) >= cost


def test_a_clear_order_is_found_at_once():
    excess = np.tril(np.ones((6, 6)), -1)
    shuffled = np.array([3, 1, 5, 0, 2, 4])
    found = good_order(excess[np.ix_(shuffled, shuffled)])
    assert shuffled[found].tolist() == [0, 1, 2, 3, 4, 5]
