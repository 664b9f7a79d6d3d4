import pytest

from metajudge import voting
from metajudge.errors import InputError
from tests.voting.tennessee import rank

# Schulze's own example (2011, example 1): 45 voters, five candidates; his ranking is E A C B D.
SCHULZE_45 = {
    "ballots": ["acbed", "adecb", "bedac", "cabed", "caebd", "cbade", "dceba", "ebadc"],
    "weights": [5, 5, 8, 3, 7, 2, 7, 8],
}


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
