"""The classical rules on examples whose answers are published or can be counted by hand."""

import pytest

from metajudge import voting
from metajudge.errors import InputError

# Tennessee's capital: 42 % Memphis, 26 % Nashville, 15 % Chattanooga, 17 % Knoxville, each by distance.
TENNESSEE = {
    "ballots": [
        ["Memphis", "Nashville", "Chattanooga", "Knoxville"],
        ["Nashville", "Chattanooga", "Knoxville", "Memphis"],
        ["Chattanooga", "Knoxville", "Nashville", "Memphis"],
        ["Knoxville", "Chattanooga", "Nashville", "Memphis"],
    ],
    "weights": [42, 26, 15, 17],
}

# Schulze's own example (2011, example 1): 45 voters, five candidates; his ranking is E A C B D.
SCHULZE_45 = {
    "ballots": ["acbed", "adecb", "bedac", "cabed", "caebd", "cbade", "dceba", "ebadc"],
    "weights": [5, 5, 8, 3, 7, 2, 7, 8],
}


def rank(rule, data, **options):
    return rule([list(ballot) for ballot in data["ballots"]], weights=data["weights"], **options)


@pytest.mark.parametrize("rule", [voting.kemeny, voting.copeland, voting.schulze, voting.ranked_pairs])
def test_condorcet_rules_on_tennessee(rule):
    groups = [["Nashville"], ["Chattanooga"], ["Knoxville"], ["Memphis"]]
    assert [list(group) for group in rank(rule, TENNESSEE).ranking] == groups


def test_kemeny_scores_393_on_tennessee():
    found = rank(voting.kemeny, TENNESSEE)
    assert found.is_unique
    assert found.cost == 600 - 393  # the published score counts agreements


def test_borda_on_tennessee():
    assert rank(voting.borda, TENNESSEE).scores == {
        "Nashville": 194.0,
        "Chattanooga": 173.0,
        "Memphis": 126.0,
        "Knoxville": 107.0,
    }


def test_plurality_on_tennessee_elects_what_most_rank_last():
    found = rank(voting.plurality, TENNESSEE)
    assert found.winners == ("Memphis",)
    assert found.scores["Memphis"] == 42.0


def test_schulze_on_his_own_example():
    found = rank(voting.schulze, SCHULZE_45)
    assert [group[0] for group in found.ranking] == list("eacbd")
    assert found.ties == ()
    assert found.scores == {"a": 3.0, "b": 1.0, "c": 2.0, "d": 0.0, "e": 4.0}


def test_schulze_margins_and_winning_votes_differ_on_truncated_ballots():
    ballots = [["a", "b"], ["b", "c"], ["c", "a"]]
    weights = [7, 6, 5]
    found = {
        strength: voting.schulze(ballots, weights=weights, unranked="ignore", strength=strength).winners
        for strength in ("margins", "winning_votes")
    }
    assert found["margins"] == found["winning_votes"] == ("a",)
    with pytest.raises(InputError, match="strength must be"):
        voting.schulze(ballots, strength="votes")


def test_borda_of_a_pair_not_compared_is_half_a_point_not_none():
    found = voting.borda([["a", "b"], ["c"]], unranked="ignore")
    assert found.scores == {"a": 2.5, "b": 1.5, "c": 2.0}


def test_ties_on_ballots_share_borda_points_and_first_places():
    assert voting.borda([[["a", "b"], "c"]]).scores == {"a": 1.5, "b": 1.5, "c": 0.0}
    found = voting.plurality([[["a", "b", "c"]], ["a", "b"]], weights=[1, 0.5])
    assert found.scores == {"a": pytest.approx(5 / 6), "b": pytest.approx(1 / 3), "c": pytest.approx(1 / 3)}
    assert [set(group) for group in found.ranking] == [{"a"}, {"b", "c"}]


def test_thirds_of_a_first_place_add_up_to_a_tie_exactly():
    ballots = [[["a", "b", "c"]], [["a", "b", "c"]], [["a", "b", "c"]], ["d"]]
    assert [set(group) for group in voting.plurality(ballots).ranking] == [set("abcd")]


def test_median_rank_takes_weights_mid_ranks_and_both_middles():
    found = voting.median_rank([["a", "b", "c"], ["b", "a", "c"], [["a", "c"], "b"]], weights=[1, 1, 2])
    ranks = {name: 3 - score for name, score in found.scores.items()}
    assert ranks == {"a": 1.5, "b": 2.5, "c": 2.25}


def test_median_rank_of_a_candidate_nobody_ranks_is_an_error_not_a_rank():
    with pytest.raises(InputError, match="no ballot ranks 'c'"):
        voting.median_rank([["a", "b"]], candidates=["a", "b", "c"], unranked="ignore")
    assert voting.median_rank([["a", "b"]], candidates=["a", "b", "c"]).ranking[-1] == ("c",)


def test_copeland_counts_level_contests_half():
    found = voting.copeland([["a", "b", "c"], ["b", "a", "c"]])
    assert found.scores == {"a": 1.5, "b": 1.5, "c": 0.0}


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


def test_consensus_ranks_are_mid_ranks():
    found = voting.copeland([["a", "b", "c"], ["b", "a", "c"]])
    assert found.ranks == {"a": 1.5, "b": 1.5, "c": 3.0}
    assert [set(group) for group in found.ties] == [{"a", "b"}]


def test_whole_numbers_are_names_too():
    assert voting.borda([[2, 0, 1], [2, 1, 0]]).ranking == ((2,), (0, 1))


@pytest.mark.parametrize("rule", ["borda", "copeland", "schulze", "ranked_pairs", "median_rank", "plurality"])
def test_every_rule_refuses_bad_ballots_alike(rule):
    for ballots, message in [([], "no ballots"), ([["a", "a"]], "twice"), ([[]], "empty"), ([[float("nan")]], "nan")]:
        with pytest.raises(InputError, match=message):
            getattr(voting, rule)(ballots)
    with pytest.raises(InputError, match="not among the candidates"):
        getattr(voting, rule)([["a", "x"]], candidates=["a", "b"])
    assert getattr(voting, rule)([["a"]]).ranking == (("a",),)


def test_the_price_of_borda_against_kemeny():
    found = voting.kemeny_borda_gap([list("abc")] * 3 + [list("bca")] * 2)
    assert found.borda.winners == ("b",)
    assert (found.kemeny.cost, found.borda_cost, found.gap, found.relative) == (4.0, 5.0, 1.0, 0.25)
    agreed = voting.kemeny_borda_gap([list("abc")])
    assert (agreed.gap, agreed.relative) == (0.0, None)


def test_gap_of_tied_borda_points_takes_the_mean_of_both_ways():
    found = voting.kemeny_borda_gap([["a", "b"], ["b", "a"]], weights=[1, 1])
    assert (found.borda_cost, found.gap) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([10**400, 1], "outside 1e-100 to 1e100"),
        ([1, 1e-200], "outside 1e-100 to 1e100"),
        ([1e13, 1], "less than 1e-12 of the sum"),
    ],
)
def test_weights_that_could_not_be_counted_are_refused_not_rounded_up(weights, words):
    with pytest.raises(InputError, match=words):
        voting.borda([["a", "b"], ["b", "a"]], weights=weights)
