from metajudge import voting


def test_the_price_of_borda_against_kemeny():
    found = voting.kemeny_borda_gap([list("abc")] * 3 + [list("bca")] * 2)
    assert found.borda.winners == ("b",)
    assert (found.kemeny.cost, found.borda_cost, found.gap, found.relative) == (4.0, 5.0, 1.0, 0.25)
    agreed = voting.kemeny_borda_gap([list("abc")])
    assert (agreed.gap, agreed.relative) == (0.0, None)


def test_gap_of_tied_borda_points_takes_the_mean_of_both_ways():
    found = voting.kemeny_borda_gap([["a", "b"], ["b", "a"]], weights=[1, 1])
    assert (found.borda_cost, found.gap) == (1.0, 0.0)
