import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metajudge.report.svg import Axis, share_axis, spread


@given(st.lists(st.floats(0, 300), max_size=12))
def test_labels_keep_their_distance_and_their_order(places):
    moved = spread(places, 16, 20, 330)
    ranked = sorted(moved)
    assert all(later - earlier >= 16 - 1e-9 for earlier, later in itertools.pairwise(ranked))
    assert all(20 - 1e-9 <= place <= 330 + 1e-9 for place in moved)
    for one, place in zip(places, moved, strict=True):
        for other, another in zip(places, moved, strict=True):
            if one < other:
                assert place < another


@pytest.mark.parametrize(("low", "ticks"), [(0.0, 6), (0.5, 6), (0.7, 7), (0.9, 6), (0.3, 8)])
def test_axes_begin_and_end_on_a_tick(low, ticks):
    found = Axis((low, 1.0), 0, 100).ticks()
    assert (found[0], found[-1]) == (low, 1.0)
    assert len(found) <= ticks


def test_the_axis_holds_the_lowest_value():
    assert share_axis([0.83, 0.51], 0, 1).span[0] == 0.5
    assert share_axis([], 0, 1).span[0] == 0.9
    assert share_axis([0.0], 0, 1).span[0] == 0.0
