"""Policies, proposals with their evidence, activation."""

import html
import re

import pytest

from metajudge.store.undecided import undecided_by
from tests.api.pages.conftest import key, words
from tests.api.pages.eventful_store import made_proposal
from tests.api.pages.test_start import eventful, visitor

__all__ = ["eventful", "visitor"]
POLICY = "/policies/verdict_score"
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


class TestSimulation:
    def simulated(self, visitor, policy="verdict_score", **form):
        visitor.see(f"/policies/{policy}")
        return visitor.submit(f"/policies/{policy}/simulate", form)

    def draft(self, visitor, old, new):
        text = html.unescape(re.search(r"<textarea name=\"draft\"[^>]*>(.*?)</textarea>", visitor.see(POLICY), re.S)[1])
        assert old in text
        return text.replace(old, new)

    def test_the_policy_in_force_against_what_was_recorded(self, visitor):
        found = self.simulated(visitor)
        assert found.status_code == 200
        said = words(found.text)
        assert re.search(r"8 verdicts: the policy in force decides \d+ differently from what was recorded", said)
        assert "Action Recorded In force now " in said

    def test_a_draft_against_the_policy_in_force_and_nothing_is_changed(self, visitor):
        before = visitor.see(POLICY)
        draft = self.draft(visitor, "action: REVIEW_PRIORITY", "action: REJECT")
        said = words(self.simulated(visitor, draft=draft).text)
        assert re.search(r"the draft decides [1-9]\d* differently from the policy in force", said)
        assert re.search(r"[1-9]\d* from REVIEW PRIORITY to REJECT", said)
        assert re.sub(r'value="[^"]*"', "", visitor.see(POLICY)) == re.sub(r'value="[^"]*"', "", before)

    def test_a_proposal_is_a_draft_too(self, visitor):
        said = words(self.simulated(visitor, proposal_id=BETTER).text)
        assert "the draft decides" in said

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
