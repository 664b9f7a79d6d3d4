"""The review queue and the page of a case, called as a browser without scripts would."""

import html
import re

import pytest

from metajudge.reviewables.labels import labels_for
from metajudge.reviews.opening import review_of
from metajudge.types import Pairwise
from tests.api.pages.conftest import key, state_of, words
from tests.api.pages.filled_store import made_assessment, made_judgment
from tests.reviewables.planted import in_store


def choice(page, label):
    """The value of the button with a label."""
    found = re.search(rf'<button name="verdict" value="([^"]+)"[^>]*>{label}', page)
    assert found, f"no choice {label}"
    return html.unescape(found[1])


class TestDeciding:
    def taken(self, filled, **options):
        visitor = filled(6, **options)
        visitor.see("/reviews")
        where = visitor.submit("/reviews/next").headers["location"]
        return visitor, where.partition("?")[0].rpartition("/")[2]

    def test_modify_with_a_verdict_and_scores(self, filled):
        visitor, one = self.taken(filled)
        page = visitor.see(f"/reviews/{one}")
        wanted = choice(page, "Equally good")
        sent = {"outcome": "modify", "verdict": wanted, "score.accuracy": "2", "score.clarity": " "}
        assert visitor.submit(f"/reviews/{one}/decide", sent).status_code == 303
        decision = state_of(visitor, one)["decisions"][0]
        assert Pairwise(*"AB", 0) == Pairwise(*sorted(decision["verdict"].split("=")), 0)
        assert decision["scores"] == {"accuracy": 2.0}

    @pytest.mark.slow
    def test_corrections_left_over_from_another_choice_are_not_recorded(self, filled):
        visitor, one = self.taken(filled)
        wanted = choice(visitor.see(f"/reviews/{one}"), "Equally good")
        visitor.submit(f"/reviews/{one}/decide", {"outcome": "approve", "verdict": wanted, "score.accuracy": "2"})
        decision = state_of(visitor, one)["decisions"][0]
        assert (decision["outcome"], decision["verdict"], decision["scores"]) == ("approve", None, None)

    @pytest.mark.slow
    def test_others_are_not_seen_until_one_has_decided_oneself(self, filled):
        visitor = filled(1, cases=False, reviewers=2)
        one = visitor.reviews[0]
        visitor.post(f"/v1/reviews/{one}/claim", json={"reviewer": "Bob"})
        visitor.post(
            f"/v1/reviews/{one}/decide", json={"reviewer": "Bob", "outcome": "reject", "reason": "Bob's reason"}
        )
        page = words(visitor.see(f"/reviews/{one}"))
        assert "visible after your own decision" in page
        assert "Bob" not in page
        visitor.decide(one, outcome="approve")
        assert "reject by Bob: Bob's reason" in words(visitor.see(f"/reviews/{one}"))


class TestBlindMode:
    def blind(self, filled, count=6, **options):
        visitor = filled(count, **options)
        visitor.submit("/preferences", {"blind": "true"})
        return visitor

    @pytest.mark.parametrize(("sign", "right"), [(">", True), (">>", True), ("<", False), ("=", False)])
    def test_an_own_verdict_is_compared_and_told_afterwards(self, filled, sign, right):
        visitor = self.blind(filled, 1, cases=False)  # j0's verdict is B>A
        one = visitor.reviews[0]
        labels = labels_for("AB", made_judgment(0).item.digest)
        best, other = (next(label for label, name in labels.items() if name == wanted) for wanted in "BA")
        verdict = f"{other}>{best}" if sign == "<" else f"{best}{sign}{other}"
        where = visitor.decide(one, verdict=verdict)
        decision = state_of(visitor, one)["decisions"][0]
        assert decision["outcome"] == ("approve" if right else "modify")
        assert decision["blind"] is True
        told = words(visitor.see(where))
        assert f"{best} is B" in told
        assert "The judge's verdict was B>A" in told
        page = visitor.see(f"/reviews/{one}")
        assert "owl-large" in page
        assert f"Assistant A [{best if made_judgment(0).order[0] == 'B' else other}] adds hours" in words(page)


class TestSingleResponses:
    """A grade is typed and a category chosen; only the response that the judge graded is shown."""

    def opened(self, visit, path, verdict, scale=None):
        labels = [{"value": verdict, "annotator": name} for name in ("ben", "cal")]
        item = {"id": "two", "question": "?", "responses": {"A": "Alpha text.", "B": "Beta text."}, "scale": scale}
        judgment = made_judgment(3, verdict=verdict, order=["B"], item={**item, "labels": labels})

        assessment = made_assessment(judgment, 3)
        review = review_of(judgment, assessment, now=1.0, audit_share=1.0)

        async def keep(store):
            await store.save_assessment("key", judgment, assessment, "run-1")
            await store.reviews.open([review])

        in_store(path, keep)
        visitor = visit(store=path).named()
        visitor.submit("/reviews/next")
        return visitor, review.review_id

    def test_a_grade_on_its_scale(self, visit, tmp_path):
        visitor, one = self.opened(visit, tmp_path / "s.duckdb", 4, [1, 5])
        page = visitor.see(f"/reviews/{one}")
        assert "Beta text." in page
        assert "Alpha text." not in page
        assert "Your grade a number from 1 to 5" in words(page)
        assert visitor.submit(f"/reviews/{one}/decide", {"typed": "9"}).status_code == 422
        assert visitor.submit(f"/reviews/{one}/decide", {"typed": "2"}).status_code == 303
        assert state_of(visitor, one)["decisions"][0]["verdict"] == 2.0

    def test_what_people_say_is_shown_after_the_own_decision(self, visit, tmp_path):
        visitor, one = self.opened(visit, tmp_path / "s.duckdb", "fair", ["poor", "fair"])
        before = words(visitor.see("/assessments/1", 403))  # drawn for the review sample: decided blind
        assert "people say" not in before
        assert '"ben"' not in before
        visitor.submit(f"/reviews/{one}/decide", {"outcome": "approve"})
        assert "2 people say fair right" in words(visitor.see("/assessments/1"))


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
