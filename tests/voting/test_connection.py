import pytest

from metajudge.errors import InputError
from metajudge.voting import (
    bradley_terry,
    plackett_luce,
)


@pytest.mark.parametrize("model", [bradley_terry, plackett_luce])
def test_a_candidate_that_always_wins_has_no_finite_strength_and_is_no_huge_number(model):
    ballots = [["a", "b", "c"], ["a", "c", "b"]]
    with pytest.raises(InputError, match=r"'a' never lost to 'b', 'c'.*infinite.*prior"):
        model(ballots)
    found = model(ballots, prior=0.5)
    assert 0 < found.scores["a"] < 5
    assert found.scores["b"] == pytest.approx(found.scores["c"])
    assert found.ranking == (("a",), ("b", "c"))
    assert found.prior == 0.5


@pytest.mark.parametrize("model", [bradley_terry, plackett_luce])
def test_groups_that_no_ballot_joins_have_no_common_scale(model):
    ballots = [["a", "b"], ["b", "a"], ["x", "y"], ["y", "x"]]
    with pytest.raises(InputError, match="no ballot compares 'a', 'b' with 'x', 'y'"):
        model(ballots)
    assert list(model(ballots, prior=1).scores.values()) == pytest.approx([0.0] * 4, abs=1e-9)


@pytest.mark.parametrize("model", [bradley_terry, plackett_luce])
def test_one_candidate_is_not_compared(model):
    with pytest.raises(InputError, match="there is only 'a'"):
        model([["a"]])
