import pytest
from metajudge.benchmarks.findings import Proportion
from metajudge.benchmarks.grid import load_grid
from metajudge.benchmarks.grid_findings import size_weighted

SIZES = load_grid("published").category_sizes


def proportion(right, n):
    return Proportion.of([True] * right + [False] * (n - right), [str(place) for place in range(n)])


def test_the_mean_is_weighted_by_pairs_and_not_by_what_is_kept():
    # The majority vote's cells fit 34/43, 9/13, 4/5, 6/7; pooled they would be 53/68 = 77.94.
    cells = dict(zip(SIZES, (proportion(34, 43), proportion(9, 13), proportion(4, 5), proportion(6, 7)), strict=True))
    found = size_weighted(cells, SIZES)
    assert 100 * found.share == pytest.approx(77.26, abs=0.005)
    assert (found.n, found.questions) == (68, 68)
    assert found.low < found.share < found.high <= 1


def test_of_one_category_it_is_that_categorys_precision_and_interval():
    one = proportion(30, 40)
    found = size_weighted({"Math": one}, {"Math": 56})
    assert (found.share, found.low, found.high) == pytest.approx((one.share, one.low, one.high))


def test_the_interval_of_two_equal_categories_is_narrower_by_the_square_root_of_two():
    one = proportion(30, 40)
    found = size_weighted({"Math": one, "Coding": one}, {"Math": 5, "Coding": 5})
    assert found.share - found.low == pytest.approx((one.share - one.low) / 2**0.5)
    assert found.high - found.share == pytest.approx((one.high - one.share) / 2**0.5)
