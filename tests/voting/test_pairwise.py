"""Counts of pairs in parts, and a choice that is none."""

import pytest

from metajudge.errors import InputError
from metajudge.voting import pairwise, read_profile
from metajudge.voting.pairwise import check_choice, pair_counts

BALLOTS = [["a", "b", "c"], [["a", "b"], "c"], ["c"]]


def counts():
    return pair_counts(read_profile(BALLOTS, ["a", "b", "c"], [2, 1, 1]), "below")


def test_ballots_counted_in_parts_are_the_same(monkeypatch):
    whole = counts()
    monkeypatch.setattr(pairwise, "_CHUNK", 9)
    assert (counts().prefer == whole.prefer).all()
    assert (counts().tied == whole.tied).all()


def test_an_unknown_choice_names_the_option_and_what_it_takes():
    check_choice("ties", "half", ("half", "ignore"))
    with pytest.raises(InputError, match="ties must be 'half' or 'ignore', not 'third'"):
        check_choice("ties", "third", ("half", "ignore"))
