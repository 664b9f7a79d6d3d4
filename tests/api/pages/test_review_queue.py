"""The queue, called as a browser without scripts would."""

import re

from tests.api.pages.conftest import key, state_of, words


class TestQueue:
    def test_a_name_is_asked_for_before_anything_is_taken(self, filled):
        visitor = filled(6, name=None)
        assert "Before you review" in visitor.see("/reviews")
        assert visitor.submit("/reviews/next").status_code == 422
        assert state_of(visitor, visitor.reviews[0])["status"] == "open"


class TestClaims:
    def test_taking_the_next_one_leads_there_and_looking_takes_nothing(self, filled):
        visitor = filled(6)
        visitor.see(f"/reviews/{visitor.reviews[0]}")
        assert state_of(visitor, visitor.reviews[0])["status"] == "open"
        where = visitor.submit("/reviews/next").headers["location"]
        assert state_of(visitor, where.rpartition("/")[2])["claims"][0]["reviewer"] == "Ada"

    def test_what_somebody_else_has_is_refused_and_said(self, filled):
        visitor = filled(6)
        one = visitor.reviews[0]
        visitor.post(f"/v1/reviews/{one}/claim", json={"reviewer": "Bob"})
        assert "Claimed by Bob" in words(visitor.see(f"/reviews/{one}"))
        response = visitor.submit(f"/reviews/{one}/claim")
        assert response.status_code == 409
        assert "is claimed by others (Bob" in words(response.text)

    def test_every_change_is_in_the_audit_log(self, filled):
        visitor = filled(1, cases=False, keys=(key("ada", "read", "review"),), name=None)
        visitor.see("/login")
        visitor.submit("/login", {"key": ("ada" * 32)[:32], "name": "Ada L."})
        visitor.see("/reviews")
        one = visitor.reviews[0]
        visitor.submit("/reviews/next")
        visitor.submit(f"/reviews/{one}/release")
        visitor.submit(f"/reviews/{one}/claim")
        visitor.submit(f"/reviews/{one}/decide", {"outcome": "approve", "reason": "secret thoughts"})
        kept = visitor.get(f"/v1/assessments/{one}", headers={"x-api-key": ("ada" * 32)[:32]}).json()["audit_log"]
        changes = [one["payload"] for one in kept if one["kind"] == "change"]
        assert [one["action"].removeprefix("review.") for one in changes] == ["claim", "release", "claim", "decide"]
        assert {(one["by"], one["reviewer"]) for one in changes} == {("ada", "Ada L.")}
        assert all(one["request_id"] for one in changes)
        assert "secret thoughts" not in str(changes)

    def test_deciding_without_a_claim_records_nothing_and_keeps_the_note(self, filled):
        visitor = filled(6)
        one = visitor.reviews[0]
        response = visitor.submit(f"/reviews/{one}/decide", {"outcome": "approve", "reason": "my long thoughts"})
        assert response.status_code == 409
        assert "claim it before deciding" in words(response.text)
        assert "my long thoughts" in response.text
        assert re.search(r'<button name="outcome" value="approve"[^>]* disabled>', response.text)
        assert state_of(visitor, one)["decisions"] == []
