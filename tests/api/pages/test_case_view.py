"""What pages about one record show."""

from tests.api.pages.filled_store import made_assessment, made_judgment
from tests.api.pages.review_pages import case_view


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

    def test_scores_that_differ_are_marked(self):
        rows = {row.name: row for row in case_view.panel_of(made_assessment(made_judgment(1), 1)).rows}
        assert (rows["accuracy"].spread, rows["accuracy"].apart) == (3.0, True)
        assert (rows["completeness"].spread, rows["completeness"].apart) == (0.0, False)
        assert [one.note for one in rows["accuracy"].opinions] == ["", "", "failed"]
