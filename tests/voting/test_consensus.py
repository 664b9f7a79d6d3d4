import pytest

from metajudge import voting
from tests.voting.tennessee import TENNESSEE, rank


@pytest.mark.parametrize("rule", [voting.kemeny, voting.copeland, voting.schulze, voting.ranked_pairs])
def test_condorcet_rules_on_tennessee(rule):
    groups = [["Nashville"], ["Chattanooga"], ["Knoxville"], ["Memphis"]]
    assert [list(group) for group in rank(rule, TENNESSEE).ranking] == groups


def test_consensus_ranks_are_mid_ranks():
    found = voting.copeland([["a", "b", "c"], ["b", "a", "c"]])
    assert found.ranks == {"a": 1.5, "b": 1.5, "c": 3.0}
    assert [set(group) for group in found.ties] == [{"a", "b"}]
