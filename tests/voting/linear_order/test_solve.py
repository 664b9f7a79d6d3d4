import numpy as np
import pytest

from metajudge.voting import pair_counts, read_profile
from metajudge.voting.kemeny import scaled_excess
from metajudge.voting.linear_order import ideals, subsets
from metajudge.voting.linear_order.program import cost_of, good_order, improved
from metajudge.voting.linear_order.solve import Solution, solve, solve_majorities
from tests.voting.profiles import near_ballots, random_ballot, shuffled_ballots


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


def excess_of(ballots, candidates=None):
    return scaled_excess(pair_counts(read_profile(ballots, candidates)))[0]


def problems(seed, size):
    names = [f"m{i}" for i in range(size)]
    import random

    source = random.Random(seed)
    yield excess_of(shuffled_ballots(seed, names, 6))
    yield excess_of(shuffled_ballots(seed, names, 7))
    yield excess_of(near_ballots(seed, names, 6, size))
    yield excess_of([random_ballot(source, names) for _ in range(5)], names)


@pytest.mark.parametrize(("seed", "size"), [(1, 8), (2, 11), (3, 13), (4, 14), (5, 14), (6, 15)])
def test_both_dynamic_programs_count_the_same_optima(seed, size):
    for excess in problems(seed, size):
        filled = subsets.fill_table(excess)
        expected = subsets.optimal_paths(filled)
        found = solve_majorities(excess, None, thorough=True)
        assert found.proven
        assert found.cost == filled.cost
        paths = ideals.optimal_paths(excess, found.certain, found.cost)
        assert (paths.positions() == expected.positions()).all()
        assert sorted(paths.orders(50_000)) == sorted(expected.orders(50_000))
        assert (paths.certain() == expected.certain()).all()
        assert not (found.certain & ~expected.certain()).any(), "a pair was called certain that is not"


def test_gives_up_rather_than_visit_too_many_sets():
    level = np.zeros((30, 30))
    assert ideals.optimal_paths(level, np.zeros((30, 30), dtype=bool), 0.0) is None


def test_a_mask_holds_63_candidates_at_most():
    chain = np.triu(np.ones((64, 64), dtype=bool), 1)
    assert ideals.optimal_paths(np.zeros((64, 64)), chain, 0.0) is None
    assert ideals.optimal_paths(np.zeros((63, 63)), chain[:63, :63], 0.0).positions().sum() == 63
