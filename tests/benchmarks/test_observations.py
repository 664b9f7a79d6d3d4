from metajudge.benchmarks.precision import swap_counts


def test_swap_outcomes_are_counted_apart():
    games = [(True, True), (False, False), (True, False), (False, True), (None, True), (False, None), (None, None)]
    counts = swap_counts(games)
    assert (counts.both_right, counts.both_wrong, counts.disagree) == (1, 1, 2)
    assert (counts.one_undecided, counts.both_undecided) == (2, 1)
