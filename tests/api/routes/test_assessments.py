import pytest

from tests.api.nouns import record, vetted


class TestAssessments:
    def test_pages_hold_everything_once_in_order(self, client):
        ids = [one["judgment_id"] for one in vetted(client, 7)]
        found, after = [], 0
        for _ in range(100):
            page = client.get("/v1/assessments", params={"after": after, "limit": 3}).json()
            found += [one["judgment_id"] for one in page["assessments"]]
            after = page["next_cursor"]
            if after is None:
                break
        assert found[-7:] == ids
        assert len(found) == len(set(found))

    @pytest.mark.parametrize(
        "wrong",
        [{"limit": 0}, {"limit": 501}, {"after": -1}, {"status": "fine"}, {"judges": "x"}, {"accepted": "maybe"}],
    )
    def test_a_filter_that_is_none_is_named(self, client, wrong):
        answer = client.get("/v1/assessments", params=wrong)
        assert answer.status_code == 422
        assert next(iter(wrong)) in answer.json()["detail"]

    def test_an_id_with_slashes_and_an_unknown_one(self, client):
        client.post("/v1/vet", json=record(id="set/7/a"))
        assert client.get("/v1/assessments/set/7/a").json()["name"] == "set/7/a"
        answer = client.get("/v1/assessments/nobody")
        assert (answer.status_code, "nobody" in answer.json()["detail"]) == (404, True)
