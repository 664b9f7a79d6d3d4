import pytest

from metajudge.errors import ConfigurationError, InputError
from metajudge.peers import Ballot
from metajudge.peers.cautions import CautionKind
from tests.peers.elections import NAMES, ballots, failed
from tests.peers.found import HUMAN, quick, standing


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
        (caution,) = [one for one in found.cautions if one.kind is CautionKind.LOST_EVALUATOR]
        assert caution.message == "fox failed on every ballot (6 timeout): it has no vote there"
        pair = found.pairs[-1]
        assert pair.agreement.value is None
        assert pair.error_correlation.value is None
        alone = [one for one in found.references[0].rows if one.name == "fox" and one.kind == "single"]
        assert all(one.micro.median.value is None for one in alone)

    def test_a_single_evaluator(self):
        found = quick(ballots(3, evaluators=("x",)))
        assert found.pairs == ()
        assert found.evaluator_standings[0].agreement.absent is not None
        assert CautionKind.FEW_VOTERS in kinds(found)

    def test_everybody_tied_everywhere(self):
        given = [Ballot(question_id="q", evaluator=name, ranking=[NAMES]) for name in NAMES]
        found = quick(given, HUMAN)
        assert all(one.sie.value == 3.5 for one in found.standings)
        assert found.references[0].rows[0].micro.median.value is None
        assert found.ambiguity.overall_optima == 720

    def test_questions_below_the_quorum_are_left_out_and_told(self):
        given = [*ballots(2), *(failed("q9", name) for name in NAMES)]
        found = quick(given)
        assert [one.question_id for one in found.left_out] == ["q9"]
        assert CautionKind.LEFT_OUT in kinds(found)

    def test_a_model_missing_from_some_questions_is_told(self):
        given = [*ballots(3, names=NAMES[:3]), *(one for one in ballots(5, seed=1) if one.question_id > "q2")]
        found = quick(given)
        (caution,) = [one for one in found.cautions if one.kind is CautionKind.CANDIDATES_DIFFER]
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
    def test_a_model_whose_own_vote_moves_it_by_more_than_half_a_place(self):
        found = quick(ballots(40, phi=0.7, seed=1, selfish=("fox",)))
        (caution,) = [one for one in found.cautions if one.kind is CautionKind.SELF_VOTE]
        fox = standing(found, "fox")
        assert caution.names == ("fox",)
        assert fox.sie_less_sfe.value < -0.5
        assert fox.se_less_pe.value < -3
        assert f"{abs(fox.sie_less_sfe.value):.2f} places better" in caution.message

    def test_half_a_place_exactly_is_not_more_than_half(self):
        # Two ballots, a > b and b > a: the model's own vote lifts it from the second place to a tie at 1.5.
        given = [
            Ballot(question_id="q", evaluator="a", ranking=["a", "b"]),
            Ballot(question_id="q", evaluator="b", ranking=["b", "a"]),
        ]
        found = quick(given)
        assert standing(found, "a").sie_less_sfe.value == -0.5
        assert CautionKind.SELF_VOTE not in kinds(found)

    def test_six_voters_leave_the_optimum_ambiguous_and_five_hardly(self):
        six = quick(ballots(60, phi=0.6, seed=2))
        (caution,) = [one for one in six.cautions if one.kind is CautionKind.AMBIGUOUS]
        assert "panels of 6 can split evenly: add or leave out one evaluator" in caution.message
        assert six.ambiguity.by_voters[6][0] == 60
        assert six.ambiguity.share.value == six.ambiguity.by_voters[6][1] / 60
        five = quick(ballots(60, phi=0.6, seed=2, evaluators=NAMES[:5]))
        assert five.ambiguity.share.value < six.ambiguity.share.value / 2

    def test_several_overall_optima_are_counted_and_listed(self):
        given = [
            Ballot(question_id="q", evaluator="x", ranking=["a", "b", "c"]),
            Ballot(question_id="q", evaluator="y", ranking=["a", "c", "b"]),
        ]
        found = quick(given)
        assert found.ambiguity.overall_optima == 2
        assert set(found.ambiguity.orders) == {("a", "b", "c"), ("a", "c", "b")}
        assert found.overall == (("a",), ("b", "c"))
        assert any("2 overall orders are equally good" in one.message for one in found.cautions)

    def test_few_voters(self):
        assert CautionKind.FEW_VOTERS in kinds(quick(ballots(4, evaluators=NAMES[:4])))
        assert CautionKind.FEW_VOTERS not in kinds(quick(ballots(4, evaluators=NAMES[:5])))

    def test_other_rules_do_not_count_optima(self):
        found = quick(ballots(4), rule="borda")
        assert found.ambiguity.share.value is None
        assert found.ambiguity.overall_optima is None
        assert CautionKind.AMBIGUOUS not in kinds(found)
