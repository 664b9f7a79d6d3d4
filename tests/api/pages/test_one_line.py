"""Vetting leaves rows; every page shows and counts one line for each judgment and panel, with the decision that stands."""

import re

import pytest

from tests.api.conftest import panel_of
from tests.api.pages.conftest import words
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

COUNT = 6
POLICIES = ("verdict_score", "verdict", "verdict_score")


@pytest.fixture
def visitor(visit, tmp_path):
    """Each judgment vetted without a policy, then by two policies, one of them again."""
    with LLMServer(answer=score_answer(4)) as server:
        found = visit(
            panels={"default": panel_of(server, strategy="weighted_average"), "other": panel_of(server, "a")},
            store=tmp_path / "s.duckdb",
        )
        for policy in (None, *POLICIES):
            for number in range(COUNT):
                asked = {"judgment": judgment(f"j{number}").model_dump(mode="json"), "policy": policy}
                answer = found.post("/v1/vet", json={name: value for name, value in asked.items() if value})
                assert answer.status_code == 200, answer.text
        found.see("/login", 303)
        found.see("/reviews")
        yield found


def rows_of(page):
    return re.findall(r'<a data-row href="/assessments/(\d+)">[^<]*</a>.*?<span class="ids">([^<]*)</span>', page)


def test_the_dashboard_does_not_count_a_judgment_once_for_each_policy(visitor):
    said = words(visitor.see("/dashboard"))
    assert f"{COUNT} a person is asked" in said
    assert f"weighted average ({COUNT})" in said
    judges = re.search(r'<tr><th scope="row"><a href="/assessments\?judge=owl.*?</tr>', visitor.see("/dashboard"))
    assert words(judges[0]).split()[:5] == ["owl", str(COUNT), "0", "0", str(COUNT)]


def test_the_list_shows_each_judgment_once_with_the_decision_made_last(visitor):
    page = visitor.see("/assessments")
    assert sorted(name for _, name in rows_of(page)) == [f"j{number}" for number in range(COUNT)]
    last = visitor.get("/v1/assessments").json()["assessments"]
    assert {one["decision"]["policy"] for one in last} == {POLICIES[-1]}
    (action,) = {one["decision"]["action"] for one in last}
    assert len(rows_of(visitor.see(f"/assessments?decision={action}"))) == COUNT
    assert "no policy" not in words(page.split('id="list"')[1])


def test_another_panel_is_another_line(visitor):
    visitor.post("/v1/vet", json={"judgment": judgment("j0").model_dump(mode="json"), "panel": "other"})
    assert len(rows_of(visitor.see("/assessments"))) == COUNT + 1
    said = visitor.see(f"/assessments/{rows_of(visitor.see('/assessments'))[0][0]}")
    assert "The same judgment by other panels" in words(said)
    assert len(visitor.get("/v1/assessments/j0").json()["assessments"]) == 2
