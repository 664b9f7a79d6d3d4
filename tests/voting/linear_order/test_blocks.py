"""Blocks that can be ordered on their own."""

import numpy as np

from metajudge.voting.linear_order.blocks import majority_blocks, separate_blocks


def excess(size, *before):
    """A problem in which each (first, second) says who is preferred; all others are level."""
    found = np.zeros((size, size))
    for first, second in before:
        found[second, first] = 1
    return found


def as_lists(blocks):
    return [sorted(block.tolist()) for block in blocks]


CYCLE = [(0, 1), (1, 2), (2, 0)]


def test_a_clear_order_falls_into_single_candidates():
    assert as_lists(separate_blocks(excess(3, (2, 0), (2, 1), (0, 1)))) == [[2], [0], [1]]
    assert as_lists(majority_blocks(excess(3, (2, 0), (2, 1), (0, 1)))) == [[2], [0], [1]]


def test_a_cycle_stays_together_before_whom_it_beats():
    problem = excess(4, *CYCLE, (0, 3), (1, 3), (2, 3))
    assert as_lists(separate_blocks(problem)) == [[0, 1, 2], [3]]
    assert as_lists(majority_blocks(problem)) == [[0, 1, 2], [3]]


def test_level_candidates_are_one_block_for_all_optima_and_several_for_one():
    assert as_lists(separate_blocks(excess(3))) == [[0, 1, 2]]
    assert sorted(as_lists(majority_blocks(excess(3)))) == [[0], [1], [2]]
    one_level = excess(3, (0, 1), (0, 2))
    assert as_lists(separate_blocks(one_level)) == [[0], [1, 2]]


def test_a_component_comes_before_those_it_reaches_only_through_others():
    blocks = as_lists(majority_blocks(excess(3, (2, 1), (1, 0))))
    assert blocks == [[2], [1], [0]]
