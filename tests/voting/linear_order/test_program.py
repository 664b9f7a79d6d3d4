import math
from fractions import Fraction

import numpy as np
import pytest

from metajudge.voting.linear_order.program import _summable, solve_program
from metajudge.voting.linear_order.subsets import fill_table


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
    assert found.cost == fill_table(excess).cost == 2 * copies
    assert found.proven
    assert not found.certain[:6, :6].any(), "the relaxation is not tight, so it makes no pair of a fence certain"


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_search_over_all_subsets(seed):
    source = np.random.default_rng(seed)
    lead = source.integers(-4, 5, (12, 12))
    excess = np.maximum(lead - lead.T, 0).astype(float)
    found = solve_program(excess, None, thorough=seed % 2 == 0)
    assert found.proven
    assert found.cost == fill_table(excess).cost


def test_a_bound_from_huge_costs_is_a_sum_without_rounding():
    source = np.random.default_rng(2)
    excess = np.triu(source.integers(0, 10**12, (40, 40)), 1).astype(float)
    multipliers = _summable(source.random(2000) * 1e11, excess)
    parts = [*excess.ravel().tolist(), *multipliers.tolist()]
    assert math.fsum(parts) == sum(map(Fraction, parts)) == sum(parts)
    assert np.array_equal(_summable(np.array([0.5, 3.0, 10.0]), excess), [0.5, 3.0, 10.0]), "halves stay what they are"
