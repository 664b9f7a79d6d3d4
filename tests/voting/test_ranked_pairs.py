from metajudge import voting


def test_ranked_pairs_names_everyone_who_wins_under_some_order_of_equal_majorities():
    circle = [list("abc"), list("bca"), list("cab")]
    found = voting.ranked_pairs(circle)
    assert (found.outcomes, found.exact) == (3, True)
    assert set(found.winners) == set("abc")


def test_ranked_pairs_falls_back_to_a_neutral_answer_and_says_so():
    ballots = [list("abcdef"), list("bcdefa"), list("cdefab"), list("defabc"), list("efabcd"), list("fabcde")]
    exact = voting.ranked_pairs(ballots)
    found = voting.ranked_pairs(ballots, max_outcomes=2)
    assert exact.exact
    assert not found.exact
    assert found.outcomes is None
    assert set(found.winners) == set(exact.winners) == set("abcdef")
