"""The list of assessments and the page of one, called as a browser without scripts would."""

import re

from tests.api.pages.conftest import words
from tests.api.pages.filled_store import SCRIPT


def rows(page):
    """The judgments' numbers in the list, in order."""
    return [int(one) for one in re.findall(r'<a data-row href="/assessments/\d+">[^<]*\((\d+)\)</a>', page)]


class TestList:
    def test_filters(self, filled):
        visitor = filled(8)
        for query, count in {
            "judge=owl-large": 8,
            "judge=nobody": 0,
            "decision=REVIEW": 2,
            "outcome=kept": 0,
            "outcome=not_kept": 8,
            "outcome=failed": 0,
            "agent=strict": 8,
            "agent=nobody": 0,
            "strategy=weighted_average&panel=" + "p" * 64: 8,
            "panel=q": 0,
            "q=(3)": 1,
            "since=2020-01-01&until=2999-12-31": 8,
            "until=9999-12-31": 8,
            "until=2020-01-01": 0,
            "run=run-1": 8,
            "judge=&outcome=&decision=&agent=&panel=&strategy=&q=&since=&until=": 8,
        }.items():
            page = visitor.see(f"/assessments?{query}")
            assert len(rows(page)) == count, query
            assert ("No matching assessments" in page) == (count == 0), query

    def test_a_wish_that_makes_no_sense_is_told(self, filled):
        visitor = filled(1)
        for query in ("outcome=x", "decision=x", "since=yesterday", "before=-1", "before=x", "q=" + "a" * 300):
            assert "422" in words(visitor.see(f"/assessments?{query}", 422))

    def test_scripts_in_names_and_texts_stay_text(self, filled):
        visitor = filled(1, hostile=True)
        for page in (visitor.see("/assessments"), visitor.see("/assessments", params={"judge": f'"{SCRIPT}'})):
            assert "<script>window" not in page
            assert "<img src=x" not in page


class TestOne:
    def test_responses_stand_in_the_order_the_judge_saw(self, filled):
        said = words(filled(1).see("/assessments/1"))
        assert "Response B the judge saw it first, as A" in said
        assert "Response A the judge saw it then, as B" in said

    def test_what_is_not_there(self, filled):
        visitor = filled(1)
        for number, status in (("99", 404), ("0", 404), ("x", 422), ("-1", 422), ("9" * 30, 422)):
            assert "assessment" in visitor.see(f"/assessments/{number}", status).lower()

    def test_scripts_in_every_text_stay_text(self, filled):
        page = filled(0, cases=False, hostile=True).see("/assessments/1")
        assert "<script>window" not in page
        assert "<img" not in page
        assert "<svg onload" not in page
        assert "<style" not in page
        assert 'href="javascript' not in page
        assert "agent &lt;script&gt;" in page

    def test_forgotten_texts_are_said_to_be_gone(self, filled):
        visitor = filled(2)
        portal = visitor.portal
        portal.call(visitor.app.state.service.engine.store.forget, "item-1")
        said = words(visitor.see("/assessments/4"))
        assert "they were deleted" in said
        assert "A train leaves" not in said
