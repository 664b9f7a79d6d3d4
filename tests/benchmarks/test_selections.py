from metajudge.benchmarks.precision import Score, keep_above, keep_share


def test_equal_scores_stay_together_so_the_order_of_lines_settles_nothing():
    values = [0.9, 0.5, 0.5, 0.5, 0.1]
    kept = keep_share(Score("s", values), 0.4, "evidence")
    assert kept.kept.tolist() == [True, True, True, True, False]
    turned = keep_share(Score("s", values[::-1]), 0.4, "evidence")
    assert turned.kept.tolist() == [False, True, True, True, True]
    assert kept.threshold.value == 0.5


def test_a_share_that_the_scores_cannot_fill_is_no_row():
    assert keep_share(Score("s", [0.9, None, None, None]), 0.8, "evidence") is None


def test_exactly_the_threshold_is_not_kept():
    score = Score("s", [4.5, 4.5 + 1e-12, 4.6, None])
    assert keep_above(score, 4.5, "s").kept.tolist() == [False, False, True, False]
    assert keep_above(score, 4.5, "s").scored.tolist() == [True, True, True, False]


def test_a_row_is_called_by_the_coverage_it_reaches_where_equal_scores_raise_it():
    tied = keep_share(Score("s", [0.9] * 6 + [0.1] * 4), 0.4, "evidence")
    assert tied.name == "s, best 60.0 % (equal scores; 40 % asked)"
    assert tied.column == "s, best 40 %"
    assert keep_share(Score("s", [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]), 0.4, "evidence").name == "s, best 40 %"
