"""What the page of a case shows."""

import importlib

import pytest

from metajudge.errors import InputError
from metajudge.evidence import SIGNALS
from metajudge.reviews import Outcome, ReviewState, ReviewStatus
from metajudge.types import Category, Grade, Pairwise, Ranking
from tests.api.pages.filled_store import case_review, hostile_judgment, made_assessment, made_judgment
from tests.api.pages.review_pages import case_view

wording = importlib.import_module("metajudge.api.pages.wording")


class TestView:
    def test_the_order_depends_on_case_and_reviewer_alone(self):
        orders = {tuple(case_view.seeded_order(["A", "B"], f"r{number}", "ada")) for number in range(20)}
        assert orders == {("A", "B"), ("B", "A")}
        for number in range(20):
            first = case_view.seeded_order(["A", "B"], f"r{number}", "ada")
            assert first == case_view.seeded_order(["B", "A"], f"r{number}", "ada")
        assert len({tuple(case_view.seeded_order(["A", "B"], "r1", f"p{number}")) for number in range(20)}) == 2

    def test_half_of_the_reviewers_see_a_response_on_the_left(self):
        left = sum(case_view.seeded_order(["A", "B"], "r", f"p{number}")[0] == "A" for number in range(400))
        assert 150 < left < 250

    def test_values_of_choices_tell_no_ids_and_do_not_depend_on_the_seats(self):
        judgment = made_judgment(1)
        by_reviewer = [
            {
                one.verdict: one.value
                for one in case_view.verdict_choices(case_view.sides_of(judgment, "r", who), judgment.verdict)
            }
            for who in ("p1", "p2", "p3", "p4", "p5", "p6")
        ]
        values = {}
        for found in by_reviewer:
            for verdict, value in found.items():
                if not (isinstance(verdict, Pairwise) and verdict.is_tie):
                    assert values.setdefault(verdict, value) == value

    def test_three_responses_get_a_best_one_or_a_tie(self):
        judgment = made_judgment(
            1, responses={"A": "x", "B": "y", "C": "z"}, verdict=[["A"], ["B", "C"]], order=["A", "B", "C"]
        )
        choices = case_view.verdict_choices(case_view.sides_of(judgment, "r", "ada"), judgment.verdict)
        assert [one.words for one in choices] == [
            "Response 1 is best",
            "Response 2 is best",
            "Response 3 is best",
            "Equally good",
        ]
        assert choices[-1].verdict == Ranking((("A", "B", "C"),))

    def test_grades_offer_no_choice_of_a_winner(self):
        assert case_view.verdict_choices(case_view.sides_of(made_judgment(1), "r", "a"), Grade(3)) == []

    def test_a_category_is_chosen_among_the_declared_ones_and_a_graded_response_stands_alone(self):
        words = [one.words for one in case_view.verdict_choices((), Category("fair"), ("poor", "fair", "good"))]
        assert words == ["poor", "fair", "good"]
        assert case_view.verdict_choices((), Category("fair")) == []
        assert [one.words for one in case_view.verdict_choices((), Category(False))] == ["yes (true)", "no (false)"]
        graded = made_judgment(1).model_copy(update={"verdict": Category(False), "order": ("B",)})
        assert [side.response for side in case_view.sides_of(graded, "r", "a")] == ["B"]

    def test_scores_that_differ_are_marked(self):
        rows = {row.name: row for row in case_view.panel_of(made_assessment(made_judgment(1), 1)).rows}
        assert (rows["accuracy"].spread, rows["accuracy"].apart) == (3.0, True)
        assert (rows["completeness"].spread, rows["completeness"].apart) == (0.0, False)
        assert [one.note for one in rows["accuracy"].opinions] == ["", "", "failed"]

    def test_every_state_of_every_signal_has_words(self):
        for name in SIGNALS:
            assert name in wording._TITLES
            assert any(found == name for found, _ in wording._SIGNALS)


def test_a_grade_given_blind_is_compared_as_a_number():
    review_case = importlib.import_module("metajudge.api.pages.review_case")
    judgment = hostile_judgment().model_copy(update={"verdict": Grade(4.0)})
    state = ReviewState(review=case_review(), status=ReviewStatus.OPEN)
    found = review_case.Found(state, judgment, ())
    for text, outcome in (("4", Outcome.APPROVE), ("4.0", Outcome.APPROVE), ("2", Outcome.MODIFY)):
        made = review_case._decision(found, "ada", review_case.Draft(grade=text), True)
        assert made.outcome is outcome
    with pytest.raises(InputError, match="is not a grade"):
        review_case._decision(found, "ada", review_case.Draft(grade="nan"), True)
