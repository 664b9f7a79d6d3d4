"""The list of assessments and the page of one, called as a browser without scripts would."""

import re

from tests.api.pages.conftest import words


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


class TestOne:
    def test_responses_stand_in_the_order_the_judge_saw(self, filled):
        said = words(filled(1).see("/assessments/1"))
        assert "Response B the judge saw it first, as A" in said
        assert "Response A the judge saw it then, as B" in said
