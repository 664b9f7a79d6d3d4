import importlib

import pytest

from metajudge.types import Assessment
from tests.api.conftest import app_module, panel_of, running
from tests.api.nouns import record, vetted
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
