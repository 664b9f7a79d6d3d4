"""Intervals, ranges and the pieces an axis is cut into; everything is compared after rounding to 1e-9."""

import numpy as np
import pytest
from pydantic import ValidationError

from metajudge.decision.interval import UNIT, Interval, Piece, Range, all_exact, exact, pieces


def test_numbers_are_compared_after_nine_decimals():
    assert exact(0.1 + 0.2) == 0.3
    assert exact(0.5 + 6e-10) != 0.5


def test_many_numbers_are_rounded_as_each_alone():
    random = np.random.default_rng(1)
    halves = (random.integers(0, 10**9, 500) + 0.5) / 1e9
    far = [1e4, 123456.7890123455, -9.87654321e15, 1e300, np.inf, -np.inf, np.nan, 0.0, -0.0, -4e-10]
    values = np.concatenate(
        [random.random(500), halves, -halves, np.nextafter(halves, 1), 1e4 * random.random(500), far]
    )
    assert all_exact(values).tobytes() == np.array([exact(value) for value in values.tolist()]).tobytes()


def test_a_range_holds_its_ends_and_nothing_beyond():
    scale = Range(low=1, high=5)
    assert [scale.contains(value) for value in (1, 5, 3, 1 - 1e-12, 5 + 1e-12)] == [True] * 5
    assert [scale.contains(value) for value in (0.99, 5.01, float("nan"))] == [False] * 3
    assert (scale.width, str(scale), UNIT.width) == (4, "1..5", 1)


@pytest.mark.parametrize(("low", "high"), [(5, 5), (5, 1), (1, 1 + 1e-10)])
def test_a_range_without_width_is_refused(low, high):
    with pytest.raises(ValidationError, match="must be below high"):
        Range(low=low, high=high)


def test_an_interval_holds_its_lower_bound_and_not_its_upper():
    half = Interval(at_least=0.2, below=0.5)
    assert [half.contains(value) for value in (0.2, 0.2 - 1e-12, 0.49)] == [True] * 3
    assert [half.contains(value) for value in (0.5, 0.5 - 1e-12, 0.19, 0.6)] == [False] * 4
    assert Interval(at_least=0.2).contains(9)
    assert not Interval(at_least=0.2).contains(0.1)
    assert Interval(below=0.2).contains(-9)
    assert not Interval(below=0.2).contains(0.2)


def test_an_interval_says_its_bounds():
    cases = [Interval(), Interval(at_least=0.25), Interval(below=0.5), Interval(at_least=0.25, below=0.5)]
    assert [str(one) for one in cases] == ["any", ">= 0.25", "< 0.5", "[0.25, 0.5)"]
    assert [one.bounds for one in cases] == [(), (0.25,), (0.5,), (0.25, 0.5)]
    assert [one.whole for one in cases] == [True, False, False, False]


@pytest.mark.parametrize(("at_least", "below"), [(0.5, 0.5), (0.6, 0.5), (0.5, 0.5 + 1e-10)])
def test_an_empty_interval_is_refused(at_least, below):
    with pytest.raises(ValidationError, match="the interval is empty"):
        Interval(at_least=at_least, below=below)


def test_an_axis_is_cut_at_every_bound_and_its_last_piece_is_closed():
    found = pieces(Range(low=0, high=10), [Interval(at_least=7), Interval(at_least=2, below=7), Interval(below=2)])
    assert found == [Piece(0, 2, False), Piece(2, 7, False), Piece(7, 10, True)]
    assert [str(piece) for piece in found] == ["[0, 2)", "[2, 7)", "[7, 10]"]


def test_a_bound_at_the_top_makes_a_piece_of_one_point_and_one_at_the_bottom_none():
    assert [str(piece) for piece in pieces(UNIT, [Interval(below=1.0)])] == ["[0, 1)", "exactly 1"]
    assert [str(piece) for piece in pieces(UNIT, [Interval(at_least=0.0)])] == ["[0, 1]"]
    assert pieces(UNIT, [Interval(below=3.0), Interval(at_least=-1.0)]) == [Piece(0, 1, True)]


def test_pieces_are_joined_end_to_end_and_say_how_far_a_value_is():
    joined = Piece(0.2, 0.4, False).joined(Piece(0.4, 1.0, True))
    assert joined == Piece(0.2, 1.0, True)
    assert Piece(2, 4, False).distance(1.5) == 0.5
    assert Piece(2, 4, False).distance(7) == 3
    assert [Piece(2, 4, False).distance(value) for value in (2, 3, 4)] == [0, 0, 0]
