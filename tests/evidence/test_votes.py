import numpy as np

from metajudge.evidence.rules import Rules
from metajudge.evidence.votes import votes_on
from metajudge.types import parse_right
from tests.evidence.verdicts import said, table


def test_verdicts_that_differ_in_strength_alone_make_one_claim() -> None:
    given = [said("b", "AB", "A>B"), said("a", "AB", "A>>B"), said("a", "BA", "B>A"), said("c", "AB", "A=B")]
    votes = votes_on(table({"i": given}), Rules())
    assert votes.claim[0] == votes.claim[1] != votes.claim[2]
    assert (votes.claim[3], votes.reasons[votes.why[3]].state) == (-1, "own_tied")
    ((_, place, _),) = votes.on(np.array([0]))
    assert votes.vote[place].tolist() == [0.25, 0.5, 0]
    assert votes.judge[place].tolist() == [1, 0, 2]


def test_items_and_responses_are_kept_apart() -> None:
    items = {"i": [said("a", "A", 4), said("b", "A", 5), said("b", "B", 4)], "h": [said("c", "A", 4)]}
    votes = votes_on(table(items), Rules(parse_right("equal")))
    assert len(set(votes.claim.tolist())) == 4
    ((_, place, _),) = votes.on(np.array([0]))
    assert votes.vote[place].tolist() == [1, -1]
