import pytest

from metajudge.decision import load_policy
from metajudge.rubric import load_rubric
from tests.api.conftest import app_module, running
from tests.api.nouns import changes, vetted


def own_rubric(name):
    return {**load_rubric("short").model_dump(mode="json"), "name": name}


def own_policy():
    return {**load_policy("verdict_score").model_dump(mode="json"), "name": "mine"}


class TestRubricsAndPolicies:
    def test_a_new_version_of_it_is_in_force_at_once_and_in_the_assessment(self, client):
        mine = own_rubric("changing")
        client.put("/v1/rubrics/changing", json=mine)
        (before,) = vetted(client, rubric="changing")
        mine["criteria"][0]["description"] = "Something else entirely."
        client.put("/v1/rubrics/changing", json=mine)
        (after,) = vetted(client, rubric="changing")
        assert before["rubric_digest"] != after["rubric_digest"]

    def test_it_is_still_there_after_a_restart(self, serve, tmp_path):
        mine = own_rubric("mine")
        options = app_module.ServiceOptions(store=tmp_path / "s.duckdb")
        with running(options) as first:
            first.put("/v1/rubrics/mine", json=mine)
        with running(options) as second:
            assert second.get("/v1/rubrics/mine").status_code == 200

    @pytest.mark.parametrize(
        ("path", "change", "status"),
        [
            ("rubrics/short", {"name": "short"}, 409),
            ("rubrics/mine", {"name": "other"}, 422),
            ("rubrics/mine", {"criteria": []}, 422),
            ("rubrics/mine", {"colour": "red"}, 422),
            ("rubrics/a.b", {"name": "a.b"}, 422),
            ("rubrics/..%2f..%2fetc", {}, 404),
            ("policies/verdict_score", {"name": "verdict_score"}, 409),
            ("policies/mine", {"name": "other"}, 422),
            ("policies/mine", {"bands": []}, 422),
        ],
    )
    def test_what_is_no_rubric_or_policy_of_one_s_own(self, client, path, change, status):
        body = own_rubric("mine") if path.startswith("rubrics") else own_policy()
        before = changes(client)
        assert client.put(f"/v1/{path}", json={**body, **change}).status_code == status
        assert changes(client) == before

    def test_a_policy_of_one_s_own_and_its_next_version(self, client):
        mine = own_policy()
        first = client.put("/v1/policies/mine", json=mine).json()
        (before,) = vetted(client, policy="mine")
        mine["bands"] = [{**band, "action": "REJECT"} for band in mine["bands"]]
        second = client.put("/v1/policies/mine", json=mine)
        assert second.status_code == 200, second.text
        (after,) = vetted(client, policy="mine")
        assert before["decision"]["policy_digest"] == first["digest"] != second.json()["digest"]
        assert after["decision"]["policy_digest"] == second.json()["digest"]
        assert client.get("/v1/policies/mine").json()["digest"] == second.json()["digest"]
        assert "mine" in [one["name"] for one in client.get("/v1/policies").json()]
        assert [one["digest"] for one in changes(client, "mine") if one["action"] == "policy.put"] == [
            first["digest"],
            second.json()["digest"],
        ]
