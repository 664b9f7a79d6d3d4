"""Policies, proposals with their evidence, activation."""

import re

import pytest

from tests.api.pages.conftest import key, words
from tests.api.pages.eventful_store import made_proposal
from tests.api.pages.test_start import eventful, visitor

__all__ = ["eventful", "visitor"]
BETTER, WORSE = (made_proposal(better=better).proposal_id for better in (True, False))


def test_the_list_has_every_policy_and_the_proposals_that_wait(visitor):
    page = visitor.see("/policies")
    said = words(page)
    assert re.search(r"verdict_score , built in score 1..5 \d ", said)
    assert set(re.findall(r'<a data-row href="/policies/(\w+)">', page)) >= {"verdict", "verdict_score"}
    row = page[page.index('href="/policies/verdict_score"') :]
    assert '<a href="/proposals">1</a>' in row[: row.index("</tr>")]


def test_a_policy_has_its_bands_and_what_it_decided(visitor):
    said = words(visitor.see("/policies/verdict_score"))
    for part in ("APPROVE", "REVIEW PRIORITY", "no score", "2 REVIEW PRIORITY", "The built-in version is in force"):
        assert part in said, part
    assert visitor.get("/policies/nothing").status_code == 404


def test_proposals_with_their_evidence(visitor):
    said = words(visitor.see("/proposals"))
    assert "approve from a score of 4.7, not 4.5" in said
    assert ("waits" in said, "refused" in said) == (True, True)
    one = words(visitor.see(f"/proposals/{BETTER}"))
    for part in (
        "completeness is scored too leniently by 3.1 (20 corrections)",
        "false approvals -12.0 -20.0 to -3.0 60 50",
        "false rejections none: too few cases none 0 0",
        "99.5 % interval",
        "200 decided cases about 180 questions",
    ):
        assert part in one, part
    assert visitor.get("/proposals/nothing").status_code == 404


def test_activation_is_recorded_and_shown_everywhere(visitor):
    visitor.see(f"/proposals/{BETTER}")
    done = visitor.submit(f"/proposals/{BETTER}/activate", {"reason": "Fewer wrong approvals."})
    assert (done.status_code, done.headers["location"]) == (303, f"/proposals/{BETTER}")
    assert ">active<" in visitor.see(f"/proposals/{BETTER}")
    policy = words(visitor.see("/policies/verdict_score"))
    assert "in force" in policy
    assert "Ada Fewer wrong approvals." in policy
    assert "proposal " + BETTER + " put in force" in words(visitor.see("/"))
    assert "feedback activate: verdict_score" in words(visitor.see("/audit-log?kind=change"))
    assert "already in force" in words(visitor.submit(f"/proposals/{BETTER}/activate").text)


def test_a_refused_proposal_stays_refused_and_nothing_to_learn_from_is_said(visitor):
    visitor.see(f"/proposals/{WORSE}")
    refused = visitor.submit(f"/proposals/{WORSE}/activate", {"reason": "I like it."})
    assert refused.status_code == 422
    assert "is refused: no rate changes beyond noise" in words(refused.text)
    assert "I like it." in refused.text
    assert "has been decided by a person yet" in words(visitor.submit("/policies/verdict_score/propose").text)
    assert visitor.submit(f"/proposals/{BETTER}/backtest").status_code == 422


@pytest.mark.parametrize("scope", ["read", "review"])
def test_only_an_administrator_activates(visit, tmp_path, eventful, scope):
    import shutil

    shutil.copy(eventful, tmp_path / "s.duckdb")
    one = visit(store=tmp_path / "s.duckdb", keys=(key("one", scope),)).log_in(("one" * 32)[:32])
    page = one.see(f"/proposals/{BETTER}")
    assert "/activate" not in page
    assert "needs a key with scope admin" in words(page)
    for path in (f"/proposals/{BETTER}/activate", f"/proposals/{BETTER}/backtest", "/policies/verdict_score/propose"):
        assert one.submit(path).status_code == 403


def test_another_sites_form_activates_nothing(visitor):
    visitor.see(f"/proposals/{BETTER}")
    assert visitor.post(f"/proposals/{BETTER}/activate", data={"reason": "x"}).status_code == 403
    assert ">waits<" in visitor.see(f"/proposals/{BETTER}")
