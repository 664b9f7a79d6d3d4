"""What is kept, and what vets may name: assessments, rubrics and policies; every change is on record."""

import importlib

import pytest

from metajudge.decision import load_policy
from metajudge.rubric import load_rubric
from metajudge.types import Assessment
from tests.api.conftest import app_module, panel_of, running
from tests.api.nouns import changes, record, vetted
from tests.doubles.judgments import judgment


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
        ("wanted", "count"),
        [
            ({}, 3),
            ({"judge": judgment().judge}, 3),
            ({"judge": "nobody"}, 0),
            ({"judgment_id": "f1"}, 1),
            ({"item_id": "item-f2"}, 1),
            ({"category": "chemistry"}, 0),
            ({"status": "assessed"}, 3),
            ({"status": "failed"}, 0),
            ({"accepted": True}, 3),
            ({"accepted": False}, 0),
            ({"decision": "REVIEW_PRIORITY"}, 3),
            ({"decision": "APPROVE"}, 0),
        ],
    )
    def test_filters(self, filtered, wanted, count):
        assert len(filtered.get("/v1/assessments", params=wanted).json()["assessments"]) == count

    @pytest.fixture(scope="class")
    @classmethod
    def filtered(cls, models_server, tmp_path_factory):
        options = app_module.ServiceOptions(
            panels={"one": panel_of(models_server, "a")}, store=tmp_path_factory.mktemp("s") / "s.duckdb"
        )
        with running(options) as one:
            for n in range(3):
                one.post("/v1/vet", json={"judgment": record(id=f"f{n}"), "policy": "verdict_score"})
            yield one

    @pytest.mark.parametrize(
        "wrong",
        [{"limit": 0}, {"limit": 501}, {"after": -1}, {"status": "fine"}, {"judges": "x"}, {"accepted": "maybe"}],
    )
    def test_a_filter_that_is_none_is_named(self, filtered, wrong):
        answer = filtered.get("/v1/assessments", params=wrong)
        assert answer.status_code == 422
        assert next(iter(wrong)) in answer.json()["detail"]

    def test_a_rare_filter_is_found_behind_many_others_and_no_empty_page_follows(self, filtered, monkeypatch):
        fitting = importlib.import_module("metajudge.store.fitting")
        monkeypatch.setattr(fitting, "WINDOW", 1)
        monkeypatch.setattr(fitting, "NUMBERS", 1)
        wanted = {"decision": "REVIEW_PRIORITY", "limit": 2}
        first = filtered.get("/v1/assessments", params=wanted).json()
        assert [one["judgment_id"] for one in first["assessments"]] == ["f0", "f1"]
        last = filtered.get("/v1/assessments", params={**wanted, "after": first["next_cursor"]}).json()
        assert [one["judgment_id"] for one in last["assessments"]] == ["f2"]
        assert last["next_cursor"] is None
        assert filtered.get("/v1/assessments", params={"limit": 3}).json()["next_cursor"] is None

    def test_provenance_is_complete(self, client):
        (assessed,) = vetted(client, panel="two", policy="verdict_score")
        found = client.get(f"/v1/assessments/{assessed['judgment_id']}").json()
        assert found["judgments"][0]["judgment"]["rationale"].startswith("Reason ")
        kept = [one["payload"] for one in found["assessments"]]
        assert assessed in [Assessment.model_validate(one).model_dump(mode="json") for one in kept]
        for name in ("panel_digest", "rubric_digest", "prompt_digest", "judgment_digest", "metajudge_version"):
            assert assessed[name]
        assert found["calls_total"] == len(found["calls"]) == 2
        assert {call["model"] for call in found["calls"]} == {"a", "b"}
        assert all(
            call["input_tokens"] and call["cost_usd"] is not None and call["endpoint"] for call in found["calls"]
        )
        assert assessed["decision"]["policy_digest"] in found["policies"]

    def test_an_id_with_slashes_and_an_unknown_one(self, client):
        client.post("/v1/vet", json=record(id="set/7/a"))
        assert client.get("/v1/assessments/set/7/a").json()["name"] == "set/7/a"
        answer = client.get("/v1/assessments/nobody")
        assert (answer.status_code, "nobody" in answer.json()["detail"]) == (404, True)


def own_rubric(name):
    return {**load_rubric("short").model_dump(mode="json"), "name": name}


class TestRubricsAndPolicies:
    def test_a_rubric_of_one_s_own(self, client):
        mine = own_rubric("mine")
        put = client.put("/v1/rubrics/mine", json=mine)
        assert put.status_code == 200
        assert client.get("/v1/rubrics/mine").json() == put.json()
        assert vetted(client, rubric="mine")[0]["rubric"] == "mine"
        assert "rubric.put" in [one["action"] for one in changes(client, "mine")]

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
        ("name", "change", "status"),
        [
            ("short", {"name": "short"}, 409),
            ("mine", {"name": "other"}, 422),
            ("mine", {"criteria": []}, 422),
            ("mine", {"colour": "red"}, 422),
            ("a.b", {"name": "a.b"}, 422),
            ("..%2f..%2fetc", {}, 404),
        ],
    )
    def test_what_is_no_rubric_of_one_s_own(self, client, name, change, status):
        before = changes(client)
        assert client.put(f"/v1/rubrics/{name}", json={**own_rubric("mine"), **change}).status_code == status
        assert changes(client) == before

    def test_unknown_ones_are_404(self, client):
        assert client.get("/v1/rubrics/none").status_code == 404
        assert client.get("/v1/policies/none").status_code == 404

    def test_a_policy_of_one_s_own_and_its_next_version(self, client):
        mine = {**load_policy("verdict_score").model_dump(mode="json"), "name": "mine"}
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

    @pytest.mark.parametrize(
        ("name", "change", "status"),
        [
            ("verdict_score", {"name": "verdict_score"}, 409),
            ("mine", {"name": "other"}, 422),
            ("mine", {"bands": []}, 422),
        ],
    )
    def test_what_is_no_policy_of_one_s_own(self, client, name, change, status):
        body = {**load_policy("verdict_score").model_dump(mode="json"), "name": "mine", **change}
        before = changes(client)
        assert client.put(f"/v1/policies/{name}", json=body).status_code == status
        assert changes(client) == before
