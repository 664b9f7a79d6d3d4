"""What pages about one record show."""

from tests.api.pages.filled_store import made_assessment, made_judgment
from tests.api.pages.review_pages import case_view


class TestView:
    def test_scores_that_differ_are_marked(self):
        rows = {row.name: row for row in case_view.panel_of(made_assessment(made_judgment(1), 1)).rows}
        assert (rows["accuracy"].spread, rows["accuracy"].apart) == (3.0, True)
        assert (rows["completeness"].spread, rows["completeness"].apart) == (0.0, False)
        assert [one.note for one in rows["accuracy"].opinions] == ["", "", "failed"]
