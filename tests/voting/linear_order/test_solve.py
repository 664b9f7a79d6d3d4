import numpy as np

from metajudge.voting.linear_order.solve import Solution, solve


def test_without_time_the_best_order_comes_with_a_bound_below_it():
    source = np.random.default_rng(1)
    lead = source.integers(-4, 5, (30, 30))
    excess = np.maximum(lead - lead.T, 0).astype(float)
    stopped = solve(excess, 1, lambda: -1.0)
    proven = solve(excess, 1)
    assert not stopped.proven
    assert stopped.bound <= proven.cost <= stopped.cost
    assert proven.proven
    assert isinstance(stopped, Solution)


def test_weights_of_any_size_are_proven_and_break_neither_solver_nor_count():
    source = np.random.default_rng(5)
    weights = source.integers(1, 10**12 // 5, 5)
    places = np.array([source.permutation(40) for _ in weights])
    lead = np.einsum("v,vab->ab", weights, places[:, :, None] < places[:, None, :])
    found = solve(np.maximum(lead.T - lead, 0).astype(float), 100)
    assert found.proven
    assert found.count == 1
    assert found.cost == 8827781676364
