"""Expected scores from token probabilities: exact values by hand, and no number where they do not determine one."""

import pytest

from metajudge.agents.expected import MAX_AMBIGUOUS, NoExpectedScoreError, expected_score, literals_of, longest_number
from metajudge.providers.json_spans import value_spans
from metajudge.rubric import Rubric, load_rubric
from metajudge.types import TokenChoice
from tests.doubles.logprobs import probabilities, text_of

FIVE = {str(point): float(point) for point in range(1, 6)}
TEN = {str(point): float(point) for point in range(1, 11)}
HALVES = {"1": 1.0, "1.5": 1.5, "2": 2.0, "2.5": 2.5, "3": 3.0}
VOTES = {"correct": 5.0, "wrong": 1.0}
HEAD = '{"a":{"explanation":"4 of 5 points, naïve 10","score":'


def expected(tokens, points=FIVE, path=("a", "score")):
    found = probabilities(tokens)
    assert found.absent is None
    text = text_of(tokens)
    return expected_score(text, value_spans(text)[path], found.tokens, points, longest_number(found.tokens))


class TestOneToken:
    def test_is_the_mean_over_the_scale(self):
        found = expected([HEAD, ("4", {"4": 0.6, "5": 0.3, "3": 0.1}), "}}"])
        assert found.score == pytest.approx(4 * 0.6 + 5 * 0.3 + 3 * 0.1)
        assert found.digit_mass == pytest.approx(1.0)

    def test_what_is_not_on_the_scale_is_renormalised_away_and_reported(self):
        ways = {"4": 0.5, "5": 0.4, "6": 0.04, "null": 0.03, '"': 0.03}
        found = expected([HEAD, ("4", ways), "}}"])
        assert found.digit_mass == pytest.approx(0.9)
        assert found.score == pytest.approx((4 * 0.5 + 5 * 0.4) / 0.9)

    def test_a_certain_score_is_exactly_the_reported_point(self):
        assert expected([HEAD, ("4", {"4": 1.0}), "}}"]).score == 4.0

    def test_a_sampled_point_need_not_be_the_likeliest_nor_among_the_alternatives(self):
        found = expected([HEAD, ("2", {"4": 0.6, "5": 0.4}), "}}"])  # the log-probability of "2" is -9999
        assert found.score == pytest.approx(4.4)

    @pytest.mark.parametrize(
        ("before", "token", "ways", "after"),
        [
            ("", " 4", {" 4": 0.5, "5": 0.5}, "}}"),  # with and without a space
            ("", "4}", {"4}": 0.5, "5}": 0.3, "5": 0.2}, "}"),  # the bracket in the same token
            ("", "4}}", {"4}}": 0.5, "5}}": 0.5}, ""),
            ("", " 4\n", {" 4\n": 0.5, "5\n": 0.5}, "}}"),
        ],
    )
    def test_signs_around_the_number_may_share_its_token(self, before, token, ways, after):
        assert expected([HEAD + before, (token, ways), after]).score == pytest.approx(4.5)

    def test_the_colon_may_share_its_token_and_another_sign_is_no_score(self):
        found = expected([HEAD[:-1], (":4", {":4": 0.5, ": 5": 0.4, ',"5': 0.1}), "}}"])
        assert found.score == pytest.approx((4 * 0.5 + 5 * 0.4) / 0.9)

    def test_digits_of_the_explanation_are_never_taken_for_the_score(self):
        tokens = ['{"a":{"explanation":"', ("1", {"1": 0.5, "2": 0.5}), ' of 5","score":', ("4", {"4": 1.0}), "}}"]
        assert expected(tokens).score == 4.0

    def test_scores_before_explanations_and_criteria_in_another_order(self):
        tokens = [
            '{"b":{"score":',
            ("1", {"1": 1.0}),
            ',"explanation":""},"a":{"score":',
            ("4", {"4": 0.5, "5": 0.5}),
            "}}",
        ]
        assert expected(tokens).score == pytest.approx(4.5)
        assert expected(tokens, path=("b", "score")).score == 1.0


class TestSeveralTokens:
    def test_ten_as_one_and_zero_shares_with_one(self):
        tokens = [HEAD, ("1", {"1": 0.5, "9": 0.5}), ("0", {"0": 0.8, "}}": 0.2}), "}}"]
        found = expected(tokens, TEN)
        assert found.score == pytest.approx(10 * 0.5 * 0.8 + 1 * 0.5 * 0.2 + 9 * 0.5)
        assert found.digit_mass == pytest.approx(1.0)

    def test_one_that_might_have_gone_on_shares_with_ten(self):
        tokens = [HEAD, ("1", {"1": 0.5, "9": 0.5}), ("}}", {"0": 0.8, "}}": 0.15, "\n": 0.05})]
        assert expected(tokens, TEN).score == pytest.approx(10 * 0.4 + 1 * 0.1 + 9 * 0.5)

    def test_ten_as_one_token_leaves_one_its_own(self):
        found = expected([HEAD, ("10", {"10": 0.5, "1": 0.3, "9": 0.2}), "}}"], TEN)
        assert found.score == pytest.approx(10 * 0.5 + 1 * 0.3 + 9 * 0.2)

    def test_that_ten_is_one_token_may_show_elsewhere_in_the_reply(self):
        tokens = [
            *('{"b":{"score":', ("8", {"8": 0.9, "10": 0.1}), '},"a":{"score":'),
            *(("9", {"9": 0.9, "1": 0.1}), "}}"),
        ]
        assert expected(tokens, TEN).score == pytest.approx(9 * 0.9 + 1 * 0.1)

    def test_one_not_gone_on_from_is_neither_one_nor_ten(self):
        tokens = [HEAD, ("9", {"9": 0.9, "1": 0.1}), "}}"]
        with pytest.raises(NoExpectedScoreError, match=r"10\.0% .* begin several points"):
            expected(tokens, TEN)

    def test_a_little_of_it_is_left_out_of_the_mass(self):
        tokens = [HEAD, ("9", {"9": 0.995, "1": MAX_AMBIGUOUS / 2}), "}}"]
        found = expected(tokens, TEN)
        assert (found.score, found.digit_mass) == (9.0, pytest.approx(0.995))

    def test_zero_to_ten(self):
        points = {str(point): float(point) for point in range(11)}
        tokens = [HEAD, ("0", {"0": 0.25, "10": 0.25, "1": 0.5}), "}}"]
        assert expected(tokens, points).score == pytest.approx(10 * 0.25 + 0.5)

    def test_half_steps_along_the_tokens_written(self):
        tokens = [HEAD, ("2", {"2": 1.0}), (".", {".": 0.6, "}}": 0.4}), ("5", {"5": 1.0}), "}}"]
        assert expected(tokens, HALVES).score == pytest.approx(2.5 * 0.6 + 2 * 0.4)

    def test_half_steps_not_gone_along_are_unknown(self):
        tokens = [HEAD, ("2", {"2": 0.9, "1": 0.1}), (".", {".": 1.0}), ("5", {"5": 1.0}), "}}"]
        with pytest.raises(NoExpectedScoreError, match="begin several points"):
            expected(tokens, HALVES)

    def test_a_whole_point_written_with_a_decimal_is_that_point(self):
        tokens = [HEAD, ("2", {"2": 1.0}), (".", {".": 1.0}), ("0", {"0": 0.7, "5": 0.3}), "}}"]
        assert expected(tokens, HALVES).score == pytest.approx(2 * 0.7 + 2.5 * 0.3)

    def test_negative_points(self):
        points = {"-1": -1.0, "0": 0.0, "1": 1.0}
        tokens = [HEAD, ("-", {"-": 0.7, "1": 0.3}), ("1", {"1": 1.0}), "}}"]
        assert expected(tokens, points).score == pytest.approx(-0.7 + 0.3)


class TestWords:
    PATH = ("correct", "verdict")
    HEAD = '{"correct":{"explanation":"wrong or correct?","verdict":'

    @pytest.mark.parametrize(
        "tokens",
        [
            ['"', ("correct", {"correct": 0.8, "wrong": 0.2}), '"}}'],
            [(' "correct', {' "correct': 0.8, '"wrong': 0.2}), '"}}'],
            [('"correct"', {'"correct"': 0.8, '"wrong"': 0.2}), "}}"],
            ['"', ("cor", {"cor": 0.8, "wr": 0.1, "wrong": 0.1}), "rect", '"}}'],
            ['"', ("wrong", {"correct": 0.8, "wrong": 0.2}), '"}}'],
        ],
    )
    def test_however_they_are_cut(self, tokens):
        assert expected([self.HEAD, *tokens], VOTES, self.PATH).score == pytest.approx(5 * 0.8 + 1 * 0.2)

    def test_other_words_are_no_vote(self):
        tokens = [self.HEAD, '"', ("correct", {"correct": 0.85, "wrong": 0.05, "partly": 0.1}), '"}}']
        found = expected(tokens, VOTES, self.PATH)
        assert found.digit_mass == pytest.approx(0.9)


class TestNoNumberOutOfNothing:
    def test_little_mass_on_the_scale(self):
        with pytest.raises(NoExpectedScoreError, match=r"only 70\.0% of the probability"):
            expected([HEAD, ("4", {"4": 0.7, "10": 0.2, "7": 0.1}), "}}"])

    def test_no_tokens_at_the_score(self):
        text = HEAD + "4}}"
        with pytest.raises(NoExpectedScoreError, match="no token probabilities at the score"):
            expected_score(text, value_spans(text)["a", "score"], [], FIVE)

    def test_tokens_of_another_text(self):
        text = HEAD + "4}}"
        at = text.index("4}}")
        with pytest.raises(NoExpectedScoreError, match="does not spell it"):
            expected_score(text, value_spans(text)["a", "score"], [TokenChoice(at, "5", -0.1)], FIVE)

    def test_tokens_that_end_before_the_score_does(self):
        text = HEAD + "1}}"
        at = text.index("1}}")
        with pytest.raises(NoExpectedScoreError, match="end before the score does"):
            expected_score(text, value_spans(text)["a", "score"], [TokenChoice(at, "1", -0.1)], TEN)

    def test_probabilities_that_add_up_to_more_than_one(self):
        with pytest.raises(NoExpectedScoreError, match="more than one"):
            expected([HEAD, ("4", {"4": 0.9, "5": 0.9}), "}}"])


def test_the_scale_says_how_its_points_are_written():
    assert literals_of(load_rubric("short")) == FIVE
    assert literals_of(load_rubric("binary")) == VOTES
    halves = Rubric(
        name="halves",
        title="t",
        description="d",
        kind="holistic",
        scale={"low": 1, "high": 3, "step": 0.5},
    )
    assert literals_of(halves) == HALVES
