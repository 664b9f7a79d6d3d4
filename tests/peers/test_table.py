"""Ballots as arrays: mid-ranks, truncation, gaps, quorum."""

import pytest

from metajudge.errors import InputError
from metajudge.peers import Ballot, build_table
from tests.peers.elections import NAMES, ballots, failed


def ballot(evaluator, ranking, question="q", **more):
    return Ballot(question_id=question, evaluator=evaluator, ranking=ranking, **more)


@pytest.mark.parametrize(
    ("ranking", "cut", "places"),
    [
        ([["a", "b"], "c", ["d", "e", "f"]], 6, [1.5, 1.5, 3, 5, 5, 5]),
        (["a", "b", "c", "d"], 2, [1, 2, 3.5, 3.5]),
        (["a", ["b", "c"], "d", "e"], 2, [1, 2.5, 2.5, 4.5, 4.5]),  # a group across the cut is kept whole
    ],
)
def test_ties_and_the_rest_of_a_cut_ballot_share_the_mean_of_their_places(ranking, cut, places):
    assert build_table([ballot("e", ranking)]).top(cut).places[0, 0].tolist() == places


def test_who_was_shown_but_not_ranked_stands_below_and_who_was_not_shown_nowhere():
    table = build_table(
        [
            ballot("e", ["a"], candidates=["a", "b", "c"]),
            ballot("f", ["d", "a"]),
        ]
    )
    assert table.places[0, 0].tolist() == [1.0, 2.5, 2.5, 0.0]
    assert table.ranked[0, 0].tolist() == [True, True, True, False]
    # Without candidates everybody whom some ballot of the question shows was there.
    assert table.places[0, 1].tolist() == [2.0, 3.5, 3.5, 1.0]


def test_positions_shown_come_from_the_labels():
    table = build_table([ballot("e", ["a", "b"], labels={"A0": "b", "A1": "a"})])
    assert table.shown[0, 0].tolist() == [2, 1]


class TestQuorum:
    def test_half_of_those_asked_is_not_enough(self):
        some = [ballot("e", ["a", "b"]), failed("q", "f"), ballot("e", ["a", "b"], "r"), ballot("f", ["a", "b"], "r")]
        table = build_table(some)
        assert table.questions == ("r",)
        assert table.left_out[0].question_id == "q"
        assert table.left_out[0].reason == "1 of 2 ballots, 2 are needed (1 timeout)"
        assert [(one.question_id, one.evaluator, str(one.kind)) for one in table.lost] == [("q", "f", "timeout")]

    def test_no_question_with_enough_ballots_is_an_error_that_says_why(self):
        with pytest.raises(InputError, match=r"no question can be counted: q: 0 of 1 ballots.*1 timeout"):
            build_table([failed("q", "f", "timeout"), ballot("e", ["a", "b"], "r")], quorum=2)

    def test_an_evaluator_who_failed_everywhere_stays_in_the_table_without_ballots(self):
        table = build_table([*ballots(3, evaluators=NAMES[:3]), *(failed(f"q{n}", "zoe") for n in range(3))])
        assert table.evaluators[-1] == "zoe"
        assert not table.cast[:, -1].any()
        assert len(table.questions) == 3


class TestTop:
    def test_nothing_cannot_be_kept(self):
        with pytest.raises(InputError, match="at least one place"):
            build_table(ballots(1)).top(0)


def test_taking_models_off_the_ballots_closes_the_gaps():
    table = build_table([ballot("e", ["a", ["b", "c"], "d"])]).of_models(["b", "d", "nobody"])
    assert table.models == ("b", "d")
    assert table.places[0, 0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([ballot("e", ["a"])], r"name \['a'\]: a ranking needs at least two candidates"),
        ([failed("q", "e")], "name no candidate"),
        ([ballot("e", ["a", "b"], domain="x"), ballot("f", ["a", "b"])], "question 'q' has several domains"),
    ],
)
def test_what_cannot_be_ranked_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        build_table(given)


def test_a_question_with_one_candidate_is_left_out_with_the_reason():
    table = build_table([ballot("e", ["a", "b"]), ballot("e", ["a"], "r")])
    assert [(one.question_id, one.reason) for one in table.left_out] == [("r", "fewer than two candidates to rank")]
