import pytest

from metajudge import voting
from metajudge.errors import InputError


def test_median_rank_takes_weights_mid_ranks_and_both_middles():
    found = voting.median_rank([["a", "b", "c"], ["b", "a", "c"], [["a", "c"], "b"]], weights=[1, 1, 2])
    ranks = {name: 3 - score for name, score in found.scores.items()}
    assert ranks == {"a": 1.5, "b": 2.5, "c": 2.25}


def test_median_rank_of_a_candidate_nobody_ranks_is_an_error_not_a_rank():
    with pytest.raises(InputError, match="no ballot ranks 'c'"):
        voting.median_rank([["a", "b"]], candidates=["a", "b", "c"], unranked="ignore")
    assert voting.median_rank([["a", "b"]], candidates=["a", "b", "c"]).ranking[-1] == ("c",)
