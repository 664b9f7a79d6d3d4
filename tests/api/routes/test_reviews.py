import importlib
import threading
import time

import pytest

from tests.api.nouns import changes, record, vetted
from tests.doubles.judgments import judgment


def opened(client, count):
    """Ids of so many new reviews, as the queue has them."""
    ids = {one["judgment_id"] for one in vetted(client, count, policy="verdict_score")}  # one agent has no agreement
    found = client.get("/v1/reviews", params={"status": "open", "limit": 500}).json()["reviews"]
    return [one["review"]["review_id"] for one in found if one["review"]["subject_id"] in ids]


class TestReviews:
    @pytest.fixture
    def waiting(self, client):
        """Ids of three reviews, as the queue has them."""
        return opened(client, 3)

    def test_from_the_queue_to_a_decision(self, client, waiting):
        first = waiting[0]
        claimed = client.post(f"/v1/reviews/{first}/claim", json={"reviewer": "ada", "lease_s": 60})
        assert claimed.json()["state"]["status"] == "claimed"
        assert claimed.json()["judgment"]["id"]
        said = {"reviewer": "ada", "outcome": "modify", "verdict": "A>B", "reason": "The other one is right."}
        decided = client.post(f"/v1/reviews/{first}/decide", json=said).json()["state"]
        assert decided["status"] == "decided"
        assert decided["decisions"][0]["policy"]["name"] == "verdict_score"
        assert client.post(f"/v1/reviews/{first}/decide", json=said).json()["state"] == decided
        actions = [(one["action"], one["reviewer"]) for one in changes(client, first)]
        assert actions == [("review.claim", "ada"), ("review.decide", "ada")]
        assert client.get(f"/v1/reviews/{first}").json()["state"] == decided

    def test_who_reviews_is_the_key_s_name_unless_said(self, client, waiting):
        client.post(f"/v1/reviews/{waiting[0]}/claim", json={})
        decided = client.post(f"/v1/reviews/{waiting[0]}/decide", json={"outcome": "cannot_tell"}).json()
        assert decided["state"]["decisions"][0]["reviewer"] == "ci"

    def test_without_keys_somebody_must_be_named(self, serve, tmp_path):
        answer = serve(store=tmp_path / "s.duckdb").post("/v1/reviews/x/claim", json={})
        assert (answer.status_code, answer.json()["detail"][:9]) == (422, "reviewer:")

    def test_in_other_hands_or_in_none(self, client, waiting):
        one = waiting[0]
        assert (
            client.post(f"/v1/reviews/{one}/decide", json={"reviewer": "ada", "outcome": "approve"}).status_code == 409
        )
        client.post(f"/v1/reviews/{one}/claim", json={"reviewer": "ada"})
        assert client.post(f"/v1/reviews/{one}/claim", json={"reviewer": "bob"}).status_code == 409
        assert client.post(f"/v1/reviews/{one}/release", json={"reviewer": "bob"}).status_code == 409
        assert client.post(f"/v1/reviews/{one}/release", json={"reviewer": "ada"}).json()["state"]["status"] == "open"
        assert client.post(f"/v1/reviews/{one}/claim", json={"reviewer": "bob"}).status_code == 200
        assert [change["action"] for change in changes(client, one)] == [
            "review.claim",
            "review.release",
            "review.claim",
        ]

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            ({"outcome": "perhaps"}, "no such outcome"),
            ({"outcome": "modify"}, "corrected verdict or scores"),
            ({"outcome": "modify", "verdict": "A>C"}, "names C"),
            ({"outcome": "modify", "verdict": "better"}, "not a verdict"),
            ({"outcome": "approve", "scores": {"overall": 2}}, "cannot carry"),
            ({"outcome": "modify", "scores": {"overall": 99}}, "off the scale"),
            ({"outcome": "modify", "scores": {"beauty": 3}}, "beauty"),
            ({"outcome": "approve", "colour": "red"}, "colour"),
        ],
    )
    def test_a_decision_that_is_none_is_refused_and_not_recorded(self, client, waiting, said, told):
        client.post(f"/v1/reviews/{waiting[0]}/claim", json={"reviewer": "ada"})
        answer = client.post(f"/v1/reviews/{waiting[0]}/decide", json={"reviewer": "ada", **said})
        assert answer.status_code == 422
        assert told in answer.json()["detail"]
        assert client.get(f"/v1/reviews/{waiting[0]}").json()["state"]["decisions"] == []
        assert [change["action"] for change in changes(client, waiting[0])] == ["review.claim"]

    def test_a_blind_verdict_is_compared(self, client, waiting):
        client.post(f"/v1/reviews/{waiting[0]}/claim", json={"reviewer": "ada", "blind": True})
        said = {"reviewer": "ada", "verdict": str(judgment().verdict)}
        decided = client.post(f"/v1/reviews/{waiting[0]}/decide", json=said).json()["state"]["decisions"][0]
        assert (decided["outcome"], decided["blind"]) == ("approve", True)

    @pytest.mark.parametrize(("verdict", "own", "kept"), [(4, 2, 2.0), (True, False, False), ("fair", "poor", "poor")])
    def test_a_grade_or_category_is_corrected_in_its_own_kind(self, client, verdict, own, kept):
        body = {**record(), "id": f"single-{verdict}", "verdict": verdict, "order": ["A"]}
        body["item"] = {**body["item"], "id": body["id"], "responses": {"A": "4"}, "label": None}
        assert client.post("/v1/vet", json={"judgment": body, "policy": "verdict_score"}).status_code == 200
        found = client.get("/v1/reviews", params={"status": "open", "limit": 500}).json()["reviews"]
        one = next(one["review"]["review_id"] for one in found if one["review"]["subject_id"] == body["id"])
        client.post(f"/v1/reviews/{one}/claim", json={"reviewer": "ada"})
        said = {"reviewer": "ada", "outcome": "modify", "verdict": own}
        decided = client.post(f"/v1/reviews/{one}/decide", json=said).json()["state"]["decisions"][0]
        assert (decided["verdict"], type(decided["verdict"])) == (kept, type(kept))

    def test_the_truth_is_not_shown_to_those_who_are_to_find_it(self, client):
        assert record()["item"]["label"], "the judgments of this test have a label to hide"
        (review_id,) = opened(client, 1)
        for answer in (
            client.get("/v1/reviews"),
            client.get(f"/v1/reviews/{review_id}"),
            client.post(f"/v1/reviews/{review_id}/claim", json={"reviewer": "ada"}),
            client.post(f"/v1/reviews/{review_id}/decide", json={"reviewer": "ada", "outcome": "approve"}),
        ):
            assert answer.status_code == 200
            assert "truth" not in answer.text
            assert (answer.json().get("judgment") or {}).get("item", {}).get("label") is None

    def test_an_amendment_replaces_and_keeps_the_decision(self, client, waiting):
        one = waiting[0]
        said = {"reviewer": "ada", "outcome": "reject", "reason": "misread"}
        assert client.post(f"/v1/reviews/{one}/amend", json=said).status_code == 409
        client.post(f"/v1/reviews/{one}/claim", json={"reviewer": "ada"})
        client.post(f"/v1/reviews/{one}/decide", json={"reviewer": "ada", "outcome": "approve"})
        assert client.post(f"/v1/reviews/{one}/amend", json={**said, "reason": ""}).status_code == 422
        state = client.post(f"/v1/reviews/{one}/amend", json=said).json()["state"]
        assert [made["outcome"] for made in state["decisions"]] == ["reject"]
        assert [made["outcome"] for made in state["history"]] == ["approve", "reject"]
        assert [change["action"] for change in changes(client, one)][-1] == "review.amend"

    def test_assignment_comments_and_progress(self, client, waiting):
        one = waiting[0]
        state = client.post(f"/v1/reviews/{one}/assign", json={"reviewer": "eve"}).json()["state"]
        assert state["assigned"] == ["eve"]
        assert client.post(f"/v1/reviews/{one}/claim", json={"reviewer": "ada"}).status_code == 409
        found = client.get("/v1/reviews", params={"assigned": "eve"}).json()["reviews"]
        assert [row["review"]["review_id"] for row in found] == [one]
        client.post(f"/v1/reviews/{one}/comment", json={"reviewer": "eve", "text": "see page 3"})
        comments = client.get(f"/v1/reviews/{one}").json()["state"]["comments"]
        assert [(made["author"], made["text"]) for made in comments] == [("eve", "see page 3")]
        before = client.get("/v1/reviews/progress", params={"reviewer": "eve"}).json()
        client.post(f"/v1/reviews/{one}/claim", json={"reviewer": "eve"})
        client.post(f"/v1/reviews/{one}/decide", json={"reviewer": "eve", "outcome": "cannot_tell"})
        after = client.get("/v1/reviews/progress", params={"reviewer": "eve"}).json()
        assert (after["done"], after["total"], after["timed"]) == (before["done"] + 1, before["total"], 1)

    def test_one_outcome_for_several_is_recorded_as_bulk_on_those_in_hand(self, client, waiting):
        for one in waiting[:2]:
            client.post(f"/v1/reviews/{one}/claim", json={"reviewer": "ada"})
        said = {"reviewer": "ada", "outcome": "cannot_tell", "reviews": waiting}
        done = client.post("/v1/reviews/decide", json=said).json()
        assert [row["decisions"][0]["bulk"] for row in done["recorded"]] == [True, True]
        assert list(done["left_out"]) == [waiting[2]]
        assert "claim it before deciding" in done["left_out"][waiting[2]]

    @pytest.mark.slow
    def test_pages_and_filters(self, client, waiting):
        found, cursor = [], None
        for _ in range(100):
            page = client.get("/v1/reviews", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
            found += [one["review"]["review_id"] for one in page["reviews"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert len(found) == len(set(found))
        assert [one for one in found if one in waiting] == waiting
        assert client.get("/v1/reviews", params={"judge": "nobody"}).json()["reviews"] == []
        decided = client.get("/v1/reviews", params={"status": "decided", "limit": 500}).json()["reviews"]
        assert not {one["review"]["review_id"] for one in decided} & set(waiting)
        assert client.get("/v1/reviews", params={"cursor": "nowhere"}).status_code == 422
        assert client.get("/v1/reviews", params={"status": "odd"}).status_code == 422

    def test_an_unknown_review_is_404(self, client):
        assert client.get("/v1/reviews/none").status_code == 404
        for what, body in [("claim", {}), ("release", {}), ("decide", {"outcome": "approve"})]:
            answer = client.post(f"/v1/reviews/none/{what}", json={"reviewer": "ada", **body})
            assert (answer.status_code, answer.json()["status"]) == (404, 404)

    @pytest.mark.slow
    def test_after_ten_disagreements_the_loop_looks_and_nobody_waits_for_it(self, client, monkeypatch):
        loop = importlib.import_module("metajudge.feedback.loop").FeedbackLoop
        looked = []

        async def propose(self, name):
            looked.append((name, threading.current_thread().name))
            return []

        monkeypatch.setattr(loop, "propose", propose)
        for one in opened(client, 10):
            client.post(f"/v1/reviews/{one}/claim", json={})
            body = {"outcome": "modify", "scores": {"overall": 1}, "reason": "Far too kind."}
            body = (
                body
                if client.get(f"/v1/reviews/{one}").json()["state"]["review"]["criteria"]
                else {"outcome": "reject"}
            )
            assert client.post(f"/v1/reviews/{one}/decide", json=body).status_code == 200
        report = client.get("/v1/feedback", params={"policy": "verdict_score"}).json()
        deadline = time.monotonic() + 20
        while sum(report["disagreements"].values()) >= 10 and not looked:
            assert time.monotonic() < deadline, "nobody looked"
            time.sleep(0.05)
        assert report["cases"] >= 10
        assert all(name == "verdict_score" and "computing" in thread for name, thread in looked)
