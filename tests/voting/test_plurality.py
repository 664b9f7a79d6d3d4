from metajudge import voting
from tests.voting.tennessee import TENNESSEE, rank


def test_plurality_on_tennessee_elects_what_most_rank_last():
    found = rank(voting.plurality, TENNESSEE)
    assert found.winners == ("Memphis",)
    assert found.scores["Memphis"] == 42.0


def test_thirds_of_a_first_place_add_up_to_a_tie_exactly():
    ballots = [[["a", "b", "c"]], [["a", "b", "c"]], [["a", "b", "c"]], ["d"]]
    assert [set(group) for group in voting.plurality(ballots).ranking] == [set("abcd")]
