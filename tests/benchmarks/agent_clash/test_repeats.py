from tests.doubles.clash_study import row


def test_a_majority_over_two_runs_that_differ_is_no_match(figures):
    rows = [row(1, run=run, experiment="arena", votes=votes) for run, votes in ((1, "aaa"), (2, "bbb"))]
    found = figures([*rows, row(2, experiment="arena")])
    assert found["majority.concordance"].value == 50
    assert "1 evaluations have as many" in found["majority.concordance"].why
    assert found["stability.classes"].value == {"stable_right": 0, "stable_wrong": 0, "unstable": 1}
