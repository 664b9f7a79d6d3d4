import pytest

from metajudge import voting
from tests.voting.tennessee import TENNESSEE, rank


def test_borda_on_tennessee():
    assert rank(voting.borda, TENNESSEE).scores == {
        "Nashville": 194.0,
        "Chattanooga": 173.0,
        "Memphis": 126.0,
        "Knoxville": 107.0,
    }


def test_borda_of_a_pair_not_compared_is_half_a_point_not_none():
    found = voting.borda([["a", "b"], ["c"]], unranked="ignore")
    assert found.scores == {"a": 2.5, "b": 1.5, "c": 2.0}


def test_ties_on_ballots_share_borda_points_and_first_places():
    assert voting.borda([[["a", "b"], "c"]]).scores == {"a": 1.5, "b": 1.5, "c": 0.0}
    found = voting.plurality([[["a", "b", "c"]], ["a", "b"]], weights=[1, 0.5])
    assert found.scores == {"a": pytest.approx(5 / 6), "b": pytest.approx(1 / 3), "c": pytest.approx(1 / 3)}
    assert [set(group) for group in found.ranking] == [{"a"}, {"b", "c"}]
