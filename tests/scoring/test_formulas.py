"""The three equations, on examples worked by hand."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from metajudge.errors import ConfigurationError, InputError
from metajudge.scoring.formulas import agent_scores, decide_average, decide_majority, exceeds

WEIGHTS = [0.20, 0.20, 0.15, 0.10, 0.15, 0.10, 0.10]
EXACT = [Fraction(20, 100), Fraction(20, 100), Fraction(15, 100), Fraction(1, 10), Fraction(15, 100)] + [
    Fraction(1, 10)
] * 2


class TestAgentScores:
    def test_equation_3_by_hand_with_any_weights_and_criteria_that_do_not_apply(self):
        # .2*5 + .2*4 + .15*3 + .1*2 + .15*1 + .1*5 + .1*4 = 1 + .8 + .45 + .2 + .15 + .5 + .4
        assert agent_scores([[[5, 4, 3, 2, 1, 5, 4]]], WEIGHTS)[0, 0] == pytest.approx(3.5)
        scores = agent_scores(np.full((4, 2, 7), 3), WEIGHTS)
        assert scores.shape == (4, 2)
        np.testing.assert_allclose(scores, 3)
        np.testing.assert_allclose(agent_scores([[[1, 5]]], [1, 3]), [[4.0]])
        # (1*9 + 1.5*8 + 1*9 + 1.5*10) / 5 = 45 / 5, not 45 / 9.5
        weights = [1.0, 1.5, 1.0, 1.0, 1.2, 1.5, 1.0, 1.3]
        scores = [[[9, 8, 9, 0, 0, 10, 0, 0]]]
        applies = [[[True, True, True, False, False, True, False, False]]]
        assert agent_scores(scores, weights, applies)[0, 0] == pytest.approx(9.0)
        scores = [[[4.0, np.nan]]]
        assert agent_scores(scores, [1, 1], [[[True, False]]])[0, 0] == 4.0

    @pytest.mark.parametrize(
        ("scores", "weights", "applies", "problem"),
        [
            ([[[5.0]], [[5.0]]], [1], [[[True]], [[False]]], "no criterion applies to judgment 1 for agent 0"),
            *(
                ([[[1, 2]]], weights, None, "positive numbers")
                for weights in ([0, 1], [-1, 2], [np.nan, 1], [np.inf, 1])
            ),
            ([[[1, np.nan]]], [1, 1], None, r"score at \[0, 0, 1\] is not a finite number"),
            *((wrong, [1, 1], None, r"\[judgments, agents, criteria\]") for wrong in ([1, 2], [[1, 2]], [[[[1, 2]]]])),
            ([[[1, 2]]], [1, 1, 1], None, "2 criterion weights"),
            ([[[1, 2]]], [1, 1], [[[1, 0]]], "must be booleans"),
        ],
    )
    def test_what_has_no_score_is_refused(self, scores, weights, applies, problem):
        error = ConfigurationError if problem == "positive numbers" else InputError
        with pytest.raises(error, match=problem):
            agent_scores(scores, weights, applies)


def weighted_average(scores, weights=None, valid=None, *, quorum=None):
    made = decide_average(scores, 4.5, weights, valid, quorum=quorum, scale=(0.0, 5.0))
    return made.final, made.status


class TestWeightedAverage:
    def test_equation_1_by_hand_and_agents_that_weigh_the_same_by_default(self):
        scores, status = weighted_average([[4.0, 5.0, 3.0]], [0.5, 0.3, 0.2])
        assert scores[0] == pytest.approx(4.1)
        assert status.tolist() == ["assessed"]
        scores, _ = weighted_average([[4.0, 5.0], [1.0, 2.0]])
        np.testing.assert_allclose(scores, [4.5, 1.5])

    def test_missing_answers_renormalise_over_a_majority_or_a_configured_quorum_and_are_marked(self):
        scores, status = weighted_average([[4.0, 5.0, 0.0]], [0.5, 0.3, 0.2], [[True, True, False]])
        assert scores[0] == pytest.approx((0.5 * 4 + 0.3 * 5) / 0.8)
        assert status.tolist() == ["renormalised"]
        scores, status = weighted_average([[5.0, 0.0]], valid=[[True, False]])
        assert status.tolist() == ["unscored"]
        assert scores.tolist() == [None]
        _, status = weighted_average([[5.0, 0.0]], valid=[[True, False]], quorum=1)
        assert status.tolist() == ["renormalised"]
        scores, status = weighted_average([[0.0, 0.0]], valid=[[False, False]])
        assert (scores.tolist(), status.tolist()) == ([None], ["unscored"])

    @pytest.mark.parametrize("quorum", [0, 3])
    def test_impossible_quorum(self, quorum):
        with pytest.raises(ConfigurationError, match="impossible with 2 agents"):
            weighted_average([[5.0, 4.0]], quorum=quorum)


def majority_vote(scores, threshold=4.5, valid=None, **scale):
    made = decide_majority(scores, threshold, valid, **scale)
    return made.final, made.status


class TestMajorityVote:
    def test_equation_2_by_hand_two_of_two_and_half_of_four(self):
        scores, status = majority_vote([[4.6, 4.7, 1.0], [4.6, 4.5, 4.4]])
        assert scores.tolist() == [5.0, 1.0]
        assert status.tolist() == ["assessed", "assessed"]
        scores, _ = majority_vote([[5.0, 4.0], [4.6, 4.6], [4.0, 4.0]])
        assert scores.tolist() == [1.0, 5.0, 1.0]
        assert majority_vote([[5.0, 5.0, 1.0, 1.0]])[0].tolist() == [1.0]

    def test_m_counts_the_configured_panel(self):
        # Two of two answers are for it, but with a third agent configured that is a majority of three as well;
        # one of one answer is not a majority of two.
        scores, status = majority_vote(
            [[5.0, 5.0, 0.0], [5.0, 0.0, 0.0]], valid=[[True, True, False], [True, False, False]]
        )
        assert scores.tolist() == [5.0, None]
        assert status.tolist() == ["assessed", "unscored"]

    def test_a_vote_stands_that_missing_answers_cannot_turn_and_none_at_all_decides_nothing(self):
        scores, status = majority_vote([[1.0, 0.0]], valid=[[True, False]])
        assert (scores.tolist(), status.tolist()) == ([1.0], ["assessed"])
        assert majority_vote([[0.0]], 5.0, [[False]])[1].tolist() == ["unscored"]
        assert majority_vote([[9.0], [2.0]], 7.5, scale=(0, 10))[0].tolist() == [10.0, 0.0]

    @pytest.mark.parametrize("threshold", [0.9, 5.1, 6])
    def test_threshold_outside_the_scale(self, threshold):
        with pytest.raises(ConfigurationError, match=r"outside the scale 1\.\.5"):
            majority_vote([[3.0]], threshold)


class TestExactThreshold:
    @pytest.mark.slow
    def test_exactly_4_5_is_never_selected_on_any_corner(self):
        corners = np.array(list(product(range(1, 6), repeat=7)))
        exact = np.array(
            [float(sum(w * s for w, s in zip(EXACT, row, strict=True)) > Fraction(9, 2)) for row in corners.tolist()]
        )
        at = sum(sum(w * s for w, s in zip(EXACT, row, strict=True)) == Fraction(9, 2) for row in corners.tolist())
        assert at == 71  # the case occurs
        in_one_go = agent_scores(corners[:, None, :], WEIGHTS)
        assert (exceeds(in_one_go[:, 0], 4.5) == exact.astype(bool)).all()
        assert (majority_vote(in_one_go)[0] == np.where(exact, 5.0, 1.0)).all()
        near = corners[np.abs(in_one_go[:, 0] - 4.5) < 0.2]
        for row in near:
            one = agent_scores([[row]], WEIGHTS)[0, 0]
            truth = sum(w * s for w, s in zip(EXACT, row.tolist(), strict=True)) > Fraction(9, 2)
            assert bool(exceeds(one, 4.5)) is truth

    def test_the_mean_of_two_agents_at_exactly_4_5_and_float_noise_do_not_pass(self):
        scores, _ = weighted_average([[4.4, 4.6], [4.2, 4.8], [4.5 + 2e-9, 4.5]])
        assert exceeds(scores, 4.5).tolist() == [False, False, True]
        assert not exceeds(0.4 + 3.7 + 0.4, 4.5)
        assert 0.4 + 3.7 + 0.4 > 4.5  # the noise is there
