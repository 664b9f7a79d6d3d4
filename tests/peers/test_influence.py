"""Evaluators left out, and at their worst, on one's own ballots."""

import pytest

from metajudge.errors import ConfigurationError
from metajudge.peers import Ballot, Options, analyse
from metajudge.peers.consensus import question_consensus
from metajudge.peers.influence import order_of
from metajudge.peers.table import build_table

QUICK = {"resamples": 0}


def ballots(said, questions=3, domain=None):
    """The same ballots in each question: evaluator -> order."""
    return [
        Ballot(question_id=f"q{n}", evaluator=name, ranking=[[one] for one in order], domain=domain)
        for n in range(questions)
        for name, order in said.items()
    ]


def found(said, **options):
    return analyse(ballots(said), Options(**QUICK, **options))


TWO_TO_ONE = {"e1": "abc", "e2": "abc", "e3": "bac"}


def test_who_carries_the_result_is_seen_by_leaving_them_out_alone_or_together():
    influence = found(TWO_TO_ONE).influence
    by_name = {one.without: one for one in influence.left_out}
    assert influence.order == (("a",), ("b",), ("c",))
    assert not by_name["e3",].moved
    without = by_name["e1",]
    assert without.order == (("a", "b"), ("c",))
    assert (without.winner_changes, without.questions_changed, without.questions) == (True, 3, 3)
    assert [(one.model, one.before, one.after) for one in without.moved] == [("b", 2.0, 1.5)]
    influence = found(TWO_TO_ONE, without=("e1", "e2")).influence
    last = influence.left_out[-1]
    assert (last.without, last.order) == (("e1", "e2"), (("b",), ("a",), ("c",)))
    assert influence.worst[-1].can_win == ("b", "c")


def test_the_worst_ballots_of_one_evaluator_against_a_brute_force():
    """With three evaluators, two of whom agree, one of these can make the rival win, the third can not."""
    influence = found({"e1": "abc", "e2": "abc", "e3": "abc"}).influence
    assert all(not one.can_win for one in influence.worst)
    worst = {one.who: one for one in found(TWO_TO_ONE).influence.worst}
    assert worst["e1",].can_win == ("b",)
    assert worst["e3",].can_win == ()
    table = build_table(ballots({"e1": "bca", "e2": "abc", "e3": "bac"}))
    assert order_of(question_consensus(table), table.models)[0] == ("b",)
    assert (worst["e1",].favours, worst["e1",].before, worst["e1",].after) == ("b", 2.0, 1.0)


def test_names_of_candidates_and_evaluators_change_nothing():
    swapped = {name: order.translate(str.maketrans("abc", "cab")) for name, order in TWO_TO_ONE.items()}
    one, other = found(TWO_TO_ONE).influence, found(swapped).influence
    back = str.maketrans("cab", "abc")
    assert [[len(group) for group in left.order] for left in one.left_out] == [
        [len(group) for group in left.order] for left in other.left_out
    ]
    assert [tuple(sorted(w.can_win)) for w in one.worst] == [
        tuple(sorted(name.translate(back) for name in w.can_win)) for w in other.worst
    ]


@pytest.mark.parametrize(("without", "words"), [(("nobody",), "'nobody'"), (("e1", "e2", "e3"), "name fewer")])
def test_a_coalition_that_makes_no_sense_is_refused(without, words):
    with pytest.raises(ConfigurationError, match=words):
        found(TWO_TO_ONE, without=without)
