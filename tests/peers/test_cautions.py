import pytest

from metajudge.errors import ConfigurationError, InputError
from metajudge.peers import build_table
from tests.peers.elections import HUMAN, NAMES, ballot, ballots, failed, quick, standing


def kinds(found):
    return [one.kind for one in found.cautions]


class TestDegenerate:
    def test_an_evaluator_who_failed_everywhere_is_counted_and_changes_nothing(self):
        given = ballots(6, phi=0.5, evaluators=NAMES[:5])
        lost = [failed(f"q{n}", "fox") for n in range(6)]
        found, without = quick([*given, *lost], HUMAN), quick(given, HUMAN)
        assert len(found.lost) == 6
        assert standing(found, "fox").sfe.absent == "it ranks no answers itself"
        assert standing(found, "fox").se.value is None
        assert [one.sie for one in found.standings] == [one.sie for one in without.standings]
        (caution,) = [one for one in found.cautions if one.kind == "lost_evaluator"]
        assert caution.message == "fox failed on every ballot (6 timeout): it has no vote there"
        pair = found.pairs[-1]
        assert pair.agreement.value is None
        assert pair.error_correlation.value is None
        alone = [one for one in found.references[0].rows if one.name == "fox" and one.kind == "single"]
        assert all(one.micro.median.value is None for one in alone)

    def test_a_single_evaluator_and_everybody_tied_everywhere(self):
        found = quick(ballots(3, evaluators=("x",)))
        assert found.pairs == ()
        assert found.evaluator_standings[0].agreement.absent is not None
        assert "few_voters" in kinds(found)
        found = quick([ballot(name, [NAMES]) for name in NAMES], HUMAN)
        assert all(one.sie.value == 3.5 for one in found.standings)
        assert found.references[0].rows[0].micro.median.value is None
        assert found.ambiguity.overall_optima == 720

    def test_questions_below_the_quorum_and_models_missing_from_some_are_told(self):
        given = [*ballots(2), *(failed("q9", name) for name in NAMES)]
        found = quick(given)
        assert [one.question_id for one in found.left_out] == ["q9"]
        assert "left_out" in kinds(found)
        given = [*ballots(3, names=NAMES[:3]), *(one for one in ballots(5, seed=1) if one.question_id > "q2")]
        found = quick(given)
        (caution,) = [one for one in found.cautions if one.kind == "candidates_differ"]
        assert set(caution.names) == {"dog", "eel", "fox"}

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"rule": "dictator"}, "no voting rule"),
            ({"quorum": 0}, "quorum must be at least 1"),
            ({"top_k": (0,)}, "top-k must keep at least one"),
            ({"resamples": 5}, "at least 100"),
        ],
    )
    def test_options_out_of_range(self, options, error):
        with pytest.raises(ConfigurationError, match=error):
            quick(ballots(2), **options)

    def test_no_ballots(self):
        with pytest.raises(InputError, match="no candidate"):
            quick([])


class TestCautions:
    def test_a_model_whose_own_vote_moves_it_by_more_than_half_a_place_and_not_by_half_exactly(self):
        found = quick(ballots(40, phi=0.7, seed=1, selfish=("fox",)))
        (caution,) = [one for one in found.cautions if one.kind == "self_vote"]
        fox = standing(found, "fox")
        assert caution.names == ("fox",)
        assert fox.sie_less_sfe.value < -0.5
        assert fox.se_less_pe.value < -3
        assert f"{abs(fox.sie_less_sfe.value):.2f} places better" in caution.message
        # Two ballots, a > b and b > a: the model's own vote lifts it from the second place to a tie at 1.5.
        found = quick([ballot("a", ["a", "b"]), ballot("b", ["b", "a"])])
        assert standing(found, "a").sie_less_sfe.value == -0.5
        assert "self_vote" not in kinds(found)

    def test_six_voters_leave_optima_ambiguous_which_are_counted_and_listed(self):
        six = quick(ballots(60, phi=0.6, seed=2))
        (caution,) = [one for one in six.cautions if one.kind == "ambiguous"]
        assert "panels of 6 can split evenly: add or leave out one evaluator" in caution.message
        assert six.ambiguity.by_voters[6][0] == 60
        assert six.ambiguity.share.value == six.ambiguity.by_voters[6][1] / 60
        five = quick(ballots(60, phi=0.6, seed=2, evaluators=NAMES[:5]))
        assert five.ambiguity.share.value < six.ambiguity.share.value / 2
        found = quick([ballot("x", ["a", "b", "c"]), ballot("y", ["a", "c", "b"])])
        assert found.ambiguity.overall_optima == 2
        assert set(found.ambiguity.orders) == {("a", "b", "c"), ("a", "c", "b")}
        assert found.overall == (("a",), ("b", "c"))
        assert any("2 overall orders are equally good" in one.message for one in found.cautions)

    def test_few_voters_and_rules_that_do_not_count_optima(self):
        assert "few_voters" in kinds(quick(ballots(4, evaluators=NAMES[:4])))
        assert "few_voters" not in kinds(quick(ballots(4, evaluators=NAMES[:5])))
        found = quick(ballots(4), rule="borda")
        assert found.ambiguity.share.value is None
        assert found.ambiguity.overall_optima is None
        assert "ambiguous" not in kinds(found)


# Ballots as arrays: mid-ranks, truncation, gaps, quorum.
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


def test_who_was_shown_but_not_ranked_stands_below_at_the_position_of_the_labels():
    table = build_table([ballot("e", ["a"], candidates=["a", "b", "c"]), ballot("f", ["d", "a"])])
    assert table.places[0, 0].tolist() == [1.0, 2.5, 2.5, 0.0]
    assert table.ranked[0, 0].tolist() == [True, True, True, False]
    # Without candidates everybody whom some ballot of the question shows was there.
    assert table.places[0, 1].tolist() == [2.0, 3.5, 3.5, 1.0]
    table = build_table([ballot("e", ["a", "b"], labels={"A0": "b", "A1": "a"})])
    assert table.shown[0, 0].tolist() == [2, 1]


class TestQuorum:
    def test_half_of_those_asked_is_not_enough_and_who_failed_everywhere_stays_without_ballots(self):
        some = [ballot("e", ["a", "b"]), failed("q", "f"), ballot("e", ["a", "b"], "r"), ballot("f", ["a", "b"], "r")]
        table = build_table(some)
        assert table.questions == ("r",)
        assert table.left_out[0].question_id == "q"
        assert table.left_out[0].reason == "1 of 2 ballots, 2 are needed (1 timeout)"
        assert [(one.question_id, one.evaluator, str(one.kind)) for one in table.lost] == [("q", "f", "timeout")]
        with pytest.raises(InputError, match=r"no question can be counted: q: 0 of 1 ballots.*1 timeout"):
            build_table([failed("q", "f", "timeout"), ballot("e", ["a", "b"], "r")], quorum=2)
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
