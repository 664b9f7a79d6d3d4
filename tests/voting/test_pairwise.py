"""Counts of pairs by hand."""

import pytest

from metajudge.errors import InputError
from metajudge.voting import pairwise, read_profile
from metajudge.voting.pairwise import check_choice, pair_counts

BALLOTS = [["a", "b", "c"], [["a", "b"], "c"], ["c"]]


def counts(unranked="below", weights=(2, 1, 1)):
    return pair_counts(read_profile(BALLOTS, ["a", "b", "c"], list(weights)), unranked)


def test_preferences_and_ties_are_weights_of_ballots():
    found = counts()
    assert (found.prefer * float(found.unit)).tolist() == [[0, 2, 3], [0, 0, 3], [1, 1, 0]]
    assert (found.tied * float(found.unit)).tolist() == [[0, 2, 0], [2, 0, 0], [0, 0, 0]], "unranked ones tie below"
    assert found.total * found.unit == 4
    assert found.candidates == ("a", "b", "c")


def test_what_a_ballot_does_not_name_can_be_left_uncompared():
    found = counts("ignore")
    assert (found.prefer * float(found.unit)).tolist() == [[0, 2, 3], [0, 0, 3], [0, 0, 0]]
    assert (found.tied * float(found.unit)).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_margins_and_doubled_weights():
    found = counts(weights=(2, 1, 1))
    assert (found.margins * float(found.unit)).tolist() == [[0, 2, 2], [-2, 0, 2], [-2, -2, 0]]
    assert (found.doubled("half") * float(found.unit)).tolist() == [[0, 6, 6], [2, 0, 6], [2, 2, 0]]
    assert (found.doubled("ignore") * float(found.unit)).tolist() == [[0, 4, 6], [0, 0, 6], [2, 2, 0]]


def test_ballots_counted_in_parts_are_the_same(monkeypatch):
    whole = counts()
    monkeypatch.setattr(pairwise, "_CHUNK", 9)
    assert (counts().prefer == whole.prefer).all()
    assert (counts().tied == whole.tied).all()


def test_an_unknown_choice_names_the_option_and_what_it_takes():
    check_choice("ties", "half", ("half", "ignore"))
    with pytest.raises(InputError, match="ties must be 'half' or 'ignore', not 'third'"):
        check_choice("ties", "third", ("half", "ignore"))
