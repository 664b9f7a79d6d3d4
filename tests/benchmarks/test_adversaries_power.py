"""Made judges for the table of how often followers are found."""

import importlib

import numpy as np

power = importlib.import_module("metajudge.benchmarks.adversaries_power")


def test_a_follower_follows_on_whole_questions_and_others_do_not():
    said = power.made(np.random.default_rng(0), 5, 400, 0.5, 1.0)
    same = (said[:, :, 0] == said[:, :, 1]).all(axis=1).mean()
    other = (said[:, :, 0] == said[:, :, 2]).all(axis=1).mean()
    assert same > other + 0.2
    assert (power.made(np.random.default_rng(0), 5, 50, 1.0, 1.0)[:, :, :2].std(axis=2) == 0).all()


def test_shares_are_counted_with_their_intervals():
    one = power.power(5, 200, 1.0, 1.0, 4, 0)
    assert (one.found[0], one.false[0]) == (1.0, 0.0)
    assert one.found[1] < 1.0 == one.found[2]
    none = power.power(4, 60, 0.0, 1.0, 4, 0)
    assert (none.found[0], none.exact[0]) == (0.0, 0.0)
