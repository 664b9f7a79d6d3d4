"""Counting over possible prefixes against counting over all subsets: two methods that share nothing but the layers."""

import numpy as np
import pytest

from metajudge.voting import pair_counts, read_profile
from metajudge.voting.kemeny import scaled_excess
from metajudge.voting.linear_order import ideals, subsets
from metajudge.voting.linear_order.solve import solve_majorities
from tests.voting.profiles import near_ballots, random_ballot, shuffled_ballots


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
