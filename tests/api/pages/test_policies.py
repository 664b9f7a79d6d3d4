"""Who may put a proposal in force, and drafts that are tried."""

import html
import re
import shutil

import pytest

from metajudge.store.overview import undecided_by
from tests.api.pages.conftest import key, words
from tests.api.pages.eventful_store import made_proposal
from tests.api.pages.test_start import eventful, visitor

__all__ = ["eventful", "visitor"]
POLICY = "/policies/verdict_score"
BETTER = made_proposal().proposal_id


@pytest.mark.parametrize("scope", ["read", "review"])
def test_only_an_administrator_activates(visit, tmp_path, eventful, scope):
    shutil.copy(eventful, tmp_path / "s.duckdb")
    one = visit(store=tmp_path / "s.duckdb", keys=(key("one", scope),)).log_in_as("one")
    page = one.see(f"/proposals/{BETTER}")
    assert "/activate" not in page
    assert "needs a key with scope admin" in words(page)
    for path in (f"/proposals/{BETTER}/activate", f"/proposals/{BETTER}/backtest", "/policies/verdict_score/propose"):
        assert one.submit(path).status_code == 403


def test_another_sites_form_activates_nothing(visitor):
    visitor.see(f"/proposals/{BETTER}")
    assert visitor.post(f"/proposals/{BETTER}/activate", data={"reason": "x"}).status_code == 403
    assert ">waits<" in visitor.see(f"/proposals/{BETTER}")


class TestSimulation:
    def simulated(self, visitor, policy="verdict_score", **form):
        visitor.see(f"/policies/{policy}")
        return visitor.submit(f"/policies/{policy}/simulate", form)

    def draft(self, visitor, old, new):
        text = html.unescape(re.search(r"<textarea name=\"draft\"[^>]*>(.*?)</textarea>", visitor.see(POLICY), re.S)[1])
        assert old in text
        return text.replace(old, new)

    def test_a_draft_against_the_policy_in_force_and_nothing_is_changed(self, visitor):
        before = visitor.see(POLICY)
        draft = self.draft(visitor, "action: REVIEW_PRIORITY", "action: REJECT")
        said = words(self.simulated(visitor, draft=draft).text)
        assert re.search(r"the draft decides [1-9]\d* differently from the policy in force", said)
        assert re.search(r"[1-9]\d* from REVIEW PRIORITY to REJECT", said)
        assert re.sub(r'value="[^"]*"', "", visitor.see(POLICY)) == re.sub(r'value="[^"]*"', "", before)

    def test_a_draft_that_is_no_policy_is_refused_with_its_problem_and_kept(self, visitor):
        found = self.simulated(visitor, draft="name: mine\nbasis: luck\n")
        assert found.status_code == 422
        assert "draft: " in words(found.text)
        assert "basis: luck" in found.text

    def test_a_draft_reads_no_file(self, visitor):
        draft = self.draft(visitor, "name: verdict_score", "name: mine")
        cases = visitor.see("/policies/risk_analysis")
        text = html.unescape(re.search(r"<textarea name=\"draft\"[^>]*>(.*?)</textarea>", cases, re.S)[1])
        for one in (text.replace("rubric: risk_analysis", "rubric: /etc/passwd"), draft + "rubric: /etc/passwd\n"):
            found = self.simulated(visitor, "risk_analysis", draft=one)
            assert found.status_code == 422
            assert "root:" not in found.text

    def test_what_waits_for_the_viewer_is_counted_and_not_named(self, visitor):
        draft = self.draft(visitor, "action: REVIEW_PRIORITY", "action: REJECT")
        page = self.simulated(visitor, draft=draft.replace("action: REVIEW\n", "action: REJECT\n")).text
        waiting = set(re.findall(r"j\d+/owl-large", visitor.see("/assessments?limit=100")))
        shown = set(re.findall(r"(j\d+/owl-large) \(owl-large\)", page))
        store = visitor.app.state.service.engine.store
        undecided = visitor.portal.call(store.ask, lambda connection: undecided_by(connection, "Ada")).subjects
        assert shown <= waiting - undecided
        assert undecided & waiting
