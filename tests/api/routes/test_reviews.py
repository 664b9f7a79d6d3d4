import pytest

from tests.api.nouns import changes, record, vetted


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

    def test_who_reviews_is_the_key_s_name_unless_said(self, client, waiting):
        client.post(f"/v1/reviews/{waiting[0]}/claim", json={})
        decided = client.post(f"/v1/reviews/{waiting[0]}/decide", json={"outcome": "cannot_tell"}).json()
        assert decided["state"]["decisions"][0]["reviewer"] == "ci"

    def test_without_keys_somebody_must_be_named(self, serve, tmp_path):
        answer = serve(store=tmp_path / "s.duckdb").post("/v1/reviews/x/claim", json={})
        assert (answer.status_code, answer.json()["detail"][:9]) == (422, "reviewer:")

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
