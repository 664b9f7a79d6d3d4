import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.voting import bradley_terry, plackett_luce


def test_plackett_luce_top_lists_say_nothing_about_the_rest():
    ballots = [["a"]] * 5 + [["b"]] * 3 + [["c"]] * 2
    found = plackett_luce(ballots, unranked="below", prior=1e-9)
    odds = np.exp(list(found.scores.values()))
    assert odds / odds.sum() == pytest.approx([0.5, 0.3, 0.2], abs=1e-6)
    assert found.choices == 10


def test_plackett_luce_ties_by_breslow_or_not_at_all():
    ballots = [[["a", "b"], "c"], ["c", "a", "b"], ["b", "c", "a"]]
    assert plackett_luce([[["a", "b"], "c"]] * 3 + [["c", ["a", "b"]]]).ranking == (("a", "b"), ("c",))
    with pytest.raises(InputError, match="ballot 0 has a tie"):
        plackett_luce(ballots, ties="refuse")
    assert plackett_luce([*ballots[1:], ["a", "b", "c"]], ties="refuse").choices == 6


def test_plackett_luce_of_pairs_is_bradley_terry():
    source = np.random.default_rng(0)
    ballots = [[str(i) for i in source.choice(5, 2, replace=False)] for _ in range(300)]
    one, other = plackett_luce(ballots), bradley_terry(ballots)
    assert dict(one.scores) == pytest.approx(dict(other.scores))
    assert dict(one.standard_errors) == pytest.approx(dict(other.standard_errors))
    assert one.log_likelihood == pytest.approx(other.log_likelihood)
