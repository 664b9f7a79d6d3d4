import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from metajudge.voting import pair_counts, read_profile
from metajudge.voting.kemeny import _count_subsets, scaled_excess
from metajudge.voting.linear_order.paths import optimal_paths
from metajudge.voting.linear_order.program import _summable, solve_program
from metajudge.voting.linear_order.solve import Solution, solve, solve_majorities
from tests.voting.profiles import near_ballots, random_ballot, shuffled_ballots


def test_without_time_the_best_order_has_a_bound_and_weights_of_any_size_are_proven():
    source = np.random.default_rng(1)
    lead = source.integers(-4, 5, (30, 30))
    excess = np.maximum(lead - lead.T, 0).astype(float)
    stopped = solve(excess, 1, lambda: -1.0)
    proven = solve(excess, 1)
    assert not stopped.proven
    assert stopped.bound <= proven.cost <= stopped.cost
    assert proven.proven
    assert isinstance(stopped, Solution)
    source = np.random.default_rng(5)
    weights = source.integers(1, 10**12 // 5, 5)
    places = np.array([source.permutation(40) for _ in weights])
    lead = np.einsum("v,vab->ab", weights, places[:, :, None] < places[:, None, :])
    found = solve(np.maximum(lead.T - lead, 0).astype(float), 100)
    assert found.proven
    assert found.count == 1
    assert found.cost == 8827781676364


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
        (cost,), (count,), (positions,) = _count_subsets(excess[None], positions=True)
        found = solve_majorities(excess, None, thorough=True)
        assert found.proven
        assert found.cost == cost
        known, every = optimal_paths(excess, found.certain, found.cost), optimal_paths(excess)
        assert (known.positions() == positions).all()
        assert known.positions()[0].sum() == count
        assert known.orders(50_000) == every.orders(50_000)
        assert (known.certain() == every.certain()).all()
        assert not (found.certain & ~every.certain()).any(), "a pair was called certain that is not"


def test_gives_up_rather_than_visit_too_many_sets_and_a_mask_holds_63_candidates_at_most():
    level = np.zeros((30, 30))
    assert optimal_paths(level, np.zeros((30, 30), dtype=bool), 0.0) is None
    chain = np.triu(np.ones((64, 64), dtype=bool), 1)
    assert optimal_paths(np.zeros((64, 64)), chain, 0.0) is None
    assert optimal_paths(np.zeros((63, 63)), chain[:63, :63], 0.0).positions().sum() == 63


def fence(copies=1):
    """The simple 3-fence (Grötschel, Jünger and Reinelt): circles of three leave its relaxation half a unit short."""
    size = 6
    excess = np.zeros((size, size))
    for picket in range(3):
        for other in range(3):
            first, second = (picket, 3 + other) if picket == other else (3 + other, picket)
            excess[second, first] = 1
    whole = np.zeros((size * copies, size * copies))
    for copy in range(copies):
        part = slice(copy * size, (copy + 1) * size)
        whole[part, part] = excess
        whole[(copy + 1) * size :, part] = 1
    return whole


@pytest.mark.parametrize("copies", [1, 2])
def test_the_integer_program_closes_the_gap_of_a_fence(copies):
    excess = fence(copies)
    found = solve_program(excess, None, thorough=True)
    assert found.cost == _count_subsets(excess[None], positions=False)[0] == 2 * copies
    assert found.proven
    assert not found.certain[:6, :6].any(), "the relaxation is not tight, so it makes no pair of a fence certain"


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_search_over_all_subsets(seed):
    source = np.random.default_rng(seed)
    lead = source.integers(-4, 5, (12, 12))
    excess = np.maximum(lead - lead.T, 0).astype(float)
    found = solve_program(excess, None, thorough=seed % 2 == 0)
    assert found.proven
    assert found.cost == _count_subsets(excess[None], positions=False)[0]


def test_a_bound_from_huge_costs_is_a_sum_without_rounding():
    source = np.random.default_rng(2)
    excess = np.triu(source.integers(0, 10**12, (40, 40)), 1).astype(float)
    multipliers = _summable(source.random(2000) * 1e11, excess)
    parts = [*excess.ravel().tolist(), *multipliers.tolist()]
    assert math.fsum(parts) == sum(map(Fraction, parts)) == sum(parts)
    assert np.array_equal(_summable(np.array([0.5, 3.0, 10.0]), excess), [0.5, 3.0, 10.0]), "halves stay what they are"


def small_problem(seed, size=5):
    lead = np.random.default_rng(seed).integers(-2, 3, (size, size))
    return np.maximum(lead - lead.T, 0).astype(float)


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
